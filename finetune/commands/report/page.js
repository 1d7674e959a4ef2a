// Filters the rows of a split. Texts are set as text, never as markup.
(() => {
  const SIZE = 10;
  const [NUMBER, ID, LABEL, PREDICTION, RIGHT, SORT, LENGTH, FACTS, PARTS, PAIRS, DOUBT] = Array(11).keys();
  const many = number => number.toLocaleString("en");
  const make = (tag, kind, text) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  function textOf(row) {
    const parts = row[PARTS].flatMap(part => part.slice(1).map(one => typeof one === "string" ? one : one[0]));
    return [row[ID], row[LABEL], row[PREDICTION], parts.join("")].join("\n").toLowerCase();
  }

  function segment(one) {
    if (typeof one === "string") return document.createTextNode(one);
    const marked = make("mark", one[1], one[0]);
    if (one[2]) marked.append(make("small", "", one[2]));
    return marked;
  }

  function named(words, value) {
    const made = make("span", "", `${words} `), bold = make("b", "", value);
    bold.dir = "auto";
    made.append(bold);
    return made;
  }

  function item(row) {
    const right = row[RIGHT];
    const made = make("li", right < 0 ? "is-neither" : right ? "is-right" : "is-wrong");
    const head = make("p", "head");
    if (right >= 0) head.append(make("span", "sign", right ? "✓" : "✗"), " ");
    const id = make("span", "id", row[ID]);
    id.dir = "auto";
    head.append(id);
    if (row[LABEL]) head.append(" ", named("label", row[LABEL]));
    if (row[PREDICTION]) head.append(" ", named("prediction", row[PREDICTION]));
    for (const fact of row[FACTS]) head.append(" ", make("span", "", fact));
    made.append(head);
    for (const [name, ...segments] of row[PARTS]) {
      const part = make("p", "part"), body = make("span");
      body.dir = "auto";
      body.append(...segments.map(segment));
      part.append(make("span", "name", name), " ", body);
      made.append(part);
    }
    return made;
  }

  function start(root) {
    const data = JSON.parse(root.querySelector("script").textContent);
    const rows = data.rows, list = root.querySelector(".rows"), count = root.querySelector(".count");
    const form = root.querySelector("form"), [back, next] = root.querySelectorAll(".pages button");
    const texts = [];
    let chosen = [], page = 0;

    const chosenName = name => form.elements[name]?.value ?? "";
    function matches(row, index, wanted) {
      if (wanted.kind === "errors" && row[RIGHT] !== 0) return false;
      if (wanted.kind === "right" && row[RIGHT] !== 1) return false;
      if (wanted.kind === "least" && !(row[DOUBT] < data.least)) return false;
      if (wanted.label || wanted.prediction) {
        const pair = ([a, b]) => (wanted.label || a) === a && (wanted.prediction || b) === b;
        if (!row[PAIRS].some(pair)) return false;
      }
      return !wanted.text || (texts[index] ??= textOf(row)).includes(wanted.text);
    }

    function filter() {
      const wanted = {
        kind: form.elements.kind.value, label: chosenName("label"), prediction: chosenName("prediction"),
        text: form.elements.text.value.trim().toLowerCase(),
      };
      chosen = rows.filter((row, index) => matches(row, index, wanted));
      const key = {order: row => row[NUMBER], long: row => -row[LENGTH], short: row => row[LENGTH],
                   least: row => row[SORT] ?? Infinity, doubt: row => row[DOUBT], most: row => -(row[SORT] ?? -Infinity)}[form.elements.sort.value];
      chosen = chosen.map(row => [key(row), row]).sort((a, b) => a[0] - b[0] || a[1][NUMBER] - b[1][NUMBER]).map(pair => pair[1]);
      page = 0;
      show();
    }

    function inWords() {  // what the form says, which is not printed
      const said = [...form.querySelectorAll("select")].filter(one => one.value !== "" && one.name !== "sort")
        .map(one => `${one.labels[0].firstChild.data.trim()}: ${one.selectedOptions[0].text}`);
      const text = form.elements.text.value.trim();
      return [...said, ...text ? [`text: ${text}`] : [], `sorted by ${form.elements.sort.selectedOptions[0].text}`].join("; ");
    }

    function show() {
      const pages = Math.max(1, Math.ceil(chosen.length / SIZE));
      list.replaceChildren(...chosen.slice(page * SIZE, (page + 1) * SIZE).map(item));
      const all = rows.length < data.total ? ` on this page (${many(data.total)} in all)` : "";
      const right = chosen.filter(row => row[RIGHT] === 1).length;  // a score of any part, where all rows are here
      const share = chosen.length && rows.length === data.total && rows[0][RIGHT] >= 0 && form.elements.kind.value === "all"
        ? `, ${(100 * right / chosen.length).toFixed(1)} % of them right` : "";
      const from = many(page * SIZE + 1), to = many(page * SIZE + list.children.length);
      count.replaceChildren(
        `${many(chosen.length)} of ${many(rows.length)} rows${all}${share}`,
        make("span", "hint", `, page ${page + 1} of ${many(pages)}`),
        make("span", "printed", ` (${inWords()})${pages > 1 ? `; here ${from} to ${to}` : ""}`),
      );
      back.disabled = page === 0;
      next.disabled = page + 1 >= pages;
      root.dataset.shown = String(chosen.length);
    }

    let waiting = 0;
    form.addEventListener("input", event => {
      clearTimeout(waiting);
      if (event.target.name === "kind" && event.target.value === "least") form.elements.sort.value = "doubt";
      waiting = setTimeout(filter, event.target.name === "text" ? 120 : 0);
    });
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    const turn = by => { page += by; show(); root.scrollIntoView(); };
    back.addEventListener("click", () => turn(-1));
    next.addEventListener("click", () => turn(1));
    for (const link of document.querySelectorAll(`a[data-label][href="#${CSS.escape(root.id)}"]`)) {
      link.addEventListener("click", () => {
        form.elements.text.value = "";
        form.elements.kind.value = "all";
        for (const name of ["label", "prediction"]) if (form.elements[name]) form.elements[name].value = link.dataset[name];
        filter();
      });
    }
    form.hidden = root.querySelector(".pages").hidden = false;
    filter();
  }

  const unfold = () => {  // what a link leads to may be folded
    const to = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = to && (to.querySelector(":scope > details") ?? to.closest("section > details"));
    if (folded && !folded.open) { folded.open = true; to.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  const opened = [];  // sections that are folded on the screen
  addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("section > details:not([open])"));
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened.splice(0)) one.open = false; });
  unfold();
  document.querySelector("nav details").open = matchMedia("(min-width: 70rem)").matches;
  for (const root of document.querySelectorAll("[data-rows]")) start(root);
})();
