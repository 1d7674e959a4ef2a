"""How large a report is, and how soon one can use it in Chromium, by the number of rows.

python benchmarks/report_page.py --out results/benchmarks/report_page.json

A made-up run of two classes with sentences of 5 to 40 words is written, then opened in headless Chromium several times.
`dom` and `load` are seconds from the start of navigation to DOMContentLoaded, after which the page's script has
filtered all rows once, and to load. `filter` is from setting a filter to the next frame with its rows, `search` the
same for a text search, without the 0.12 s that it waits for more letters.
"""

import json
import random
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import machine
import websocket
from dated import out_parser, write_json
from finetune.commands.report.api import write_report

from finetune.metrics import accuracy
from finetune.runs.folder import RunFolder, write_predictions
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.record_files import write_record

ROWS, REPEATS = (100, 1_000, 10_000, 100_000), 5
WORDS = (
    *("the", "film", "was", "a", "story", "of", "people", "in", "town", "and", "their", "house", "by", "the", "sea"),
    *("with", "music", "that", "nobody", "hears"),
)
LABELS = ("bad", "good")
CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync", "--remote-debugging-port=0", "--remote-allow-origins=*"),
)
TIMES = """(async () => {
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const [entry] = performance.getEntriesByType("navigation");
  const form = document.querySelector("[data-rows] form"), found = {};
  const timed = async (change, event) => {
    const start = performance.now();
    change();
    form.elements.kind.dispatchEvent(new Event("input", {bubbles: true}));
    await frame();
    return (performance.now() - start) / 1000;
  };
  found.filter = await timed(() => { form.elements.kind.value = "right"; });
  found.search = await timed(() => { form.elements.kind.value = "all"; form.elements.text.value = "sea with"; });
  found.shown = Number(document.querySelector("[data-rows]").dataset.shown);
  return {...found, dom: entry.domContentLoadedEventEnd / 1000, load: entry.loadEventEnd / 1000};
})()"""


def made_run(out: Path, count: int) -> Path:
    """The folder of a run with so many rows of dev, of which a tenth is wrong."""
    draw = random.Random(0)
    lines = []
    for number in range(count):
        gold, chance = draw.randrange(2), draw.uniform(0.5, 1)
        answer = gold if draw.random() < 0.9 else 1 - gold
        text = " ".join(draw.choices(WORDS, k=draw.randint(5, 40)))
        probabilities = [1 - chance, chance] if answer else [chance, 1 - chance]
        facts = {"gold": LABELS[gold], "prediction": LABELS[answer], "probabilities": probabilities}
        lines.append({"id": str(number), "text": text, **facts})
    score = sum(line["gold"] == line["prediction"] for line in lines) / count
    folder = RunFolder.of(out, "made", f"{count:010d}")
    folder.path.mkdir(parents=True)
    write_predictions(folder.predictions("dev"), lines, {})
    write_record(folder.record_file, _record(count, score))
    return folder.path


def _record(count: int, score: float) -> RunRecord:
    scores = {"dev": {accuracy.name: score}}
    return RunRecord(
        id=f"{count:010d}", task="made", task_version=1, finished="", model="made", weights="", data="", data_origin={},
        recipe=Recipe(task="made").model_dump(exclude={"grid"}), rows={"train": 1, "dev": count}, features={},
        truncated={}, notes=[], versions={}, git_commit=None, device="cpu", precision="fp32", processes=1, seconds={},
        examples_per_second=0.0, peak_memory_bytes=0, epochs=[], selected_epoch=0, headline=accuracy.name,
        scores=scores, baselines={"dev": {}}, new_weights=[],
    )  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A function that sends a command to a page of a new headless Chromium and returns its result."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        started = subprocess.Popen([*CHROMIUM, f"--user-data-dir={profile}"], stderr=subprocess.DEVNULL)
        try:
            connection = websocket.create_connection(_address(Path(profile) / "DevToolsActivePort"), timeout=60)
            numbers = iter(range(1, 1_000_000))

            def send(method: str, **parameters: Any) -> Any:
                number = next(numbers)
                connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
                while (answer := json.loads(connection.recv())).get("id") != number:
                    pass
                return answer["result"]

            yield send
            connection.close()
        finally:
            started.terminate()
            started.wait()


def _address(file: Path) -> str:
    """The address of the first page, as soon as Chromium has written its port."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if file.is_file() and "\n" in (text := file.read_text()):
            with urllib.request.urlopen(f"http://127.0.0.1:{text.split()[0]}/json") as pages:
                found = json.load(pages)
            return str(next(page["webSocketDebuggerUrl"] for page in found if page["type"] == "page"))
        time.sleep(0.05)
    raise SystemExit("Chromium did not start")


def opened(send: Any, page: Path) -> dict[str, float]:
    """The times of a page, opened from an empty one."""
    send("Page.navigate", url="about:blank")
    send("Page.navigate", url=page.as_uri())
    deadline = time.monotonic() + 60
    ready = "document.readyState === 'complete' && location.protocol === 'file:'"
    while time.monotonic() < deadline:
        if send("Runtime.evaluate", expression=ready, returnByValue=True)["result"].get("value"):
            break
        time.sleep(0.05)
    found = send("Runtime.evaluate", expression=TIMES, returnByValue=True, awaitPromise=True)
    return dict(found["result"]["value"])


def measure(folder: Path, count: int) -> dict[str, Any]:
    """Size of the page, seconds to write it, and the medians of its times in Chromium."""
    run = made_run(folder, count)
    page = folder / f"{count}.html"
    started = time.perf_counter()
    size = write_report([str(run)], page, out=folder)
    written = time.perf_counter() - started
    with chromium() as send:
        times = [opened(send, page) for _ in range(REPEATS)]
    medians = {name: statistics.median(one[name] for one in times) for name in times[0]}
    return {"rows": count, "bytes": size, "seconds_to_write": written, **medians}


def main() -> None:
    """Measures every number of rows."""
    parser = out_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pages = [measure(Path(folder), count) for count in arguments.rows]
    found = {"machine": machine.facts(), "repeats": REPEATS, "pages": pages}
    write_json(arguments.out, found)


if __name__ == "__main__":
    main()
