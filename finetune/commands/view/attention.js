// Part "attention": a grid of heads, and the tokens of one head.
const chosen = {layer: data.opens[0], head: data.opens[1], token: null};

function grid() {
  const n = data.tokens.length, place = one("#grid");
  place.style.setProperty("--heads", data.heads);
  const cells = [];
  for (let layer = 0; layer < data.layers; layer++) {
    for (let head = 0; head < data.heads; head++) {
      const button = element("button", {type: "button", "aria-pressed": "false"});
      tell(() => {
        for (const name of ["title", "aria-label"]) button.setAttribute(name, say("layer-head", layer + 1, head + 1));
      });
      const canvas = element("canvas");
      button.append(canvas, element("span"));
      button.addEventListener("click", () => choose(layer, head));
      cells.push(button);
      repaint.push(() => paint(canvas, n, (from, to) => Math.sqrt(weight(layer, head, from, to))));
    }
  }
  place.replaceChildren(...cells);
  repaint.forEach(draw => draw());
}

function choose(layer, head) {
  Object.assign(chosen, {layer, head});
  [...one("#grid").children].forEach((button, index) =>
    button.setAttribute("aria-pressed", index === layer * data.heads + head));
  one("#head").textContent = say("chosen-head", layer + 1, head + 1);
  pairs();
}

// Lines from each token that looks (left) to those that it attends to (right).
function pairs() {
  lookers();
  const n = data.tokens.length, step = 22, width = 380, left = 130, right = 230;
  const drawn = svg("svg", {viewBox: `0 0 ${width} ${n * step + 8}`, role: "img", "aria-label": say("pairs")});
  for (let from = 0; from < n; from++) {
    if (chosen.token !== null && chosen.token !== from) continue;
    for (let to = 0; to < n; to++) {
      const value = weight(chosen.layer, chosen.head, from, to);
      if (value < 0.01) continue;
      const line = svg("line", {x1: left, y1: from * step + 14, x2: right, y2: to * step + 14, class: "weight", "stroke-opacity": value, "stroke-width": 1 + 3 * value});
      line.append(svg("title", {}, `${data.tokens[from]} to ${data.tokens[to]}: ${value.toFixed(3)}`));
      drawn.append(line);
    }
  }
  for (let index = 0; index < n; index++) {
    const y = index * step + 18, token = data.tokens[index], kind = `token segment${data.segments[index]}`;
    const name = svg("text", {x: left - 6, y, "text-anchor": "end", class: `${kind}${chosen.token === index ? " is-chosen" : ""}`}, token);
    name.addEventListener("click", () => look(index));
    const share = chosen.token === null ? "" : ` ${weight(chosen.layer, chosen.head, chosen.token, index).toFixed(3)}`;
    drawn.append(name, svg("text", {x: right + 6, y, class: kind}, token + share));
  }
  one("#pairs").replaceChildren(drawn);
}

// The tokens as buttons, and in words where the chosen one looks.
function lookers() {
  chips(one("#pair-chips"), data.tokens.map((token, index) => ({text: token, label: say("token-button", token, index)})), chosen.token, look);
  one("#pair-text").textContent = chosen.token === null ? say("looks-all") : say("looks-at", data.tokens[chosen.token], lookedAt(chosen.token));
}

function lookedAt(from) {
  const found = data.tokens.map((token, to) => [weight(chosen.layer, chosen.head, from, to), token, to]).sort((a, b) => b[0] - a[0]);
  return found.slice(0, 3).map(([value, token]) => `${token} ${value.toFixed(3)}`).join(", ");
}

function look(index) {
  chosen.token = chosen.token === index ? null : index;
  pairs();
}
grid();
tell(() => choose(chosen.layer, chosen.head));
