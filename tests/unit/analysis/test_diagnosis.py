"""Diagnoses of records: each cause by its figures, none for a healthy run, and commands that keep what was given."""

import math
from pathlib import Path
from typing import Any

import pytest
from support.records import made_record

from finetune.analysis.diagnosis import diagnosis_of, diagnosis_of_seeds
from finetune.runs.record import Margin, Observed, RunRecord

TYPED = ["my reviews.csv", "label=stars", "train.epochs=4", "seed=7"]


def epochs(losses: list[float], dev: list[float | None], scores: list[float]) -> list[dict[str, Any]]:
    return [
        {"epoch": index + 1, "loss": loss, "dev_loss": on_dev, "headline": score, "scores": {}}
        for index, (loss, on_dev, score) in enumerate(zip(losses, dev, scores, strict=True))
    ]


def record(
    score: float = 0.9, *, better: bool = True, observed: dict[str, Any] | None = None, **facts: Any
) -> RunRecord:
    """A run of four epochs that learned, with these facts."""
    train = {"epochs": 4, "batch_size": 16, "learning_rate": 1e-4, **facts.pop("train", {})}
    recipe = {"task": "my reviews.csv", "seed": 7, "model": "minilm", "max_length": 64, "train": train}
    ends = (score - 0.58, score - 0.42) if better else (-0.1, 0.05)
    given: dict[str, Any] = {
        "recipe": recipe | facts.pop("recipe", {}),
        "model": "minilm",
        "rows": {"train": 400, "dev": 100},
        "features": {"train": 400, "dev": 100},
        "labels": {"train": {"good": 200, "bad": 200}, "dev": {"good": 50, "bad": 50}},
        "epochs": epochs([0.6, 0.4, 0.2, 0.1], [0.5, 0.4, 0.35, 0.36], [0.7, 0.8, 0.88, score]),
        "selected_epoch": 4,
        "scores": {"dev": {"accuracy": score}},
        "baselines": {"dev": {"majority": {"accuracy": 0.5}}},
        "margins": {"dev": Margin(interval=(score - 0.06, score + 0.06), difference_interval=ends)},
        "parameters": {"all": 22_000_000, "trained": 22_000_000},
        "observed": Observed(**{"typed": TYPED, "longest_length": 512, **(observed or {})}),
    }  # fmt: skip
    return made_record("my reviews.csv", **given | facts)


BAD: dict[str, Any] = {"score": 0.5, "better": False}
FLAT = epochs([0.693, 0.695, 0.692, 0.694], [0.693] * 4, [0.5] * 4)
OVER = epochs([0.6, 0.4, 0.1, 0.01], [0.5, 0.45, 0.8, 1.2], [0.75, 0.82, 0.78, 0.7])
SLOW = epochs([0.69, 0.67, 0.65, 0.63], [0.68, 0.66, 0.64, 0.62], [0.4, 0.42, 0.43, 0.5])
JAMO = (
    "the vocabulary of minilm, which takes syllables apart into jamo, does not fit these texts: 2.5 tokens per "
    "syllable. Choose an encoder for the language: model=klue/bert-base, or klue/roberta-base"
)
FEW_FOUND = {"dev": {"accuracy": 0.9, "good/recall": 1.0, "odd/recall": 0.0}}
SMALL: dict[str, Any] = {"score": 0.8, "better": False, "rows": {"train": 400, "dev": 12}}
CUT = {"score": 0.6, "better": False, "truncated": {"train": 0.7, "dev": 0.6}}
UNDEFINED = {"dev": {"accuracy": math.nan}}
AGAIN = "finetune run 'my reviews.csv' label=stars train.epochs=4 seed=7"
LONGER = "finetune run 'my reviews.csv' label=stars seed=7 train.epochs="


