// Part 8: what a decoder writes.
const LOOKS = {kept: "", finished: "is-finished", dropped: "is-hidden"};

function decoder() {
  if (!data.written) return;
  const {texts, scores, greedy, steps, target} = data.written;
  const chosen = {layer: data.written.layers - 1, token: 0};
  tell(() => {
    one("#written-rows").replaceChildren(...texts.map((text, index) => {
      const made = row([text || say("nothing"), scores[index].toFixed(3)]);
      made.classList.toggle("is-chosen", index === 0);
      return made;
    }));
    one("#greedy").textContent = say(greedy === texts[0] ? "greedy-same" : "greedy", greedy || say("nothing"));
    one("#beams").replaceChildren(...steps.map(beamStep));
    options(one("#cross-layer"), Array.from({length: data.written.layers}, (_, layer) => say("layer", layer + 1)));
    options(one("#cross-token"), target.slice(1).map((token, index) => `${index + 1} ${token}`));
    for (const [name, value] of Object.entries(chosen)) one(`#cross-${name}`).value = value;
    crossed();
  });
  for (const name of Object.keys(chosen)) one(`#cross-${name}`).addEventListener("change", event => { chosen[name] = +event.target.value; crossed(); });
}

// The candidates of one step, best first: what goes on, what is finished, what is dropped.
function beamStep(candidates) {
  const made = element("li"), list = element("ul");
  list.append(...candidates.map(([before, token, total, status]) => {
    const chip = element("li", {class: `chip ${LOOKS[status]}`});
    const text = element("span");
    text.append(element("small", {}, `${before.join(" ")} `), element("b", {}, token));
    chip.append(text, element("small", {}, `${total.toFixed(2)}, ${say(status)}`));
    return chip;
  }));
  made.append(list);
  return made;
}

// Where the decoder looks when it writes a token: in the source, and in what it has written.
function crossed() {
  const layer = +one("#cross-layer").value, token = +one("#cross-token").value, {target, cross, causal} = data.written;
  const n = target.length - 1, source = data.tokens.length;
  const at = (values, width) => values.slice((layer * n + token) * width, (layer * n + token + 1) * width).map(value => value / 1000);
  one("#cross-chips").replaceChildren(...at(cross, source).map((share, index) => weightChip(data.tokens[index], share)));
  one("#causal-chips").replaceChildren(...at(causal, n).map((share, index) => weightChip(target[index], index > token ? null : share)));
}

function weightChip(token, share) {
  const chip = element("span", {class: `chip${share === null ? " is-hidden" : ""}`}), bar = element("span", {class: "bar"});
  bar.style.width = `${(100 * (share ?? 0)).toFixed(1)}%`;
  chip.append(element("b", {}, token), element("small", {}, share === null ? say("hidden") : share.toFixed(3)), bar);
  return chip;
}
decoder();
