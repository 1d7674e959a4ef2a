// Part 2: what one head computes for one token.
function steps() {
  if (!data.steps) return;
  const picked = {layer: 0, head: 0, token: Math.min(2, data.tokens.length - 1)};
  tell(() => {
    options(one("#step-layer"), data.steps.layers.map(layer => say("layer", layer)));
    options(one("#step-head"), Array.from({length: data.heads}, (_, head) => say("head", head + 1)));
    options(one("#step-token"), data.tokens.map((token, index) => `${index} ${token}`));
    for (const [name, value] of Object.entries(picked)) one(`#step-${name}`).value = value;
    compute();
  });
  for (const name of Object.keys(picked)) one(`#step-${name}`).addEventListener("change", event => { picked[name] = +event.target.value; compute(); });
  document.addEventListener("head", () => {
    picked.head = one("#step-head").value = chosen.head;
    const layer = data.steps.layers.indexOf(chosen.layer + 1);
    if (layer >= 0) picked.layer = one("#step-layer").value = layer;
    compute();
  });
}

// The vector of a token: `width` numbers from a flat array (layers, heads, tokens, width).
function vector(name, layer, head, token, width = data.steps.width) {
  const start = ((layer * data.heads + head) * data.tokens.length + token) * width;
  return data.steps[name].slice(start, start + width).map(value => value / 1000);
}

function compute() {
  const layer = +one("#step-layer").value, head = +one("#step-head").value, token = +one("#step-token").value;
  const n = data.tokens.length, d = data.steps.width, at = data.steps.layers[layer] - 1;
  const query = vector("queries", layer, head, token);
  const scores = vector("scores", layer, head, token, n);
  const output = vector("outputs", layer, head, token);
  const body = data.tokens.map((name, index) => {
    const key = vector("keys", layer, head, index), value = vector("values", layer, head, index);
    const share = weight(at, head, token, index);
    const cell = (content, kind = "") => { const made = element("td", {class: kind}); made.append(content); return made; };
    const bar = element("span", {class: "bar"});
    bar.style.width = `${(4 * share).toFixed(2)}rem`;
    const weighted = cell(share.toFixed(3), "number");
    const made = row([name, cell(strip(key)), (scores[index] * Math.sqrt(d)).toFixed(2), scores[index].toFixed(2), weighted, cell(bar), cell(strip(value))]);
    made.dataset.share = share;
    return made;
  });
  one("#step-rows").replaceChildren(...body);
  one("#query").replaceChildren(named(say("query-of", data.tokens[token]), query, start(query)));
  one("#output").replaceChildren(named(say("head-output"), output, start(output)));
}
steps();
