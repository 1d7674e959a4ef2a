// Part "outputs": which vectors the head of each task reads.
const HEADS = {label: "pooled", choice: "pooled", tags: "sequence", span: "sequence"};
const MOST_DRAWN = 9;  // tokens in the drawing
let drawnHead = Object.keys(HEADS).find(name => data.reads.includes(HEADS[name])) ?? "label";

// The positions whose vectors a head reads.
function readBy(head) {
  const {numbers} = data.inputs;
  if (HEADS[head] === "pooled") return [0];
  const own = numbers.map((number, index) => number >= 0 ? index : -1).filter(index => index >= 0);
  return head === "span" ? own : own.filter(index => numbers[index - 1] !== numbers[index]);
}

function heads() {
  tell(() => {
    const names = Object.keys(HEADS);
    chips(one("#head-buttons"), names.map(name => ({text: say(`head-${name}`), label: say(`head-${name}`)})), names.indexOf(drawnHead), index => { drawnHead = names[index]; headDrawn(); });
    headDrawn();
  });
}

function headDrawn() {
  const names = Object.keys(HEADS), read = readBy(drawnHead);
  [...one("#head-buttons").children].forEach((button, index) => button.setAttribute("aria-pressed", names[index] === drawnHead));
  one("#head-drawing").replaceChildren(headDrawing(read));
  one("#head-reads").textContent = say(`reads-${drawnHead}`, read.length, data.tokens.length);
}

function box(x, y, width, height, text, kind = "") {
  const group = svg("g", {class: `box ${kind}`});
  const label = svg("text", {x: x + width / 2, y: y + height / 2 + 5, "text-anchor": "middle", class: "token"}, text);
  group.append(svg("rect", {x, y, width, height, rx: 4}), label);
  return group;
}

function headDrawing(read) {
  const shown = data.tokens.slice(0, MOST_DRAWN), more = data.tokens.length > MOST_DRAWN, step = 74, width = step * (shown.length + more) + 8;
  const drawn = svg("svg", {viewBox: `0 0 ${width} 268`, role: "img", "aria-label": say("drawing", say(`head-${drawnHead}`)), class: "drawing"});
  const middle = index => 4 + step * index + 35, pooled = HEADS[drawnHead] === "pooled", centre = pooled ? Math.max(middle(0), 90) : width / 2;
  const head = box(centre - 86, 4, 172, 30, say(`head-${drawnHead}`), "is-read");
  shown.forEach((token, index) => {
    const isRead = read.includes(index), x = 4 + step * index;
    if (isRead) drawn.append(svg("line", {x1: middle(index), y1: pooled ? 66 : 130, x2: pooled ? middle(0) : centre, y2: 34, class: "reads"}));
    drawn.append(svg("line", {x1: middle(index), y1: 236, x2: middle(index), y2: 156, class: "axis"}), box(x, 130, 70, 26, index ? `T${index}` : "C", isRead ? "is-read" : ""),
      box(x, 236, 70, 26, token.length > 8 ? `${token.slice(0, 7)}…` : token));
  });
  if (more) drawn.append(svg("text", {x: middle(shown.length), y: 254, "text-anchor": "middle", class: "token"}, "…"), svg("text", {x: middle(shown.length), y: 148, "text-anchor": "middle", class: "token"}, "…"));
  drawn.append(svg("line", {x1: middle(0), y1: 130, x2: middle(0), y2: 92, class: pooled ? "reads" : "axis"}), box(4, 66, 70, 26, say("drawn-pooler"), pooled ? "is-read" : ""),
    box(4, 178, width - 8, 34, say("drawn-encoder", data.layers)), svg("text", {x: width - 6, y: 122, "text-anchor": "end", class: "small"}, say("drawn-sequence")), head);
  return drawn;
}
heads();
