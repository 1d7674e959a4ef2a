// Part "before": the encoder with which a run began, and the trained one.
function before() {
  if (!data.before) return;
  const {layers, moved} = data.before, all = layers.flatMap((layer, place) => Array.from({length: data.heads}, (_, head) => [moved[(layer - 1) * data.heads + head], place, head]));
  const [, layer, head] = all.reduce((best, each) => each[0] > best[0] ? each : best);
  const chosen = {layer, head};
  tell(() => {
    options(one("#before-layer"), layers.map(each => say("layer", each)));
    options(one("#before-head"), Array.from({length: data.heads}, (_, each) => say("head", each + 1)));
    for (const [name, value] of Object.entries(chosen)) one(`#before-${name}`).value = value;
    beforeTable();
    sideBySide(chosen);
  });
  for (const name of Object.keys(chosen)) one(`#before-${name}`).addEventListener("change", event => { chosen[name] = +event.target.value; sideBySide(chosen); });
  repaint.push(() => sideBySide(chosen));
}

function sideBySide({layer, head}) {
  const n = data.tokens.length, at = data.before.layers[layer] - 1;
  const earlier = (from, to) => data.before.weights[((layer * data.heads + head) * n + from) * n + to] / 1000;
  paint(one("#before-canvas"), n, (from, to) => Math.sqrt(earlier(from, to)));
  paint(one("#after-canvas"), n, (from, to) => Math.sqrt(weight(at, head, from, to)));
  one("#before-moved").textContent = say("moved", at + 1, head + 1, (data.before.moved[at * data.heads + head] / 10).toFixed(1));
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
