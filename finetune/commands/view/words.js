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
