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

// A colour of a value of -1 to 1: blue above 0, orange below, stronger with its size.
function shade(value) {
  const size = Math.min(100, Math.round(100 * Math.abs(value)));
  return `color-mix(in srgb, var(${value < 0 ? "--series2" : "--series1"}) ${size}%, var(--surface))`;
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

// A vector as a row of coloured cells.
function strip(values, most = Math.max(...values.map(Math.abs), 1e-9)) {
  const made = element("div", {class: "strip"});
  made.append(...values.map(value => {
    const cell = element("i", {title: value.toFixed(3)});
    cell.style.background = shade(value / most);
    return cell;
  }));
  return made;
}

function named(name, values, text, most) {
  const made = element("div", {class: "vector"});
  made.append(element("b", {}, name), strip(values, most), element("small", {}, text));
  return made;
}

const start = values => `${values.slice(0, 4).map(value => value.toFixed(2)).join(", ")} ...`;

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

// The texts that scripts say, in the language that was asked for, else in the reader's; the buttons at the top change it.
let language = data.language ?? (navigator.languages ?? [navigator.language]).map(one => one.slice(0, 2)).find(one => one in data.captions) ?? "en";
const told = [];  // what writes texts, which is done again in another language

function say(key, ...values) {
  return data.captions[language][key].replace(/\{(\d)\}/g, (_, index) => values[index]);
}

function tell(write) {
  told.push(write);
  write();
}

function speak(chosen) {
  language = document.documentElement.lang = chosen;
  document.querySelectorAll("[data-language]").forEach(button => button.setAttribute("aria-pressed", button.dataset.language === language));
  document.querySelectorAll("[data-say]").forEach(place => { place.textContent = say(place.dataset.say); });
  one("#parts").setAttribute("aria-label", say("parts"));
  told.forEach(write => write());
}
document.querySelectorAll("[data-language]").forEach(button => button.addEventListener("click", () => speak(button.dataset.language)));
speak(language);

// Part "tokens": words, pieces, ids, and the vectors that are added for a token.
let fed = Math.min(1, data.tokens.length - 1);  // the token whose vectors are shown

function tokens() {
  tell(() => { tokenTable(); if (data.inputs.parts.length > 1) inputStrips(); });
}

function tokenTable() {
  const {ids, numbers, words, parts, lengths} = data.inputs, paired = Math.max(...data.segments) > 0;
  const head = [say("column-number"), say("column-word"), say("column-token"), say("column-id"), ...(paired ? [say("column-segment")] : []),
    ...parts.map(part => say("length-of", say(`of-${part}`)))];
  const rows = data.tokens.map((token, index) => {
    const number = numbers[index], begins = number >= 0 && numbers[index - 1] !== number;
    const word = element("td", {dir: "auto"}, number < 0 ? say("added-by-tokenizer") : begins ? `${number + 1} ${words[number]}` : `${number + 1} …`);
    word.className = number < 0 ? "is-added" : "";
    const made = row([index, word, element("td", {dir: "auto", class: data.inputs.unknown[index] ? "is-unknown" : ""}, token), ids[index],
      ...(paired ? [data.segments[index]] : []), ...lengths.map(each => (each[index] / 1000).toFixed(2))]);
    made.classList.toggle("is-second", data.segments[index] === 1);
    return made;
  });
  const top = element("thead"), body = element("tbody");
  top.append(row(head, "th"));
  body.append(...rows);
  one("#token-table").replaceChildren(top, body);
}

function inputStrips() {
  const {parts, first, lengths, ids, count} = data.inputs;
  chips(one("#input-chips"), data.tokens.map((token, index) => ({text: token, label: say("token-button", token, index)})), fed, index => { fed = index; inputStrips(); });
  const numbers = first.map(each => each.slice(count * fed, count * (fed + 1)).map(value => value / 1000));
  const most = Math.max(...numbers.slice(0, -1).flat().map(Math.abs), 1e-9);  // of the sum and its parts; what LayerNorm makes of it is much larger
  const rows = {token: ids[fed], segment: data.segments[fed], position: fed};
  one("#input-strips").replaceChildren(...parts.map((part, index) => {
    const name = part in rows ? say(`row-of-${part}`, rows[part]) : say(`of-${part}`);
    return named(name, numbers[index], `${start(numbers[index])} ${say("length", (lengths[index][fed] / 1000).toFixed(2))}`, part === "given" ? undefined : most);
  }));
}
tokens();

// Part "hidden": a word behind [MASK], and what is predicted there.
const MASK = "[MASK]";
const wanted = rank => data.hidden.findIndex(word => word.some(one => one.rank === rank));
let covered = Math.max(0, wanted(null) < 0 ? wanted(1) : wanted(null));  // [MASK] in the text, else the first word that is guessed

function hidden() {
  if (data.hidden.length) tell(guessed);
}

const rounded = share => share >= 0.0005 ? share.toFixed(3) : share ? share.toExponential(0) : "0";

function guessed() {
  const names = data.hidden.map(word => data.inputs.words[data.inputs.numbers[word[0].place]] || data.tokens[word[0].place]);
  chips(one("#hidden-chips"), names.map((name, index) => ({
    text: name, label: say("word-button", name), small: data.hidden[index][0].rank === null ? "?" : data.hidden[index].map(each => rounded(each.probability)).join(" ")})), covered, index => { covered = index; guessed(); });
  const places = new Set(data.hidden[covered].map(each => each.place));
  one("#hidden-text").textContent = data.tokens.map((token, index) => places.has(index) ? MASK : token).join(" ");
  one("#hidden-guesses").replaceChildren(...data.hidden[covered].map(guessesOf));
}

function guessesOf(guess) {
  const own = data.tokens[guess.place], made = element("div"), table = element("table");
  table.append(element("caption", {}, guess.rank === null ? say("guesses-of-mask", own) : say("guesses-of", own)), ...guess.tokens.map((token, index) => {
    const bar = element("span", {class: "bar"}), cell = element("td");
    bar.style.width = `${(6 * guess.probabilities[index]).toFixed(2)}rem`;
    cell.append(bar);
    const line = row([token, rounded(guess.probabilities[index]), cell]);
    line.firstChild.setAttribute("dir", "auto");
    line.classList.toggle("is-chosen", guess.rank === index + 1);
    return line;
  }));
  made.append(table);
  if (guess.rank !== null) made.append(element("p", {class: "note"}, say(guess.rank === 1 ? "hidden-right" : "hidden-rank", own, rounded(guess.probability), guess.rank.toLocaleString(language))));
  return made;
}
hidden();

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
  one("#measure").addEventListener("change", measure);
}

