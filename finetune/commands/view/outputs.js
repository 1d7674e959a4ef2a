// Part 4: pooled output and sequence output.
function outputs() {
  const {names, strips, cosines: close, tokens} = data.outputs, n = data.tokens.length;
  one("#strips").replaceChildren(...names.map((name, index) => {
    const values = strips[index].map(value => value / 1000);
    return named(name, values, `${start(values)} length ${Math.hypot(...values).toFixed(2)}`);
  }));
  const head = row(["cosine", ...names], "th");
  one("#cosines").replaceChildren(head, ...names.map((name, index) =>
    row([name, ...names.map((_, other) => (close[index * names.length + other] / 1000).toFixed(3))])));
  const least = Math.min(...tokens) / 1000;
  repaint.push(() => paint(one("#token-cosines"), n, (a, b) => (tokens[a * n + b] / 1000 - least) / (1 - least + 1e-9)));
  repaint.at(-1)();
  one("#token-cosines-note").textContent = `Cosine of each pair of tokens in the sequence output, from ${least.toFixed(2)} (light) to 1.00 (dark), in the order of the text.`;
}
outputs();
