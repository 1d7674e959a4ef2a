"""Entities: equal to conlleval's and seqeval's."""

import random

import pytest
import seqeval.metrics
from seqeval.scheme import IOB2

from finetune.metrics.entities import chunks, to_iob2
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.tagging.task import TaggingRow

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-PER I-PER", [("PER", 0, 2)]),  # an orphan I opens a chunk
        ("B-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("I-PER B-PER I-PER O I-LOC", [("PER", 0, 1), ("PER", 1, 3), ("LOC", 4, 5)]),
        ("S-PER B-LOC E-LOC S-LOC", [("PER", 0, 1), ("LOC", 1, 3), ("LOC", 3, 4)]),
        ("U-PER B-LOC I-LOC L-LOC U-LOC", [("PER", 0, 1), ("LOC", 1, 4), ("LOC", 4, 5)]),
        ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),
        ("", []),
    ],
)
def test_chunks_by_hand(tags: str, expected: list[tuple[str, int, int]]) -> None:
    assert chunks(tags.split()) == expected


@pytest.mark.parametrize(
    "tags", ["I-PER I-PER B-PER O I-LOC", "B-PER E-PER S-PER O S-LOC", "B-PER L-PER U-PER O U-LOC"]
)
def test_every_scheme_becomes_the_same_iob2(tags: str) -> None:
    assert to_iob2(tags.split()) == ["B-PER", "I-PER", "B-PER", "O", "B-LOC"]


def test_scores_equal_seqeval_in_both_modes() -> None:
    generator = random.Random(1)
    gold = [to_iob2(generator.choices(TAGS, k=generator.randint(1, 12))) for _ in range(400)]
    found = [[t if generator.random() < 0.7 else generator.choice(TAGS) for t in row] for row in gold]
    rows = [TaggingRow(id=str(i), words=("w",) * len(tags), gold=tuple(tags)) for i, tags in enumerate(gold)]
    ours = find("conll-2003").score([Answer(value=tags) for tags in found], rows)
    strict = seqeval.metrics.f1_score(gold, found, mode="strict", scheme=IOB2)
    expected = {
        "f1": seqeval.metrics.f1_score(gold, found),
        "precision": seqeval.metrics.precision_score(gold, found),
        "recall": seqeval.metrics.recall_score(gold, found),
        "strict f1": strict,
        "LOC/f1": seqeval.metrics.classification_report(gold, found, output_dict=True)["LOC"]["f1-score"],
    }
    assert {name: ours[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert ours["f1"] != pytest.approx(strict, abs=1e-3)  # or the comparison would mean little
