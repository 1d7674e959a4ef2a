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
