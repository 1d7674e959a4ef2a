"""How many wrong labels `finetune.label_errors` finds where a row has tags, several labels, a number, an answer or
choices: some labels of real rows are changed.

python benchmarks/label_errors_of_types.py --out results/benchmarks/label_errors_of_types.json

Rows and changes are drawn with a seed; the encoder is MiniLM. A finished draw is kept, so that the same command goes
on.
"""

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import machine
import pandas as pd
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.metrics.entities import chunks
from finetune.task_types.registry import find

ROWS, SHARE = 400, 0.05  # of the rows have a changed label
DEPTHS = (1, 2, 4)  # how many times as many rows as there are changed labels are read from the top
SHORT = 500  # characters of a context, so that all questions fit one window
FAR = 2.0  # of the 5 points of STS-B: by how much a changed number is off
Cells = dict[str, Any]
Changed = Callable[[Cells, random.Random], Cells]


def rows_of(task: str) -> Sequence[Any]:
    """The training rows of a shipped task."""
    return find(task).load(source_of(None), "train").rows


def tagged(task: str) -> list[Cells]:
    """The sentences with an entity, as words and tags."""
    return [{"words": list(row.words), "tags": list(row.gold)} for row in rows_of(task) if set(row.gold) > {"O"}]


def other_entity(row: Cells, draw: random.Random) -> Cells:
    """One entity has another type, or none, or a word without one has one; equally often."""
    kinds, tags = row["kinds"], list(row["tags"])
    free = [place for place, tag in enumerate(tags) if tag == "O" and row["words"][place].isalpha()]
    if free and draw.random() < 1 / 3:
        tags[draw.choice(free)] = f"B-{draw.choice(kinds)}"
        return row | {"tags": tags}
    kind, first, after = draw.choice(chunks(tags))
    new = draw.choice([other for other in kinds if other != kind]) if draw.random() < 1 / 2 else ""
    tags[first:after] = [f"{'I' if n else 'B'}-{new}" if new else "O" for n in range(after - first)]
    return row | {"tags": tags}


def types_of_entities() -> list[Cells]:
    """Sentences of CoNLL-2003 with the types of their entities, as several labels."""
    named = ((" ".join(row["words"]), {kind for kind, *_ in chunks(row["tags"])}) for row in tagged("conll-2003"))
    return [{"text": text, "labels": sorted(types)} for text, types in named]


def other_label(row: Cells, draw: random.Random) -> Cells:
    """One label more or less, never none at all."""
    others = [kind for kind in row["kinds"] if kind not in row["labels"]]
    turned = draw.choice(row["kinds"] if len(row["labels"]) > 1 else others)
    return row | {"labels": sorted({*row["labels"]} ^ {turned})}


def scored_pairs() -> list[Cells]:
    """The pairs of STS-B."""
    return [{"one": row.text, "other": row.pair, "score": row.gold} for row in rows_of("stsb")]


def other_number(row: Cells, draw: random.Random) -> Cells:
    """A number of another row that is at least FAR away."""
    return row | {"score": draw.choice([n for n in row["kinds"] if abs(n - row["score"]) >= FAR])}


def questions() -> list[Cells]:
    """Questions of SQuAD about short contexts, with all answers to questions about the same context as `kinds`."""
    rows = [row for row in rows_of("squad-v1-by-article") if len(row.context) <= SHORT and row.start is not None]
    others = defaultdict(set)
    for row in rows:
        others[row.context].add(row.answers[0])
    return [
        {
            "question": row.question,
            "context": row.context,
            "answer": row.answers[0],
            "kinds": sorted(others[row.context]),
        }
        for row in rows
        if len(others[row.context]) > 1
    ]


def other_answer(row: Cells, draw: random.Random) -> Cells:
    """The answer to another question about the same context."""
    return row | {"answer": draw.choice([text for text in row["kinds"] if text != row["answer"]])}


def continuations() -> list[Cells]:
    """The rows of CODAH."""
    rows = rows_of("codah")
    return [{"context": r.context, **{f"choice{n}": c for n, c in enumerate(r.choices)}, "label": r.gold} for r in rows]


def other_choice(row: Cells, draw: random.Random) -> Cells:
    """Another of four choices."""
    return row | {"label": (row["label"] + draw.randrange(1, 4)) % 4}