@pytest.mark.parametrize(
    ("one", "cause", "command"),
    [
        (record(**BAD, epochs=FLAT, train={"learning_rate": 1e-9}),
         "loss never fell", f"{AGAIN} train.learning_rate=0.0001"),
        (record(**BAD, epochs=FLAT), "loss never fell", f"{AGAIN} train.learning_rate=2.5e-05"),
        (record(**BAD, epochs=FLAT, observed={"typed": ["a.csv", "train.learning_rate=0.0001"]}),  # which was typed
         "loss never fell", "finetune run a.csv train.learning_rate=0.0001 train.epochs=12"),
        (record(**BAD, observed={"constant": "good"}), "collapsed to one class", f"{LONGER}12"),
        (record(0.7, epochs=OVER), "over-fitted after epoch 2", f"{AGAIN} train.select=best"),
        (record(**BAD, epochs=SLOW), "under-trained", f"{LONGER}12"),
        (record(0.6, notes=[JAMO]), "encoder of another language", f"{AGAIN} model=klue/bert-base"),
        (record(**CUT, observed={"fitting_length": 192}), "texts cut", f"{AGAIN} max_length=192"),
        *[(record(0.9, scores=FEW_FOUND, labels={"train": {"good": 380, "odd": rows}, "dev": {"good": 9, "odd": 4}}),
           "too few rows of a class" * few, "finetune report 0000000000" * few)
          for rows, few in ((6, True), (18, True), (22, False))],
        (record(**SMALL), "dev too small to tell", f"{AGAIN} --seeds 5"),
        # What would change nothing is not advised: to a linear solver, where the best epoch was kept, to another rate.
        (record(**SMALL, recipe={"train": {"solver": "logistic"}, "frozen": True}), "dev too small to tell", ""),
        (record(0.7, epochs=OVER, train={"select": "best"}), "", ""),
        # An older record is judged by what it has, and does not say what was typed.
        (record(**BAD).model_copy(update={"observed": None, "margins": {}, "labels": {}}), "", ""),
        # A run with which nothing is wrong has no cause.
        *[(healthy, "", "") for healthy in (
            record(),
            record(0.99, better=False),
            record(0.7, truncated={"train": 0.2, "dev": 0.2}, better=False),
            record(0.66, better=False, epochs=epochs([0.6, 0.4, 0.1], [0.5, 0.45, 0.8], [0.6, 0.62, 0.66])),
            record(**BAD, epochs=epochs([math.nan, 0.6], [None] * 2, [math.nan] * 2), scores=UNDEFINED),
        )],
    ],
)  # fmt: skip
def test_a_record_shows_its_cause_and_the_command_that_changes_it(one: RunRecord, cause: str, command: str) -> None:
    found = diagnosis_of(one)
    assert (found.cause, found.command) == (cause, command), str(found)


def test_contradictions_are_listed_by_check_or_by_the_report_of_a_shipped_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my reviews.csv").write_text("text,stars\na,1\n")
    options = {"options": {"label": "stars", "text": "text"}}
    found = diagnosis_of(record(0.6, observed={"contradicted": 80}, recipe=options))
    assert (found.cause, found.command) == (
        *("labels that contradict each other", "finetune check 'my reviews.csv' label=stars"),
    )
    assert "80 of 400" in found.causes[0].evidence
    assert not diagnosis_of(record(0.9, observed={"contradicted": 30}, recipe=options))
    shipped = record(0.6, observed={"contradicted": 80}, recipe={"task": "mrpc"})
    assert diagnosis_of(shipped).command == f"finetune report {shipped.id}"


def test_several_seeds_have_the_cause_of_half_of_them_whichever_is_the_first() -> None:
    healthy, bad = record(0.99), record(**BAD, epochs=FLAT)
    for runs, words in (
        ([healthy, bad, bad], "2 of 3 runs: over 4 epochs"),
        ([bad, bad], "over 4 epochs"),
        ([bad, healthy, healthy], ""),
    ):
        found = diagnosis_of_seeds([(one, None) for one in runs])
        assert [one.evidence[: len(words)] for one in found.causes] == [words] * bool(words)
