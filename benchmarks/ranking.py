"""A cross-encoder next to BM25: the sentence that answers a question of SQuAD, among those that BM25 finds most likely.

python benchmarks/ranking.py --out results/benchmarks/ranking.json --questions 300 --seeds 2

The corpus are the sentences of all articles at hand; each question gets the sentence of its answer and NEGATIVES of
BM25. Dev and test are questions about other articles than those of training. A seed draws the training questions too;
dev and test are the same for all. A finished run is kept, so that the same command goes on.
"""

import bisect
import csv
import itertools
import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.task_types.plugins.ranking import bm25_index

NEGATIVES = 7  # of each question
DEV, TEST = 50, 200  # questions
MAX_LENGTH = 96  # tokens, in which nearly all pairs are whole
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])")  # of a sentence
LOSSES = ("row", "listwise")
SETTINGS: dict[str, Any] = {
    "shape": "ranking",
    "model": "minilm",
    "max_length": MAX_LENGTH,
    "train.epochs": 2,
}
QUERIES_IN_BATCH = 4  # of a loss over queries; the batch of a loss over rows has as many pairs
Pair = tuple[str, str]


def paragraphs(split: str) -> list[dict[str, Any]]:
    """The paragraphs of a split, with their questions."""
    root = source_of(None).folder
    assert root is not None
    articles = json.loads((root / "squad-by-article" / f"{split}-v1.1.json").read_text(encoding="utf-8"))["data"]
    return [paragraph for article in articles for paragraph in article["paragraphs"]]


def pairs(split: str) -> list[Pair]:
    """The questions of a split with the sentence in which their answer begins."""
    return [
        (asked["question"].strip(), sentence_at(paragraph["context"], asked["answers"][0]["answer_start"]))
        for paragraph in paragraphs(split)
        for asked in paragraph["qas"]
    ]


def sentence_at(text: str, place: int) -> str:
    """The sentence of a text that has the character at a place."""
    starts = [0, *(found.end() for found in END.finditer(text)), len(text)]
    first = bisect.bisect_right(starts[:-1], place) - 1
    return text[starts[first] : starts[first + 1]].strip()


def sentences(split: str) -> list[str]:
    """All sentences of the articles of a split."""
    return [one for paragraph in paragraphs(split) for one in END.split(paragraph["context"])]


def write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """A CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def ranked(some: Iterable[Pair], corpus: Sequence[str], index: tuple[Any, Any]) -> Iterator[tuple[str, str, int]]:
    """Each question with its sentence, and with NEGATIVES others."""
    counter, weights = index
    for question, answer in some:
        yield question, answer, 1
        scores = (counter.transform([question]) @ weights.T).toarray().ravel()
        best = [corpus[place] for place in np.argsort(-scores, kind="stable")[: NEGATIVES + 1]]
        yield from ((question, text, 0) for text in [text for text in best if text != answer][:NEGATIVES])


def files(questions: int, seed: int, folder: Path) -> dict[str, Path]:
    """The files of a run: questions with the sentence that answers them, and those that BM25 ranks highest."""
    train, others = pairs("train"), pairs("dev")
    corpus = list(dict.fromkeys(map(str.strip, [*sentences("train"), *sentences("dev")])))
    index = bm25_index(corpus)
    rest = random.Random(0).sample(others, DEV + TEST)
    given = {
        "train": random.Random(f"{questions}:{seed}").sample(train, questions),
        "dev": rest[:DEV],
        "test": rest[DEV:],
    }
    return {
        name: write(folder / f"{name}-{seed}.csv", ("query", "passage", "label"), ranked(some, corpus, index))
        for name, some in given.items()
    }


def measured(given: dict[str, Path], seed: int, loss: str, out: Path) -> dict[str, Any]:
    """The scores of a run on test, and those of its baselines."""
    started = time.process_time()
    batch: dict[str, Any] = {"train.batch_size": QUERIES_IN_BATCH * (1 if loss != "row" else 1 + NEGATIVES)}
    run = finetune.run(
        str(given["train"]), dev=str(given["dev"]), test=str(given["test"]), loss=loss, seed=seed,
        out=out, progress=False, **SETTINGS, **batch,
    )  # fmt: skip
    record = json.loads((Path(run.folder) / "record.json").read_text())
    return {
        "run": run.id,
        "scores": record["scores"]["test"],
        "baselines": record["baselines"]["test"],
        "margin": record["margins"]["test"],
        "cpu_seconds": time.process_time() - started,
    }


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("A cross-encoder by loss, and BM25")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("build/ranking"), help="folder of the files and runs")
    options = parser.parse_args()
    runs = json.loads(options.out.read_text())["runs"] if options.out.is_file() else {}
    for seed, loss in itertools.product(range(options.seeds), LOSSES):
        key = f"{loss} {options.questions} {seed}"
        if key in runs:
            continue
        given = files(options.questions, seed, options.work)
        runs[key] = measured(given, seed, loss, options.work / "results")
        print(key, {name: round(score, 3) for name, score in runs[key]["scores"].items()}, flush=True)
        facts = {
            "about": "test scores of a cross-encoder by loss, and of BM25", **machine.facts(), "model": "minilm",
            "questions": {"train": options.questions, "dev": DEV, "test": TEST}, "negatives": NEGATIVES,
            "max_length": MAX_LENGTH, "epochs": SETTINGS["train.epochs"],
        }  # fmt: skip
        write_json(options.out, {**facts, "runs": runs})


if __name__ == "__main__":
    main()
