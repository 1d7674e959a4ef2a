"""A cross-encoder next to BM25: the sentence that answers a question of SQuAD, among those that BM25 finds most likely.

python benchmarks/ranking.py --out results/benchmarks/ranking.json --questions 300 --seeds 2

The corpus are the sentences of all articles at hand; each question gets the sentence of its answer and NEGATIVES of
BM25. Dev and test are questions about other articles than those of training. A seed draws the training questions too;
dev and test are the same for all. A finished run is kept, so that the same command goes on.
"""

import bisect
import json
import random
import re
import time
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from machine import Parts, options
from rows import data_file, write

import finetune
from finetune.task_types.plugins.ranking import bm25_index

NEGATIVES = 7  # of each question
DEV, TEST = 50, 200  # questions
MAX_LENGTH = 96  # tokens, in which nearly all pairs are whole
EPOCHS = 2
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])")  # of a sentence
LOSSES = ("row", "listwise")
QUERIES_IN_BATCH = 4  # of a loss over queries; the batch of a loss over rows has as many pairs


def read(split: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The questions of a split with the sentence in which their answer begins, and all sentences of its articles."""
    articles = json.loads(data_file("squad-by-article", f"{split}-v1.1.json").read_text(encoding="utf-8"))["data"]
    pairs, sentences = list[tuple[str, str]](), list[str]()
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        text = paragraph["context"]
        starts = [0, *(match.end() for match in END.finditer(text)), len(text)]
        parts = [text[start:end].strip() for start, end in pairwise(starts)]
        sentences += parts
        for asked in paragraph["qas"]:
            place = bisect.bisect_right(starts[:-1], asked["answers"][0]["answer_start"]) - 1
            pairs.append((asked["question"].strip(), parts[place]))
    return pairs, sentences


def files(questions: int, seed: int, folder: Path) -> dict[str, str]:
    """The files of a run: questions with the sentence that answers them, and those that BM25 ranks highest."""
    (train, train_sentences), (others, other_sentences) = read("train"), read("dev")
    corpus = list(dict.fromkeys([*train_sentences, *other_sentences]))
    counter, weights = bm25_index(corpus)

    def ranked(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str, int]]:
        for question, answer in pairs:
            yield question, answer, 1
            scores = (counter.transform([question]) @ weights.T).toarray().ravel()
            best = [corpus[place] for place in np.argsort(-scores, kind="stable")[: NEGATIVES + 1]]
            yield from ((question, text, 0) for text in [text for text in best if text != answer][:NEGATIVES])

    rest = random.Random(0).sample(others, DEV + TEST)
    drawn = random.Random(f"{questions}:{seed}").sample(train, questions)
    return {
        name: str(write(folder / f"{name}-{seed}", ("query", "passage", "label"), list(ranked(pairs))))
        for name, pairs in {"train": drawn, "dev": rest[:DEV], "test": rest[DEV:]}.items()
    }


def measured(questions: int, seed: int, loss: str, work: Path) -> dict[str, Any]:
    """The scores of a run on test, and those of its baselines."""
    file, started = files(questions, seed, work), time.process_time()
    run = finetune.run(
        file["train"], dev=file["dev"], test=file["test"], loss=loss, seed=seed, out=work / "results", progress=False,
        shape="ranking", model="minilm", max_length=MAX_LENGTH,
        train={"epochs": EPOCHS, "batch_size": QUERIES_IN_BATCH * (1 if loss != "row" else 1 + NEGATIVES)},
    )  # fmt: skip
    record = run.records[0].model_dump(mode="json")
    scores = {"scores": "scores", "baselines": "baselines", "margin": "margins"}
    return {
        "run": run.id,
        **{name: record[field]["test"] for name, field in scores.items()},
        "cpu_seconds": time.process_time() - started,
    }


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, questions=300, seeds=2, work=Path("build/ranking"))
    parts = Parts(
        given.out, "test scores of a cross-encoder by loss, and of BM25", key="runs", model="minilm",
        questions={"train": given.questions, "dev": DEV, "test": TEST}, negatives=NEGATIVES, max_length=MAX_LENGTH,
        epochs=EPOCHS,
    )  # fmt: skip
    for seed, loss in product(range(given.seeds), LOSSES):
        parts.measure(f"{loss} {given.questions} {seed}", measured, given.questions, seed, loss, given.work)


if __name__ == "__main__":
    main()
