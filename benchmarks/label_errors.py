"""How many wrong labels `finetune.label_errors` finds where the labels of some real rows are changed.

python benchmarks/label_errors.py --out results/benchmarks/label_errors.json
python benchmarks/label_errors.py --of-types --out results/benchmarks/label_errors_of_types.json

Sentences of SST-2 and pairs of MRPC; with `--of-types` rows with tags, several labels, a number, an answer or choices.
Rows and changes are drawn with a seed; the encoder is MiniLM. A finished draw is kept, so that the same command goes
on.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from machine import Parts, options
from rows import rows_of, types_of, with_entities

import finetune
from finetune.metrics.entities import chunks

ROWS, CHANGED = 400, 20
DEPTHS = (20, 40, 60, 80, 100)  # rows that are read from the top
TIMES = (1, 2, 4)  # the same for other types, in numbers of changed labels
SHORT = 500  # characters of a context, so that all questions fit one window
FAR = 2.0  # of the 5 points of STS-B: by how much a changed number is off
Cells = dict[str, Any]
Values = list[Any]  # of labels, without duplicates
Change = Callable[[Cells, Values, random.Random], Any]


def texts(task: str) -> list[Cells]:
    """Texts or pairs with their label."""
    return [{f"sentence{n}": text for n, text in enumerate(row.texts)} | {"label": row.gold} for row in rows_of(task)]


def sentences(task: str) -> list[Cells]:
    """The sentences with an entity, as words and tags."""
    return [{"words": list(row.words), "label": list(row.gold)} for row in with_entities(task)]


def several() -> list[Cells]:
    """Sentences of CoNLL-2003 with the types of their entities, as several labels."""
    return [{"text": " ".join(row.words), "label": types_of(row)} for row in with_entities("conll-2003")]


def questions() -> list[Cells]:
    """Questions of SQuAD about short contexts with several questions."""
    rows = [row for row in rows_of("squad-v1-by-article") if len(row.context) <= SHORT and row.start is not None]
    answers = defaultdict(set)
    for row in rows:
        answers[row.context].add(row.answers[0])
    return [
        {"question": row.question, "context": row.context, "label": row.answers[0], "answers": answers[row.context]}
        for row in rows
        if len(answers[row.context]) > 1
    ]


def continuations() -> list[Cells]:
    """The rows of CODAH."""
    rows = rows_of("codah")
    return [{"context": r.context, **{f"choice{n}": c for n, c in enumerate(r.choices)}, "label": r.gold} for r in rows]


def other(row: Cells, values: Values, draw: random.Random) -> Any:
    """Another label; a number at least FAR away; the answer to another question about the same context."""
    label = row["label"]
    near = FAR if isinstance(label, float) else 0
    values = sorted(row.get("answers", values))
    return draw.choice([value for value in values if value != label and not (near and abs(value - label) < near)])


def other_entity(row: Cells, values: Values, draw: random.Random) -> list[str]:
    """One entity has another type, or none, or a word without one has one; equally often."""
    kinds, tags = sorted({value[2:] for value in values if value != "O"}), list(row["label"])
    free = [place for place, tag in enumerate(tags) if tag == "O" and row["words"][place].isalpha()]
    if free and draw.random() < 1 / 3:
        tags[draw.choice(free)] = f"B-{draw.choice(kinds)}"
        return tags
    kind, first, after = draw.choice(chunks(tags))
    new = draw.choice([name for name in kinds if name != kind]) if draw.random() < 1 / 2 else ""
    tags[first:after] = [f"{'I' if n else 'B'}-{new}" if new else "O" for n in range(after - first)]
    return tags


def other_labels(row: Cells, values: Values, draw: random.Random) -> list[str]:
    """One label more or less, never none at all."""
    labels = set(row["label"])
    absent = [name for name in values if name not in labels]
    return sorted(labels ^ {draw.choice(values if len(labels) > 1 else absent)})


PROBE: Cells = {"frozen": True, "train.solver": "logistic"}
MEAN = PROBE | {"pooling": "mean"}
TAGS, PAIR = {"text": "words"}, {"text": ["sentence0", "sentence1"]}
ANSWERS = {"text": ["question", "context"], "shape": "span"}
CHOICES = {"text": ["context", *(f"choice{n}" for n in range(4))], "shape": "choice"}
CONLL, WNUT, STSB = partial(sentences, "conll-2003"), partial(sentences, "wnut-17"), partial(texts, "stsb")
SST2, MRPC, SENTENCE = partial(texts, "sst2"), partial(texts, "mrpc"), {"text": "sentence0"}
Case = tuple[Callable[[], list[Cells]], Change, Cells]  # rows, how a label is changed, settings
CASES: dict[str, Case] = {
    "sentences": (SST2, other, SENTENCE),
    "sentences, linear probe": (SST2, other, SENTENCE | MEAN),
    "sentences, 10 epochs": (SST2, other, SENTENCE | {"train.epochs": 10}),
    "pairs": (MRPC, other, PAIR),
    "pairs, linear probe": (MRPC, other, PAIR | MEAN),
}
OF_TYPES: dict[str, Case] = {
    "tags, CoNLL-2003, linear probe": (CONLL, other_entity, TAGS | PROBE),
    "tags, WNUT-17, linear probe": (WNUT, other_entity, TAGS | PROBE),
    "several labels, linear probe": (several, other_labels, {"text": "text"} | MEAN),
    "numbers, STS-B, linear probe": (STSB, other, PAIR | MEAN),
    "numbers, STS-B": (STSB, other, PAIR),
    "answers, SQuAD": (questions, other, ANSWERS),
    "choices, CODAH": (continuations, other, CHOICES),
    "tags, CoNLL-2003": (CONLL, other_entity, TAGS),
    "several labels": (several, other_labels, {"text": "text"}),
}


def ranked(case: Case, seed: int) -> tuple[list[bool], float]:
    """For each row whether its label was changed, the least believed first; and CPU seconds."""
    read, change, settings = case
    draw = random.Random(seed)
    rows = draw.sample(read(), ROWS)
    labels = (row["label"] if isinstance(row["label"], list) else [row["label"]] for row in rows)
    values = sorted({value for row in labels for value in row})
    changed = set(draw.sample(range(ROWS), CHANGED))
    rows = [row | {"label": change(row, values, draw)} if n in changed else row for n, row in enumerate(rows)]
    frame = pd.DataFrame(rows).drop(columns="answers", errors="ignore").assign(id=range(ROWS))
    started = time.process_time()
    found = finetune.label_errors(frame, label="label", model="minilm", **settings)
    return [int(name) in changed for name in found["id"]], time.process_time() - started


def of_type(case: Case, seed: int) -> dict[str, Any]:
    """How many changed labels are among the first rows, and the seconds of the processor."""
    marks, seconds = ranked(case, seed)
    found = [sum(marks[: times * CHANGED]) for times in TIMES]
    return {"found": found, "changed": CHANGED, "rows": len(marks), "cpu_seconds": round(seconds, 1)}


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, draws=3, cases=(*CASES, *OF_TYPES), of_types=False)
    if given.of_types:
        about = "changed labels among the first rows of finetune.label_errors, by task type"
        parts = Parts(given.out, about, key="draws", model="minilm", depths=TIMES)
        for seed, case in product(range(given.draws), [name for name in OF_TYPES if name in given.cases]):
            parts.measure(f"{case} {seed}", of_type, OF_TYPES[case], seed)
        return
    facts = {"model": "minilm", "rows": ROWS, "changed": CHANGED, "depths": DEPTHS}
    parts = Parts(given.out, "changed labels among the first rows of finetune.label_errors", key="found", **facts)
    for seed, case in product(range(given.draws), [name for name in CASES if name in given.cases]):
        draws = parts.read().get("found", {})
        if len(draws.get(case, [])) <= seed:
            marks, _ = ranked(CASES[case], seed)
            draws.setdefault(case, []).append([sum(marks[:depth]) for depth in DEPTHS])
            print(case, draws[case], flush=True)
            parts.write(found=draws)


if __name__ == "__main__":
    main()
