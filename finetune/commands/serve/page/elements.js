// Elements, numbers and pieces of texts. A text is always set as text, never as markup.
const at = id => document.getElementById(id);

function make(tag, kind, ...inside) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.append(...inside);
  return made;
}

function own(tag, kind, text) {  // a text of the user or the model, in whatever direction it is written
  const made = make(tag, kind, text);
  made.dir = "auto";
  return made;
}

const percent = share => `${(100 * share).toFixed(1)} %`;
const few = value => value && Math.abs(value) < 0.001 ? value.toExponential(1) : Number(value.toPrecision(4)).toLocaleString(LANGUAGE);
const asText = value => typeof value === "string" ? value : value === null || value === undefined ? ""
  : Array.isArray(value) && value.every(one => typeof one === "string") ? value.join(" ") : JSON.stringify(value);

// Places count characters as Python does, where JavaScript counts an emoji as two.
const characters = text => Array.from(text);
const piece = (all, start, end) => all.slice(start, end).join("");

function table(columns, rows, figures) {
  const made = make("table"), head = make("tr");
  columns.forEach((name, place) => {
    const cell = make("th", figures.includes(place) ? "figure" : "", name);
    cell.scope = "col";
    head.append(cell);
  });
  made.append(make("thead", "", head), make("tbody", "", ...rows.map(cells => make("tr", "", ...cells.map(
    (text, place) => own(place ? "td" : "th", figures.includes(place) ? "figure" : "", text))))));
  for (const cell of made.querySelectorAll("tbody th")) cell.scope = "row";
  return made;
}

function facts(list, pairs) {
  list.replaceChildren(...pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(
    ([name, value]) => make("div", "", make("dt", "", name), own("dd", "", String(value)))));
}
