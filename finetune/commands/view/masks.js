// Part 6: a batch of texts under masks.
let looking = 0;  // the position of the token that looks

const maskChoice = () => ({row: +one("#mask-row").value, kind: +one("#mask-kind").value, layer: +one("#mask-layer").value});

// Whether a position is hidden from a token that looks.
function isHidden(row, kind, from, to) {
  const name = data.masks.kinds[kind];
  return ((name === "padding" || name === "both") && !data.masks.real[row][to]) || ((name === "causal" || name === "both") && to > from);
}

function maskWeight(row, kind, layer, from, to) {
  const {weights, layers, real} = data.masks, n = real[0].length;
  return weights[(((kind * layers.length + layer) * real.length + row) * n + from) * n + to] / 1000;
}

function maskCosines(row, kind, layer) {
  const {cosines, layers, real} = data.masks, n = real[0].length;
  const start = ((kind * layers.length + layer) * real.length + row) * n;
  return cosines.slice(start, start + n).map(value => value / 1000);
}

function masks() {
  if (!data.masks) return;
  const {tokens, real, layers, kinds} = data.masks;
  const chosen = {row: real.findIndex(row => row.includes(false)), kind: kinds.indexOf("padding"), layer: layers.length - 1};
  tell(() => {
    options(one("#mask-row"), tokens.map((row, index) => say("text", index + 1, row.filter((_, place) => real[index][place]).join(" ").slice(0, 40))));
    options(one("#mask-kind"), kinds.map(kind => say(`mask-${kind}`)));
    options(one("#mask-layer"), layers.map(layer => say("layer", layer)));
    for (const [name, value] of Object.entries(chosen)) one(`#mask-${name}`).value = value;
    masked();
  });
  for (const name of Object.keys(chosen)) one(`#mask-${name}`).addEventListener("change", event => { chosen[name] = +event.target.value; masked(); });
  repaint.push(maskGrid);
}

function masked() {
  const {row, kind, layer} = maskChoice(), {tokens, real, layers, kinds, padding} = data.masks, n = real[row].length;
  const hidden = real[row].map((_, to) => isHidden(row, kind, looking, to));
  const seen = n - hidden.filter(Boolean).length, found = maskCosines(row, kind, layer);
  const chips = tokens[row].map((token, to) => {
    const weight = hidden[to] ? say("hidden") : maskWeight(row, kind, layer, looking, to).toFixed(3);
    const chip = element("button", {type: "button", class: `chip${hidden[to] ? " is-hidden" : ""}`, "aria-pressed": to === looking, "aria-label": say("chip", token, to, weight)});
    const bar = element("span", {class: "bar"});
    bar.style.width = hidden[to] ? 0 : `${(100 * maskWeight(row, kind, layer, looking, to)).toFixed(1)}%`;
    chip.append(element("b", {}, token), " ", element("small", {}, weight), bar);
    chip.addEventListener("click", () => { looking = to; masked(); one("#mask-chips").children[to].focus(); });
    return chip;
  });
  one("#mask-chips").replaceChildren(...chips);
  one("#mask-sees").textContent = real[row][looking]
    ? say("sees", tokens[row][looking], seen, n, layers[layer], found[looking].toFixed(3)) : say("sees-padding", looking, seen, n);
  one("#mask-rows").replaceChildren(...kinds.map((name, index) => {
    const all = maskCosines(row, index, layer).filter((_, place) => real[row][place]);
    const made = maskRow(say(`mask-${name}`), padding[(index * data.layers + layers[layer] - 1) * real.length + row], all);
    made.classList.toggle("is-chosen", index === kind);
    return made;
  }));
  one("#mask-grid").setAttribute("aria-label", say("masks-grid", tokens[row].filter((_, place) => real[row][place]).join(" ")));
  maskGrid();
}

function maskRow(name, padding, found) {
  return row([name, `${(padding / 10).toFixed(1)} %`, found[0].toFixed(3), Math.min(...found).toFixed(3)]);
}

function maskGrid() {
  const {row, kind, layer} = maskChoice(), n = data.masks.real[row].length, canvas = one("#mask-grid");
  paint(canvas, n, (from, to) => Math.sqrt(maskWeight(row, kind, layer, from, to)));
  const context = canvas.getContext("2d");
  context.fillStyle = colour("--series2");
  context.globalAlpha = 0.6;
  for (let from = 0; from < n; from++) for (let to = 0; to < n; to++) if (isHidden(row, kind, from, to)) context.fillRect(to, from, 1, 1);
}
masks();
