// Part 5: positions and segments.
function positions() {
  const {places, positions: close, segments, lengths} = data.embeddings;
  if (close) {
    const n = places.length, least = Math.min(...close) / 1000, canvas = one("#positions");
    repaint.push(() => paint(canvas, n, (a, b) => (close[a * n + b] / 1000 - least) / (1 - least + 1e-9)));
    repaint.at(-1)();
    tell(() => { one("#positions-note").textContent = say("positions", places[0], places.at(-1), n, least.toFixed(2)); });
    canvas.addEventListener("mousemove", event => {
      const box = canvas.getBoundingClientRect();
      const [b, a] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map(part => Math.max(0, Math.min(n - 1, Math.floor(part * n))));
      one("#position-pair").textContent = say("position-pair", places[a], places[b], (close[a * n + b] / 1000).toFixed(3));
    });
  }
  if (segments && lengths.length > 1) {
    tell(() => {
      const names = lengths.map((_, index) => say("segment", "AB"[index] ?? index));
      one("#segments").replaceChildren(row([say("cosine"), ...names, say("length-column")], "th"), ...names.map((name, index) =>
        row([name, ...names.map((_, other) => (segments[index * names.length + other] / 1000).toFixed(3)), (lengths[index] / 1000).toFixed(2)])));
    });
  }
}
positions();
tell(() => choose(chosen.layer, chosen.head));
