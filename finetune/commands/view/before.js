// Part "before": the encoder with which a run began, and the trained one.
function before() {
  if (!data.before) return;
  const {moved} = data.before, most = moved.indexOf(Math.max(...moved));
  const chosen = {layer: Math.floor(most / data.heads), head: most % data.heads};
  tell(() => {
    options(one("#before-layer"), Array.from({length: data.layers}, (_, each) => say("layer", each + 1)));
    options(one("#before-head"), Array.from({length: data.heads}, (_, each) => say("head", each + 1)));
    for (const [name, value] of Object.entries(chosen)) one(`#before-${name}`).value = value;
    beforeTable();
    sideBySide(chosen);
  });
  for (const name of Object.keys(chosen)) one(`#before-${name}`).addEventListener("change", event => { chosen[name] = +event.target.value; sideBySide(chosen); });
  repaint.push(() => sideBySide(chosen));
}

function sideBySide({layer, head}) {
  const n = data.tokens.length;
  const earlier = (from, to) => data.before.weights[((layer * data.heads + head) * n + from) * n + to] / 1000;
  paint(one("#before-canvas"), n, (from, to) => Math.sqrt(earlier(from, to)));
  paint(one("#after-canvas"), n, (from, to) => Math.sqrt(weight(layer, head, from, to)));
  one("#before-moved").textContent = say("moved", layer + 1, head + 1, (data.before.moved[layer * data.heads + head] / 10).toFixed(1));
}

function beforeTable() {
  const {moved, cosines} = data.before, n = data.tokens.length, mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rows = Array.from({length: data.layers + 1}, (_, stage) => {
    const close = cosines.slice(n * stage, n * (stage + 1)).map(value => value / 1000), of = stage ? moved.slice(data.heads * (stage - 1), data.heads * stage) : null;
    return row([stage ? say("layer", stage) : say("input-of"), of ? `${(mean(of) / 10).toFixed(1)} %` : "", of ? `${of.indexOf(Math.max(...of)) + 1} (${(Math.max(...of) / 10).toFixed(1)} %)` : "", close[0].toFixed(3), mean(close).toFixed(3)]);
  });
  const top = element("thead"), body = element("tbody");
  top.append(row(["", say("column-moved"), say("column-most"), say("column-first", data.tokens[0]), say("column-mean")], "th"));
  body.append(...rows);
  one("#before-table").replaceChildren(top, body);
}
before();
