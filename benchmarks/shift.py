"""False alarms and hits of `finetune check RUN FILE` on fresh rows and on ten shifts, at 100 and 500 new rows.

python benchmarks/shift.py --out results/benchmarks/shift.json --draws 200 --shifted-draws 10

Rows are measured once; then reference and new rows are drawn from these, so that each draw is as another dev set and
another file. What is finished is kept, so that the same command goes on.
"""

import csv
import itertools
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import machine
import numpy as np
from dated import out_parser, write_json

import finetune
from finetune.commands.check.shift import measurer_of
from finetune.data.source import source_of
from finetune.inference import predict_file
from finetune.inference.predictor import load_predictor
from finetune.inference.shift import note
from finetune.inference.shift.alike import LEVEL, shift_tests
from finetune.inference.shift.measures import Measures
from finetune.inference.shift.reference import STATES
from finetune.runs.events import unwatched
from finetune.task_types.registry import find

Cells = tuple[str, ...]
TRAIN, DEV, POOL = 400, 200, 1_100  # rows
FRESH = "fresh rows"
REFERENCE, SIZES, PERMUTATIONS = 500, (100, 500), 199
ONE_SET: Mapping[str, Any] = {"train.epochs": 1}


def shipped(name: str, split: str) -> list[Cells]:
    """The rows of a shipped task: its texts, and the label last."""
    return [(*row.texts, str(row.gold)) for row in find(name).load(source_of(None), split).rows]


def korean(folder: str, file: str, *columns: str) -> list[Cells]:
    """The rows of a tab-separated file of the data folder."""
    root = source_of(None).folder
    assert root is not None
    head, *lines = (root / folder / file).read_text(encoding="utf-8").splitlines()
    places = [head.split("\t").index(name) for name in columns]
    rows = [tuple(line.split("\t")[place] for place in places) for line in lines]
    return [row for row in rows if all(cell.strip() for cell in row)]


def single(rows: Sequence[Cells]) -> list[Cells]:
    """The first text of each row."""
    return [(row[0], "") for row in rows]


def of_genre(genre: str) -> list[Cells]:
    """KorSTS's first sentences of one genre."""
    rows = korean("korsts", "sts-train.tsv", "genre", "sentence1")
    return [(text, "") for name, text in rows if name == genre]


def sentences() -> list[Cells]:
    """SST-2's training rows of more than four words."""
    return [row for row in shipped("sst2", "train") if len(row[0].split()) > 4]


def reviews() -> list[Cells]:
    """NSMC's training rows."""
    return korean("nsmc", "ratings_train.txt", "document", "label")


def pairs() -> list[Cells]:
    """KorSTS's pairs."""
    return [(*row, "") for row in korean("korsts", "sts-train.tsv", "sentence1", "sentence2")]


Read = Callable[[], list[Cells]]
SETS: dict[str, tuple[str, Read, dict[str, Read]]] = {
    "sst2": (
        "film reviews, English",
        sentences,
        {
            "other domain": lambda: single(shipped("mrpc", "train")),
            "other source": lambda: single(shipped("cola", "train")),
            "other language": lambda: single(reviews()),
        },
    ),
    "qnli": (
        "questions with sentences, English",
        lambda: shipped("qnli", "dev"),
        {
            "other domain": lambda: shipped("mrpc", "train"),
            "other source": lambda: shipped("rte", "train"),
            "other language": pairs,
        },
    ),
    "nsmc": (
        "film reviews, Korean",
        reviews,
        {
            "other domain": lambda: of_genre("main-captions"),
            "other source": lambda: of_genre("main-news"),
            "other language": lambda: single(sentences()),
        },
    ),
}


def typos(text: str, drawn: random.Random) -> str:
    """The text with 3 % of its letters swapped with the next."""
    signs = list(text)
    for place in range(len(signs) - 1):
        if signs[place].isalpha() and drawn.random() < 0.03:
            signs[place], signs[place + 1] = signs[place + 1], signs[place]
    return "".join(signs)


def damaged(text: str, drawn: random.Random) -> str:
    """UTF-8 read as Latin-1; of ASCII texts, where that changes nothing, 2 % of the characters are lost."""
    if not text.isascii():
        return text.encode().decode("latin-1")
    return "".join("\ufffd" if drawn.random() < 0.02 else sign for sign in text)


