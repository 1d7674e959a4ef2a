// Part 7: what each sub-layer adds to a token's vector.
function stream() {
  if (!data.stream) return;
  const chosen = {layer: 0, token: Math.min(2, data.tokens.length - 1)};
  tell(() => {
    options(one("#stream-layer"), Array.from({length: data.layers}, (_, layer) => say("layer", layer + 1)));
    options(one("#stream-token"), data.tokens.map((token, index) => `${index} ${token}`));
    for (const [name, value] of Object.entries(chosen)) one(`#stream-${name}`).value = value;
    streamed();
  });
  for (const name of Object.keys(chosen)) one(`#stream-${name}`).addEventListener("change", event => { chosen[name] = +event.target.value; streamed(); });
}

// Of a stage of a layer for a token: where its numbers are in a flat array (layers, stages, tokens).
const stageAt = (layer, stage, token) => (layer * data.stream.stages.length + stage) * data.tokens.length + token;

function streamed() {
  const layer = +one("#stream-layer").value, token = +one("#stream-token").value;
  const {stages, lengths, means, deviations, numbers, count, form} = data.stream;
  const first = stages.map((_, stage) => numbers.slice(count * stageAt(layer, stage, token), count * (stageAt(layer, stage, token) + 1)).map(value => value / 1000));
  const most = Math.max(...first.flat().map(Math.abs), 1e-9);
  one("#stream-rows").replaceChildren(...stages.map((stage, index) => {
    const key = `stream-${stage}`, at = stageAt(layer, index, token);
    const made = row([say(key in data.captions.en ? key : `${key}-${form}`), ...[lengths, means, deviations].map(each => ((each[at] / 1000).toFixed(2)).replace(/^-(0\.00)$/, "$1"))]);
    const cell = element("td");
    cell.append(strip(first[index], most));
    made.append(cell);
    if (stage === "attention" || stage === "feed_forward") made.classList.add("adds");
    return made;
  }));
  one("#stream-chart").replaceChildren(streamChart(token));
}

// The lengths of what is added, as shares of the vector that it is added to: two bars a layer.
function streamChart(token) {
  const {stages, lengths, form} = data.stream, length = (layer, stage) => lengths[stageAt(layer, stages.indexOf(stage), token)];
  const onto = form === "pre" ? "attention_sum" : "attention_norm";
  const shares = Array.from({length: data.layers}, (_, layer) => [length(layer, "attention") / length(layer, "input"), length(layer, "feed_forward") / length(layer, onto)]);
  const most = Math.max(1, ...shares.flat()), width = 480, left = 80, step = 34, scale = (width - left - 70) / most;
  const drawn = svg("svg", {viewBox: `0 0 ${width} ${step * data.layers + 4}`, role: "img", "aria-label": say("stream-chart", data.tokens[token])});
  shares.forEach((pair, layer) => {
    const y = step * layer + 4, percent = pair.map(share => Math.round(100 * share));
    const group = svg("g");
    group.append(svg("title", {}, say("stream-bar", layer + 1, ...percent)), svg("text", {x: left - 8, y: y + 18, "text-anchor": "end", class: "token"}, say("layer", layer + 1)));
    pair.forEach((share, part) => group.append(
      svg("rect", {x: left, y: y + 13 * part, width: Math.max(1, share * scale), height: 11, class: `kind${part}`}),
      svg("text", {x: left + share * scale + 5, y: y + 13 * part + 10, class: "small"}, `${percent[part]} %`)));
    drawn.append(group);
  });
  return drawn;
}
stream();
