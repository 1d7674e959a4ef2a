// How a prediction is drawn: bars, a number, marked words, an answer in its text, choices.
const MOST_BARS = 8;  // of labels that are drawn before the others are folded
const SERIES = 5;  // colours of entities, which have their names, too

function bars(entries, thresholds = {}) {
  const place = value => `${100 * value}%`;
  const bar = ({name, share, chosen}) => {
    const track = make("span", "track"), filled = make("span", "filled");
    track.ariaHidden = "true";
    filled.style.width = place(share);
    track.append(filled);
    const mark = (kind, value, title) => {
      const made = make("span", kind);
      made.style.left = place(value);
      made.title = title;
      track.append(made);
    };
    if (name in thresholds) mark("threshold", thresholds[name], percent(thresholds[name]));
    return make("li", chosen ? "chosen" : "", own("span", "bar-name", name), track, make("span", "figure", percent(share)));
  };
  const list = entries.slice(0, MOST_BARS), rest = entries.slice(MOST_BARS), made = make("div", "bars", make("ul", "", ...list.map(bar)));
  if (rest.length) made.append(make("details", "", make("summary", "", words("allOthers", rest.length)), make("ul", "", ...rest.map(bar))));
  return made;
}

const headline = (text, kind = "") => own("p", `prediction ${kind}`, text);

function chances(found, before = "p(") {  // [label, probability] of the columns `p(label)`
  return Object.entries(found).filter(([name, value]) => name.startsWith(before) && name.endsWith(")") && typeof value === "number")
    .map(([name, share]) => ({name: name.slice(before.length, -1), share}));
}

function labelAnswer(found) {
  const entries = chances(found).map(one => ({...one, chosen: one.name === String(found.prediction)})).sort((a, b) => b.share - a.share);
  return [headline(asText(found.prediction)), ...entries.length ? [bars(entries)] : []];
}

function numberAnswer(found) {
  return [headline(typeof found.prediction === "number" ? few(found.prediction) : asText(found.prediction), "number")];
}

function labelsAnswer(found, model) {
  const given = (Array.isArray(found.prediction) ? found.prediction : []).map(String);
  const entries = chances(found).map(one => ({...one, chosen: given.includes(one.name)})).sort((a, b) => b.share - a.share);
  const thresholds = Object.fromEntries((model.options?.thresholds ?? []).map((value, place) => [model.labels[place], value]));
  const chips = given.length ? make("p", "prediction", ...given.flatMap(name => [own("span", "chip", name), " "])) : headline(words("noLabel"), "none");
  return [chips, bars(entries, thresholds), ...Object.keys(thresholds).length ? [make("p", "note", words("thresholds"))] : []];
}

function entitiesAnswer(found, model, row) {
  const entities = Array.isArray(found.entities) ? found.entities : [];
  const given = Object.values(row)[0], text = asText(given);
  const all = [text, text.trim().split(/\s+/).join(" ")].map(characters)
    .find(some => entities.every(one => piece(some, one.start, one.end) === one.text)) ?? null;
  if (!entities.length || !all) {
    return [headline(entities.length ? asText(found.prediction) : words("noEntity"), "none"), ...entities.length ? [] : [own("p", "part", text)]];
  }
  const types = [...new Set([...model.labels.map(tag => tag.replace(/^[BIESLU]-/, "")), ...entities.map(one => one.type)])].filter(one => one !== "O"), shown = own("p", "part marked", "");
  let place = 0;
  for (const one of [...entities].sort((a, b) => a.start - b.start)) {
    shown.append(piece(all, place, one.start), make("mark", `entity series${types.indexOf(one.type) % SERIES + 1}`, one.text, make("small", "", one.type)));
    place = one.end;
  }
  shown.append(piece(all, place));
  const sure = one => typeof one.probability === "number" ? percent(one.probability) : "";
  return [shown, table([words("entity"), words("type"), words("probability")], entities.map(one => [one.text, one.type, sure(one)]), [2])];
}

function spanAnswer(found, model, row) {
  const none = found["p(no answer)"], context = asText(row[model.columns[1]] ?? row.context ?? ""), all = characters(context);
  const made = [];
  if (found.prediction) {
    const shown = own("p", "part marked", "");
    shown.append(piece(all, 0, found.start), make("mark", "answer", piece(all, found.start, found.end)), piece(all, found.end));
    made.push(headline(found.prediction), shown);
  } else {
    made.push(headline(words("noAnswer"), "none"));
  }
  const entries = found.prediction ? [{name: words("bestAnswer"), share: found.score, chosen: true}] : [];
  if (typeof none === "number") entries.push({name: words("noAnswer"), share: none, chosen: !found.prediction});
  made.push(bars(entries));
  const threshold = model.options?.threshold;
  if (typeof none === "number" && typeof threshold === "number") made.push(make("p", "note", words("oddsNote", few(Math.exp(threshold)), few(threshold))));
  return made;
}

function choiceAnswer(found, model, row, form) {
  const texts = form.texts(), shares = chances(found, "p(choice "), which = shares.findIndex(one => one.name === String(found.prediction));
  const entries = shares.map((one, place) => ({name: texts[place] || one.name, share: one.share, chosen: place === which}));
  return [headline(found["prediction text"] ?? asText(found.prediction)), bars(entries)];
}

function cellsAnswer(found) {  // of a task type that this page does not know
  return [table([words("prediction"), ""], Object.entries(found).map(([name, value]) => [name, typeof value === "number" ? few(value) : asText(value)]), [])];
}