TEXT_CHANGES: dict[str, Callable[[str, random.Random], str]] = {
    "typos in 3 % of the letters": typos,
    "cut to half": lambda text, _: " ".join(text.split()[: max(1, len(text.split()) // 2)]),
    "capitals": lambda text, _: text.upper(),
    "damaged encoding": damaged,
}


def changed(name: str, rows: Sequence[Cells], drawn: random.Random) -> list[Cells]:
    """The rows with a shift of this name."""
    if name in TEXT_CHANGES:
        change = TEXT_CHANGES[name]
        return [(*(change(text, drawn) for text in row[:-1]), row[-1]) for row in rows]
    if name == "swapped columns":
        return [(row[1], row[0], row[-1]) for row in rows]
    if name == "one text in 20 % of the rows":
        return [rows[0] if drawn.random() < 0.2 else row for row in rows]
    first = rows[0][-1]
    more, fewer = ([row for row in rows if (row[-1] == first) is wanted] for wanted in (True, False))
    return [*more, *fewer[: len(more) // 4]]  # 80 % of one class


ROW_CHANGES = ("80 % of one class", "one text in 20 % of the rows", "swapped columns")


def shifts(name: str, pool: Sequence[Cells], count: int) -> dict[str, list[Cells]]:
    """The rows of each shift of a set."""
    drawn, others = random.Random(1), SETS[name][2]
    found = {shift: drawn.sample(rows := read(), min(count, len(rows))) for shift, read in others.items()}
    for shift in (*TEXT_CHANGES, *ROW_CHANGES):
        if shift != "swapped columns" or len(pool[0]) == 3:
            found[shift] = changed(shift, drawn.sample(list(pool), count * (2 if "class" in shift else 1)), drawn)
    return {shift: rows[:count] for shift, rows in found.items()}


def write(path: Path, rows: Sequence[Cells]) -> Path:
    """A CSV file."""
    head = ("text", "label") if len(rows[0]) == 2 else ("question", "sentence", "label")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def measured(name: str, work: Path, shifted: int) -> Iterator[tuple[str, Measures]]:
    """The measures of fresh rows and of each shift, by a model trained on other rows; a file keeps those of each."""
    rows, folder = SETS[name][1](), work / name
    random.Random(0).shuffle(rows)
    train, dev = write(folder / "train.csv", rows[:TRAIN]), write(folder / "dev.csv", rows[TRAIN : TRAIN + DEV])
    given = {"text": "text"} if len(rows[0]) == 2 else {"text": ["question", "sentence"]}
    run = finetune.train(
        str(train), dev=str(dev), label="label", out=folder / "results", progress=False, **given, **ONE_SET
    )
    predictor, pool = load_predictor(run.folders[0]), rows[TRAIN + DEV :][:POOL]
    measurer, labels = measurer_of(predictor), sorted({row[-1] for row in pool})
    for shift, some in {FRESH: pool, **shifts(name, pool, shifted)}.items():
        file = folder / f"{shift}.npz"
        if not file.is_file():
            made = [predictor.row(*row[:-1]) for row in some]
            np.savez(file, **measurer.of_rows(made, labels))  # type: ignore[arg-type]
            print(name, shift, len(made), f"{time.process_time():.0f} s", flush=True)
        with np.load(file) as arrays:
            yield shift, {key: arrays[key] for key in arrays}


def taken(measures: Measures, indexes: np.ndarray) -> Measures:
    """The measures of some rows."""
    return {name: values[indexes] for name, values in measures.items()}


def draw(fresh: Measures, new: Measures | None, size: int, seed: int) -> list[str]:
    """What is found in new rows of this size, or in fresh ones, next to a reference of fresh ones."""
    drawn = np.random.default_rng(seed)
    order = drawn.permutation(len(fresh[STATES]))
    dev, rest = order[:REFERENCE], order[REFERENCE:]
    some = taken(fresh, rest[:size]) if new is None else taken(new, drawn.permutation(len(new[STATES]))[:size])
    found = shift_tests(taken(fresh, dev), some, permutations=PERMUTATIONS)
    return [one.name for one in found if one.corrected <= LEVEL]


def cost_of_note(name: str, work: Path) -> dict[str, float]:
    """CPU seconds of predicting a file, and those of them that its note takes."""
    (run,) = (work / name).glob("results/*/*")
    spent = defaultdict[str, float](float)

    def timed(what: str, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        started = time.process_time()
        found = call(*given, **named)
        spent[what] += time.process_time() - started
        return found

    one = note.WatchedPredictor
    with (
        patch.object(one, "_measured", lambda self, *given, m=one._measured: timed("note", m, self, *given)),
        patch.object(predict_file, "shift_notes", partial(timed, "note", note.shift_notes)),
        tempfile.TemporaryDirectory() as folder,
    ):
        predictor, output = load_predictor(run), Path(folder) / "out.csv"
        given = {"options": {}, "watch": unwatched}
        found = timed("all", predict_file.predict_file, predictor, work / name / "dev.csv", output, **given)
    return {"rows": found.rows, "cpu_seconds": spent["all"], "cpu_seconds_of_note": spent["note"]}


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("False alarms and hits of a check of new rows")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--draws", type=int, default=200, help="of fresh rows")
    parser.add_argument("--shifted-draws", type=int, default=10, help="of each shift")
    parser.add_argument("--shifted-rows", type=int, default=500, help="that are measured of each shift")
    parser.add_argument("--work", type=Path, default=Path("build/shift"), help="folder of the files and runs")
    options = parser.parse_args()
    fresh: Measures = {}
    facts: dict[str, Any] = {
        "about": "draws in which `check RUN FILE` finds a shift, and by which tests", **machine.facts(),
        "model": "minilm", "reference_rows": REFERENCE, "level": LEVEL, "permutations": PERMUTATIONS,
        "train_rows": TRAIN, "sets": {name: about for name, (about, *_) in SETS.items()},
    }  # fmt: skip
    before = json.loads(options.out.read_text()) if options.out.is_file() else {}
    found, facts["note"] = before.get("found", {}), before.get("note", {})
    for size, name in itertools.product(SIZES, options.sets):
        for shift, new in measured(name, options.work, options.shifted_rows):
            fresh = new if shift == FRESH else fresh
            if len(new[STATES]) < size:
                continue
            wanted = options.draws if shift == FRESH else options.shifted_draws
            key = f"{name}: {shift}: {size}"
            kept = found.setdefault(key, [])
            for seed in range(len(kept), wanted):
                kept.append(draw(fresh, None if shift == FRESH else new, size, seed))
                if len(kept) % 20 == 0 or len(kept) == wanted:
                    write_json(options.out, {**facts, "found": found})
            facts["note"][name] = facts["note"].get(name) or cost_of_note(name, options.work)
            print(key, f"{sum(map(bool, kept))} of {len(kept)}", f"{time.process_time():.0f} s", flush=True)


if __name__ == "__main__":
    main()
