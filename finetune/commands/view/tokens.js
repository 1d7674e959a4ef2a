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
