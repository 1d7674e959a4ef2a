// Puts the page together: the model's form, its prediction, and what is known of it.
const SHAPES = {  // by task type; any other has a field for each text and the cells of its prediction
  classification: {form: model => textsForm(model, [4, 4]), draw: labelAnswer},
  regression: {form: model => textsForm(model, [4, 4]), draw: numberAnswer},
  "multi-label": {form: model => textsForm(model, [4]), draw: labelsAnswer},
  tagging: {form: model => textsForm(model, [4]), draw: entitiesAnswer},
  span: {form: model => textsForm(model, [2, 8]), draw: spanAnswer},
  choice: {form: choicesForm, draw: choiceAnswer},
};
const OTHER = {form: model => textsForm(model, [4]), draw: cellsAnswer};
const SHORT = 12;  // digits of a fingerprint

let model, shape, form, running = null;

function choose(given) {
  model = given;
  shape = SHAPES[model.shape] ?? OTHER;
  form = shape.form(model);
  at("fields").replaceChildren(form.element);
  at("name").textContent = model.name;
  document.title = `${model.name} · finetune`;
  const best = Object.entries(model.scores ?? {})[0];
  facts(at("facts"), [[words("task"), model.task], ...best ? [[best[0], scoreWords(best[1])]] : []]);
  showAbout();
  start(words("notYet"));
}

function start(state, ...found) {  // the place of the prediction, empty or with what was found
  running?.abort();
  at("state").textContent = state;
  at("state").classList.remove("problem-text");
  at("found").replaceChildren(...found);
  at("answer").classList.remove("old");
  at("answer").ariaBusy = "false";
}

function fail(error, place = at("state")) {
  if (error.name === "AbortError") return;
  place.textContent = error instanceof Refused ? error.message : String(error);
  place.classList.add("problem-text");
}

async function predict() {
  const fault = form.fault();
  start(fault || words("waiting"));
  at("state").classList.toggle("problem-text", Boolean(fault));
  if (fault) return;
  const mine = running = new AbortController(), given = form.read();
  at("answer").ariaBusy = "true";
  try {
    const [found] = (await asked("/predict", {rows: [given]}, mine.signal)).predictions;
    start("", ...found.error ? [] : shape.draw(found, model, given, form));
    if (found.error) fail(new Refused(found.error));
    at("answer").scrollIntoView({block: "nearest"});
  } catch (error) {
    if (mine === running) { start(""); fail(error); }
  }
}

function interval({value, shown, low, high}) {  // as the score is shown, which may be in hundredths
  if (low === undefined || low === null) return "";
  const scale = value ? Math.max(1, Math.round(Number(shown) / value)) : 1, decimals = shown.split(".")[1]?.length ?? 0;
  return `${(scale * low).toFixed(decimals)} – ${(scale * high).toFixed(decimals)}`;
}
const scoreWords = score => [score.shown, interval(score) && `(${interval(score)})`].filter(Boolean).join(" ");

function showAbout() {
  const lines = Object.entries(model.scores ?? {}).map(([name, one]) => [name, one.shown, interval(one), one.rows?.toLocaleString(LANGUAGE) ?? ""]);
  const made = lines.length ? table([words("metric"), words("score"), words("interval"), words("rows")], lines, [1, 2, 3])
    : make("p", "note", words("noScores"));
  made.id = "scores";
  at("scores").replaceWith(made);
  facts(at("more"), [[words("kind"), model.shape], [words("engine"), model.engine], [words("longest"), model.max_length],
                     [words("fingerprint"), model.fingerprint?.slice(0, SHORT)]]);
}

function listen() {
  at("row").addEventListener("submit", event => { event.preventDefault(); predict(); });
  at("row").addEventListener("reset", event => { event.preventDefault(); form.fill({}); start(words("notYet")); at("fields").querySelector("textarea").focus(); });
  at("row").addEventListener("keydown", event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); predict(); } });
  at("row").addEventListener("input", () => {
    if (!at("found").hasChildNodes()) return;
    at("answer").classList.add("old");
    at("state").textContent = words("outdated");
  });
}

async function open() {
  document.documentElement.lang = LANGUAGE;
  for (const one of document.querySelectorAll("[data-words]")) one.textContent = words(one.dataset.words);
  let models;
  try {
    ({models} = await asked("/about"));
  } catch (error) {
    return tell(error instanceof Refused ? error.message : String(error));
  }
  listen();
  choose(models[0]);
  document.querySelector("main").hidden = false;
}

open();
