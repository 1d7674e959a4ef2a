// What each word adds to the prediction, as `finetune explain` computes it.
const FULL = 0.1;  // log-odds of which a colour is at its full, unless a word adds more, as in `finetune explain`
const signed = value => Math.abs(value) < 0.0005 ? "0.000" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`;

function explanation(one, texts) {
  const full = Math.max(FULL, ...one.words.map(word => Math.abs(word.added)));
  const parts = Object.entries(texts).map(([name, text]) => {
    const all = characters(text), shown = own("p", "part marked", "");
    if (Object.keys(texts).length > 1) shown.append(own("span", "name", name), " ");
    let place = 0;
    for (const word of one.words.filter(each => each.text_name === name)) {
      const made = make("span", word.added < 0 ? "against" : "for", piece(all, word.start, word.end));
      made.style.setProperty("--weight", `${Math.round(70 * Math.abs(word.added) / full)}%`);
      made.title = signed(word.added);
      shown.append(piece(all, place, word.start), made);
      place = word.end;
    }
    shown.append(piece(all, place));
    return shown;
  });
  const strongest = [...one.words].sort((a, b) => Math.abs(b.added) - Math.abs(a.added));
  return [make("h3", "", words("whyOf", one.label)), ...parts,
          ...one.adds_up === false ? [make("p", "note warning", words("whyLoose"))] : [],
          make("details", "", make("summary", "", words("numbers")),
               table([words("word"), words("adds")], strongest.map(word => [word.word, signed(word.added)]), [1]))];
}

function explained(found) {
  const all = found.explanations ?? [];
  if (!all.length) return [make("p", "note", found.note || words("whyNothing"))];
  return [...found.note ? [make("p", "note", found.note)] : [], ...all.flatMap(one => explanation(one, found.texts)),
          make("p", "note", words("whyNote"))];
}