// Shows each head's picture, or one number about it.
function measure() {
  const name = one("#measure").value;
  one("#grid").classList.toggle("numbers", name !== "picture");
  if (name === "picture") return;
  const values = data[name], most = Math.max(...values, 1);
  [...one("#grid").children].forEach((button, index) => {
    button.lastChild.textContent = name === "separators"
      ? `${Math.round(values[index] / 10)}%` : (values[index] / 1000).toFixed(1);
    button.style.setProperty("--share", `${Math.round(60 * values[index] / most)}%`);
  });
}

function choose(layer, head) {
  Object.assign(chosen, {layer, head});
  [...one("#grid").children].forEach((button, index) =>
    button.setAttribute("aria-pressed", index === layer * data.heads + head));
  const index = layer * data.heads + head;
  one("#head").textContent = say("chosen-head", layer + 1, head + 1, (data.entropy[index] / 1000).toFixed(2),
    Math.log2(data.tokens.length).toFixed(2), (data.distance[index] / 1000).toFixed(1), (data.separators[index] / 10).toFixed(1));
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

// Part "words": one word in many sentences.
const MARKS = ["circle", "square", "triangle", "diamond"];
const stageName = stage => stage < 2 ? say(["free", "after-embeddings"][stage]) : say("layer", stage - 1);
const meaningName = meaning => meaning === "yours" ? say("yours") : meaning;

function words() {
  const slider = one("#stage");
  slider.min = 1;
  slider.max = slider.value = data.word.points.length - 1;
  slider.addEventListener("input", shown);
  if (data.word.neighbours.at(-1) === null) one("#apart-table").remove();
  if (!data.word.close) one("#close-table").remove();
  tell(worded);
}

function worded() {
  const stages = data.word.points.map((_, stage) => stageName(stage));
  const kinds = [...new Set(data.word.meanings)];
  one("#meanings").replaceChildren(...kinds.filter(kind => kind).map((kind, index) => {
    const made = element("li");
    const drawn = svg("svg", {viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true"});
    drawn.append(mark(index, 0, 0));
    made.append(drawn, ` ${meaningName(kind)}`);
    return made;
  }));
  one("#sentences").replaceChildren(...data.word.sentences.map(([before, word, after], index) => {
    const made = element("li", {"data-index": index}), button = element("button", {type: "button", "aria-pressed": "false", dir: "auto"});
    made.append(button);
    button.addEventListener("click", () => show(index));
    button.append(`${data.word.meanings[index] ? `${meaningName(data.word.meanings[index])}: ` : ""}${before}`, element("b", {}, word), after);
    return made;
  }));
  one("#free").replaceChildren(scatter(0));
  one("#free-note").textContent = `${stages[0]}: ${variance(0)}`;
  if (data.word.neighbours.at(-1) !== null) one("#apart").replaceChildren(...stages.map((name, stage) => row([name,
    data.word.neighbours[stage] === null ? "–" : `${Math.round(100 * data.word.neighbours[stage])} %`,
    data.word.silhouette[stage] === null ? "–" : data.word.silhouette[stage].toFixed(2)])));
  if (data.word.close) one("#close").replaceChildren(...stages.map((name, stage) => row([name, data.word.close[stage].toFixed(3)])));
  shown();
}

// The points of the layer at the slider.
function shown() {
  const stage = +one("#stage").value;
  one("#scatter").replaceChildren(scatter(stage));
  one("#stage-number").textContent = stage - 1;
  one("#stage-name").textContent = `${stageName(stage)}: ${variance(stage)}`;
}

function variance(stage) {
  const [first, second] = data.word.explained[stage].map(share => Math.round(100 * share));
  return first ? say("variance", first, second) : say("one-point");
}

function mark(kind, x, y) {
  const shape = MARKS[kind % MARKS.length], fill = {class: `mark kind${kind % MARKS.length}`};
  if (shape === "circle") return svg("circle", {cx: x, cy: y, r: 6, ...fill});
  const points = {square: [[-5, -5], [5, -5], [5, 5], [-5, 5]], triangle: [[0, -7], [6, 5], [-6, 5]], diamond: [[0, -7], [7, 0], [0, 7], [-7, 0]]}[shape];
  return svg("polygon", {points: points.map(([a, b]) => `${x + a},${y + b}`).join(" "), ...fill});
}

function scatter(stage) {
  const flat = data.word.points[stage], count = data.word.sentences.length;
  const width = 480, height = 360, margin = 24;
  const most = Math.max(1, ...flat.map(Math.abs));
  const kinds = [...new Set(data.word.meanings)];
  const drawn = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": say("vectors-of", data.word.word, stageName(stage))});
  drawn.append(svg("line", {x1: 0, x2: width, y1: height / 2, y2: height / 2, class: "axis"}), svg("line", {x1: width / 2, x2: width / 2, y1: 0, y2: height, class: "axis"}));
  const same = flat.every(value => value === 0);  // a mark for each would hide all but the last
  for (let index = 0; index < count && !same; index++) {
    const x = width / 2 + flat[2 * index] / most * (width / 2 - margin), y = height / 2 - flat[2 * index + 1] / most * (height / 2 - margin);
    const point = mark(kinds.indexOf(data.word.meanings[index]), x, y);
    point.append(svg("title", {}, data.word.sentences[index].join("")));
    point.addEventListener("click", () => show(index));
    point.dataset.index = index;
    drawn.append(point);
  }
  if (same) drawn.append(svg("circle", {cx: width / 2, cy: height / 2, r: 9, class: "mark all-one"}), svg("text", {x: width / 2 + 16, y: height / 2 - 8, class: "token"}, say("all-one", count)));
  return drawn;
}

function show(index) {
  [...one("#sentences").children].forEach((item, number) => {
    item.classList.toggle("is-chosen", number === index);
    item.firstChild.setAttribute("aria-pressed", number === index);
  });
  document.querySelectorAll(".mark[data-index]").forEach(point => point.classList.toggle("is-picked", +point.dataset.index === index));
  one("#sentences").children[index].scrollIntoView({block: "nearest"});
}
words();

