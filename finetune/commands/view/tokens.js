// Part "tokens": words, pieces and ids.
function tokenTable() {
  const {ids, numbers, words, unknown} = data.inputs, paired = Math.max(...data.segments) > 0;
  const head = [say("column-number"), say("column-word"), say("column-token"), say("column-id"), ...(paired ? [say("column-segment")] : [])];
  const rows = data.tokens.map((token, index) => {
    const number = numbers[index], begins = number >= 0 && numbers[index - 1] !== number;
    const word = element("td", {dir: "auto"}, number < 0 ? say("added-by-tokenizer") : begins ? `${number + 1} ${words[number]}` : `${number + 1} …`);
    word.className = number < 0 ? "is-added" : "";
    const made = row([index, word, element("td", {dir: "auto", class: unknown[index] ? "is-unknown" : ""}, token), ids[index],
      ...(paired ? [data.segments[index]] : [])]);
    made.classList.toggle("is-second", data.segments[index] === 1);
    return made;
  });
  const top = element("thead"), body = element("tbody");
  top.append(row(head, "th"));
  body.append(...rows);
  one("#token-table").replaceChildren(top, body);
}
tell(tokenTable);
