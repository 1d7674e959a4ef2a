// The form of a row: a field for each text that the model reads. A form has an element, and reads, fills and checks.
let fieldsMade = 0;

function textField(name, {lines = 2, shown = name} = {}) {
  const area = make("textarea");
  area.id = `field-${fieldsMade += 1}`;
  area.rows = lines;
  area.dir = "auto";
  area.spellcheck = false;
  const label = make("label", "", shown);
  label.htmlFor = area.id;
  let given, written;  // what is no text, such as a list of words, is sent as it was given until somebody changes it
  return {
    name, area, label, element: make("div", "field", label, area),
    read: () => given !== undefined && area.value === written ? given : area.value,
    fill: value => {
      area.value = written = asText(value);
      given = typeof value === "string" || value === null || value === undefined ? undefined : value;
    },
    empty: () => !area.value.trim(),
  };
}

function require(fields) {  // the first that is empty is where the cursor goes
  const lacking = fields.filter(field => field.empty());
  for (const field of fields) field.area.toggleAttribute("aria-invalid", lacking.includes(field));
  if (!lacking.length) return "";
  lacking[0].area.focus();
  return words("lacking", lacking.map(field => field.label.textContent).join(", "));
}

function textsForm(model, lines) {
  const marked = model.marked ?? [];  // columns of words of the text
  const fields = model.columns.map((name, place) => textField(name, {lines: marked.includes(name) ? 1 : lines[Math.min(place, lines.length - 1)]}));
  return {
    element: make("div", "", ...fields.map(field => field.element), ...marked.length ? [make("p", "note", words("markedNote", marked.join(", ")))] : []),
    read: () => Object.fromEntries(fields.map(field => [field.name, field.read()])),
    fill: row => fields.forEach(field => field.fill(row[field.name] ?? "")),
    fault: () => require(fields),
  };
}

function choicesForm(model) {
  const contexts = model.columns.slice(0, model.contexts ?? 1).map(name => textField(name, {lines: 3}));
  const columns = model.columns.slice(contexts.length), list = make("ol", "choices");
  const title = make("legend", "", words("choices")), more = make("button", "", words("addChoice"));
  let choices = [];
  more.type = "button";
  more.addEventListener("click", () => { add("").area.focus(); changed(); });

  function add(text) {
    const field = textField("", {lines: 1}), remove = make("button", "", words("remove"));
    remove.type = "button";
    field.remove = remove;
    field.element.append(remove);
    field.fill(text);
    field.item = make("li", "", field.element);
    remove.addEventListener("click", () => {
      const place = choices.indexOf(field);
      choices.splice(place, 1);
      field.item.remove();
      changed();
      choices[Math.min(place, choices.length - 1)].area.focus();
    });
    choices.push(field);
    list.append(field.item);
    return field;
  }

  function changed() {
    choices.forEach((field, place) => {
      const name = columns.length > 1 && place < columns.length ? columns[place] : words("choice", place + (model.first_choice ?? 1));
      field.label.textContent = name;
      field.remove.setAttribute("aria-label", words("removeChoice", name));
      field.remove.disabled = choices.length <= 2;
    });
  }

  function refill(texts) {
    choices = [];
    list.replaceChildren();
    const least = columns.length > 1 ? columns.length : 2;
    for (const text of texts.length ? texts : Array(least).fill("")) add(text);
    changed();
  }

  refill([]);
  return {
    element: make("div", "", ...contexts.map(field => field.element), make("fieldset", "", title, list, more)),
    texts: () => choices.map(field => field.read()),
    read() {
      const texts = this.texts(), row = Object.fromEntries(contexts.map(field => [field.name, field.read()]));
      if (columns.length === 1) return {...row, [columns[0]]: texts};
      if (texts.length <= columns.length) {
        return {...row, ...Object.fromEntries(columns.map((name, place) => [name, texts[place] ?? null]))};
      }
      return {context: contexts.map(field => field.read()).join("\n"), choices: texts};
    },
    fill(row) {
      contexts.forEach(field => field.fill(row[field.name] ?? ""));
      const given = columns.length === 1 ? row[columns[0]] ?? [] : columns.map(name => row[name] ?? "");
      const texts = (Array.isArray(given) ? given : [given]).map(asText);
      while (texts.length > 2 && !texts.at(-1)) texts.pop();
      refill(texts);
    },
    fault: () => require(contexts) || require(choices),
  };
}
