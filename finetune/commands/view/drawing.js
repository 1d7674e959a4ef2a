"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const one = selector => document.querySelector(selector);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const weight = (layer, head, from, to) => {
  const n = data.tokens.length;
  return data.weights[((layer * data.heads + head) * n + from) * n + to] / 1000;
};

function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function svg(name, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// Fills a canvas of n x n cells with values of 0 to 1.
function paint(canvas, n, value, name = "--series1") {
  canvas.width = canvas.height = n;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, n, n);
  context.fillStyle = colour(name);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      context.globalAlpha = Math.max(0, Math.min(1, value(row, column)));
      context.fillRect(column, row, 1, 1);
    }
  }
}

function row(cells, tag = "td") {
  const made = element("tr");
  cells.forEach((cell, index) => made.append(
    cell instanceof Node ? cell : element(index ? tag : "th", {class: index ? "number" : ""}, cell)));
  return made;
}

// Buttons in a row, of which one is pressed (or none: null); `choose` gets the number of the one that is clicked.
function chips(place, items, pressed, choose) {
  const focused = [...place.children].indexOf(document.activeElement);
  place.replaceChildren(...items.map(({text, label, small}, index) => {
    const chip = element("button", {type: "button", class: "chip", "aria-pressed": index === pressed, "aria-label": small ? `${label}: ${small}` : label});
    chip.append(element("b", {dir: "auto"}, text), ...(small ? [element("small", {}, small)] : []));
    chip.addEventListener("click", () => { chip.focus(); choose(index); });
    return chip;
  }));
  if (focused >= 0) place.children[focused]?.focus();
}

const repaint = [];  // canvases have fixed colours: they are drawn again when the scheme changes
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint.forEach(draw => draw()));
