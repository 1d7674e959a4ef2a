// Part 4: pooled output and sequence output.
function outputs() {
  const {names, strips, cosines: close, tokens} = data.outputs, n = data.tokens.length;
  const least = Math.min(...tokens) / 1000;
  tell(() => {
    const said = names.map(name => say(`${name}-vector`, data.tokens[0]));
    one("#strips").replaceChildren(...said.map((name, index) => {
      const values = strips[index].map(value => value / 1000);
      return named(name, values, `${start(values)} ${say("length", Math.hypot(...values).toFixed(2))}`);
    }));
    one("#cosines").replaceChildren(row([say("cosine"), ...said], "th"), ...said.map((name, index) =>
      row([name, ...said.map((_, other) => (close[index * said.length + other] / 1000).toFixed(3))])));
    one("#token-cosines-note").textContent = say("token-cosines", least.toFixed(2));
  });
  repaint.push(() => paint(one("#token-cosines"), n, (a, b) => (tokens[a * n + b] / 1000 - least) / (1 - least + 1e-9)));
  repaint.at(-1)();
}
outputs();