TAGS, PROBE = {"text": "words"}, {"frozen": True, "train.solver": "logistic"}
SEVERAL, NUMBERS = {"text": "text"}, {"text": ["one", "other"]}
ANSWERS = {"text": ["question", "context"], "shape": "span"}
CHOICES = {"text": ["context", *(f"choice{n}" for n in range(4))], "shape": "choice"}

# name: (rows, their label's column, how one is changed, settings)
CASES: dict[str, tuple[Callable[[], list[Cells]], str, Changed, Cells]] = {
    "tags, CoNLL-2003, linear probe": (lambda: tagged("conll-2003"), "tags", other_entity, TAGS | PROBE),
    "tags, WNUT-17, linear probe": (lambda: tagged("wnut-17"), "tags", other_entity, TAGS | PROBE),
    "several labels, linear probe": (types_of_entities, "labels", other_label, SEVERAL | PROBE | {"pooling": "mean"}),
    "numbers, STS-B, linear probe": (scored_pairs, "score", other_number, NUMBERS | PROBE | {"pooling": "mean"}),
    "numbers, STS-B": (scored_pairs, "score", other_number, NUMBERS),
    "answers, SQuAD": (questions, "answer", other_answer, ANSWERS),
    "choices, CODAH": (continuations, "label", other_choice, CHOICES),
    "tags, CoNLL-2003": (lambda: tagged("conll-2003"), "tags", other_entity, TAGS),
    "several labels": (types_of_entities, "labels", other_label, SEVERAL),
}


def drawn(case: str, seed: int) -> tuple[pd.DataFrame, set[str]]:
    """The rows with their ids, and the ids of those whose label was changed."""
    read, label, change, _ = CASES[case]
    draw = random.Random(seed)
    rows = draw.sample(read(), ROWS)
    values = (row[label] if isinstance(row[label], list) else [row[label]] for row in rows)
    kinds = sorted({value if label == "score" else str(value).split("-", 1)[-1] for row in values for value in row})
    kinds = [kind for kind in kinds if kind != "O"]
    rows = [{"kinds": kinds} | row for row in rows]
    changed = set(draw.sample(range(ROWS), round(SHARE * ROWS)))
    rows = [change(row, draw) if number in changed else row for number, row in enumerate(rows)]
    cells = {name: [row[name] for row in rows] for name in rows[0] if name != "kinds"}
    return pd.DataFrame({"id": range(ROWS)} | cells), set(map(str, changed))


def ranking(case: str, frame: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """All rows of a draw, the least believed first."""
    _, label, _, given = CASES[case]
    return finetune.label_errors(frame, label=label, model="minilm", **(given | settings))


def found_in(ranked: pd.DataFrame, changed: set[str], seconds: float) -> dict[str, Any]:
    """How many changed labels are among the first rows, by depth, and the seconds of the processor."""
    names = [str(name) for name in ranked["id"]]
    found = [len(changed & set(names[: depth * len(changed)])) for depth in DEPTHS]
    return {"found": found, "changed": len(changed), "rows": len(names), "cpu_seconds": round(seconds, 1)}


def finished(out: Path) -> dict[str, Any]:
    """The draws that the file has."""
    return json.loads(out.read_text())["draws"] if out.is_file() else {}


def write(out: Path, draw: str, found: dict[str, Any]) -> None:
    """Adds a draw to the file."""
    about = "changed labels among the first rows of finetune.label_errors, by task type"
    facts = {"about": about, **machine.facts(), "model": "minilm", "depths": DEPTHS}
    write_json(out, {**facts, "draws": finished(out) | {draw: found}})


def main() -> None:
    """Measures what is not there yet, prints and writes."""
    parser = out_parser("Changed labels that are found, by task type")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()
    for seed, case in product(range(options.draws), options.cases):
        if f"{case} {seed}" in finished(options.out):
            continue
        frame, changed = drawn(case, seed)
        started = time.process_time()
        ranked = ranking(case, frame)
        found = found_in(ranked, changed, time.process_time() - started)
        print(seed, case, found, flush=True)
        write(options.out, f"{case} {seed}", found)


if __name__ == "__main__":
    main()
