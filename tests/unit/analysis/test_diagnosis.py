"""Diagnoses of records: each cause by its figures, none for a healthy run, and commands that keep what was given."""

import math
from pathlib import Path
from typing import Any

import pytest
from support.records import made_record

from finetune.analysis.diagnosis import diagnosis_of, diagnosis_of_seeds
from finetune.runs.folder import RunFolder
from finetune.runs.record import Margin, Observed, RunRecord

TYPED = ["my reviews.csv", "label=stars", "train.epochs=4", "seed=7"]
LABELS = {"train": {"good": 200, "bad": 200}, "dev": {"good": 50, "bad": 50}}


def epochs(losses: list[float], dev: list[float | None], scores: list[float]) -> list[dict[str, Any]]:
    return [
        {"epoch": index + 1, "loss": loss, "dev_loss": on_dev, "headline": score, "scores": {}}
        for index, (loss, on_dev, score) in enumerate(zip(losses, dev, scores, strict=True))
    ]


def record(
    score: float = 0.9,
    *,
    baseline: float = 0.5,
    better: bool = True,
    observed: dict[str, Any] | None = None,
    **facts: Any,
) -> RunRecord:
    """A run of four epochs that learned, with these facts."""
    train = {"epochs": 4, "batch_size": 16, "learning_rate": 1e-4, **facts.pop("train", {})}
    split = facts.pop("split", "dev")
    ends = (score - baseline - 0.08, score - baseline + 0.08) if better else (-0.1, 0.05)
    given: dict[str, Any] = {
        "recipe": {"task": "my reviews.csv", "seed": 7, "model": "minilm", "max_length": 64, "train": train},
        "model": "minilm",
        "rows": {"train": 400, split: 100},
        "features": {"train": 400, split: 100},
        "labels": LABELS,
        "epochs": epochs([0.6, 0.4, 0.2, 0.1], [0.5, 0.4, 0.35, 0.36], [0.7, 0.8, 0.88, score]),
        "selected_epoch": 4,
        "scores": {split: {"accuracy": score}},
        "baselines": {split: {"majority": {"accuracy": baseline}}},
        "margins": {
            split: Margin(
                interval=(score - 0.06, score + 0.06), baseline="majority", difference=score - baseline,
                difference_interval=ends,
            )
        },
        "parameters": {"all": 22_000_000, "trained": 22_000_000},
        "observed": Observed(**{"typed": TYPED, "longest_length": 512, **(observed or {})}),
    }  # fmt: skip
    return made_record("my reviews.csv", **given | facts)


BAD = {"score": 0.5, "better": False}
FLAT = epochs([0.693, 0.695, 0.692, 0.694], [0.693] * 4, [0.5] * 4)
CASES: dict[str, tuple[RunRecord, str, str]] = {
    "a rate that moves nothing": (
        record(**BAD, epochs=FLAT, train={"learning_rate": 1e-9}),
        "loss never fell",
        "train.learning_rate=0.0001",
    ),
    "a loss that stays": (record(**BAD, epochs=FLAT), "loss never fell", "train.learning_rate=2.5e-05"),
    "one class after a high rate": (
        record(**BAD, epochs=FLAT, train={"learning_rate": 0.1}, observed={"constant": "good"}),
        "loss never fell",
        "train.learning_rate=0.0001",
    ),
    "one class after a usual rate": (
        record(**BAD, observed={"constant": "good"}),
        "collapsed to one class",
        "train.epochs=12",
    ),
    "over-fitted": (
        record(0.7, epochs=epochs([0.6, 0.4, 0.1, 0.01], [0.5, 0.45, 0.8, 1.2], [0.75, 0.82, 0.78, 0.7])),
        "over-fitted after epoch 2",
        "train.select=best",
    ),
    "under-trained": (
        record(**BAD, epochs=epochs([0.69, 0.67, 0.65, 0.63], [0.68, 0.66, 0.64, 0.62], [0.4, 0.42, 0.43, 0.5])),
        "under-trained",
        "train.epochs=12",
    ),
    "few updates": (
        record(**BAD, epochs=epochs([0.69], [0.68], [0.5]), features={"train": 100, "dev": 100}, train={"epochs": 1}),
        "under-trained",
        "train.epochs=29",
    ),
    "another language": (
        record(
            0.6,
            notes=[
                "the vocabulary of minilm, which takes syllables apart into jamo, does not fit these texts: 2.5 tokens "
                "per syllable. Choose an encoder for the language: model=klue/bert-base, or klue/roberta-base"
            ],
        ),
        "encoder of another language",
        "model=klue/bert-base",
    ),
    "texts cut": (
        record(0.6, better=False, truncated={"train": 0.7, "dev": 0.6}, observed={"fitting_length": 192}),
        "texts cut",
        "max_length=192",
    ),
    "texts cut at the end of the encoder": (
        record(0.6, better=False, truncated={"train": 0.7}, observed={"fitting_length": 900, "longest_length": 64}),
        "texts cut",
        "",
    ),
    "few rows": (
        record(
            0.9,
            labels={"train": {"good": 300, "odd": 6}, "dev": {"good": 90, "odd": 4}},
            scores={"dev": {"accuracy": 0.9, "good/recall": 1.0, "odd/recall": 0.0}},
        ),
        "too few rows of a class",
        "",
    ),
    "a small dev": (
        record(0.8, better=False, rows={"train": 400, "dev": 12}),
        "dev too small to tell",
        "--seeds 5",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_record_shows_its_cause_and_the_command_has_the_change(name: str) -> None:
    one, cause, change = CASES[name]
    found = diagnosis_of(one)
    assert found.cause == cause, str(found)
    assert found.command.endswith(change)


def test_a_command_keeps_all_that_was_given_quoted_for_the_shell() -> None:
    found = diagnosis_of(CASES["over-fitted"][0])
    assert found.command == "finetune run 'my reviews.csv' label=stars train.epochs=4 seed=7 train.select=best"
    changed = diagnosis_of(CASES["under-trained"][0])
    assert changed.command == "finetune run 'my reviews.csv' label=stars seed=7 train.epochs=12"


def test_contradictions_are_named_by_their_share_and_listed_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my reviews.csv").write_text("text,stars\na,1\n")
    recipe = {"task": "my reviews.csv", "seed": 7, "options": {"label": "stars", "text": "text"}}
    found = diagnosis_of(record(0.6, observed={"contradicted": 80}, recipe=recipe))
    assert found.cause == "labels that contradict each other"
    assert "80 of 400" in found.causes[0].evidence
    assert found.command == "finetune check 'my reviews.csv' label=stars"
    assert not diagnosis_of(record(0.9, observed={"contradicted": 30}, recipe=recipe))


@pytest.mark.parametrize(
    "healthy",
    [
        record(),
        record(0.99, better=False),
        record(epochs=epochs([0.6, 0.4, 0.2, 0.1], [0.5, 0.4, 0.45, 0.5], [0.7, 0.8, 0.85, 0.9])),
        record(truncated={"train": 0.2, "dev": 0.2}, better=False, score=0.7),
        record(rows={"train": 400, "dev": 30}),
        record(epochs=epochs([0.5], [0.3], [0.9])),
        record(
            0.66, better=False, epochs=epochs([0.6, 0.4, 0.1, 0.01], [0.5, 0.45, 0.8, 1.2], [0.6, 0.62, 0.63, 0.66])
        ),
        record(0.99, better=False, epochs=epochs([0.02] * 4, [0.02] * 4, [0.99] * 4)),
    ],
)
def test_a_run_with_which_nothing_is_wrong_has_no_cause(healthy: RunRecord) -> None:
    assert not diagnosis_of(healthy), str(diagnosis_of(healthy))


def test_an_older_record_is_judged_by_what_it_has() -> None:
    one = record(**BAD, epochs=epochs([0.6, 0.4, 0.3, 0.2], [None] * 4, [0.5] * 4))
    older = one.model_copy(update={"observed": None, "margins": {}, "parameters": {}, "labels": {}})
    assert diagnosis_of(older).command == ""  # the record does not say what was typed


def test_the_command_of_a_grids_run_names_its_recipe_file(tmp_path: Path) -> None:
    older = record(**BAD, observed={"constant": "good", "typed": []})
    folder = tmp_path / "results" / "r" / "0"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(f'task = "{older.task}"\n')
    assert diagnosis_of(older, RunFolder(folder)).command == f"finetune run {folder}/recipe.toml train.epochs=12"


def test_undefined_scores_and_losses_raise_nothing() -> None:
    one = record(
        **BAD,
        epochs=epochs([math.nan, 0.6], [None, None], [math.nan, math.nan]),
        scores={"dev": {"accuracy": math.nan}},
    )
    assert diagnosis_of(one).cause in ("", "collapsed to one class")


def test_each_command_names_the_folder_of_the_runs_where_it_is_not_the_usual_one() -> None:
    found = diagnosis_of(CASES["a small dev"][0])
    assert found.for_runs_in(Path("my runs")).command.endswith("--seeds 5 --out 'my runs'")
    assert found.for_runs_in(Path("results")) == found


def test_contradictions_of_a_shipped_task_are_in_its_report_and_of_a_recipe_file_in_the_check_of_its_data() -> None:
    shipped = record(0.6, observed={"contradicted": 80}, recipe={"task": "mrpc", "seed": 7})
    assert diagnosis_of(shipped).command == f"finetune report {shipped.id}"
    options = {"shape": "classification", "label": "stars", "text": "body"}
    recipe = {"task": "elsewhere.csv", "seed": 7, "options": options}
    by_file = record(0.6, observed={"contradicted": 80, "typed": ["mine.toml"]}, recipe=recipe)
    words = diagnosis_of(by_file).command
    assert words.startswith("finetune check elsewhere.csv ")
    assert {"label=stars", "text=body"} < {*words.split()}


def test_a_rate_that_was_typed_is_not_followed_by_another() -> None:
    kept = CASES["a loss that stays"][0]
    rate = kept.recipe["train"]["learning_rate"]
    typed = {"typed": ["a.csv", f"train.learning_rate={rate}"]}
    found = diagnosis_of(record(**BAD, epochs=FLAT, recipe=kept.recipe, observed=typed))
    assert found.cause == "loss never fell"
    assert f"train.learning_rate={rate} train.epochs=" in found.command


def test_what_would_change_nothing_is_not_advised() -> None:
    """Seeds and epochs of a linear solver, the best epoch where it was kept, and a rate that is not Adam's."""
    recipe = {"task": "my reviews.csv", "seed": 7, "train": {"solver": "logistic"}, "frozen": True}
    small = diagnosis_of(record(0.8, better=False, rows={"train": 400, "dev": 12}, recipe=recipe))
    assert small.cause == "dev too small to tell"
    assert (small.command, "label more of them: 50 or more" in small.causes[0].evidence) == ("", True)
    few = CASES["a small dev"][0]
    for runs, command in ((1, f"{diagnosis_of(few).command}"), (5, "")):
        assert diagnosis_of(few, runs=runs).command == command
    contrasted = few.model_copy(update={"recipe": {**few.recipe, "train": {"solver": "contrastive"}}})
    assert diagnosis_of(contrasted).command == ""  # what the card of a small dev had advised
    kept = CASES["over-fitted"][0]
    best = {**kept.recipe, "train": {**kept.recipe["train"], "select": "best"}}
    assert not diagnosis_of(kept.model_copy(update={"recipe": best}))
    noam = {**kept.recipe, "train": {**kept.recipe["train"], "schedule": "noam"}}
    flat = record(**BAD, recipe=noam, epochs=epochs([0.69] * 4, [0.69] * 4, [0.5] * 4))
    assert (diagnosis_of(flat).cause, diagnosis_of(flat).command) == ("loss never fell", "")


def test_several_seeds_have_the_cause_of_half_of_them_whichever_is_the_first() -> None:
    healthy, bad = record(0.99), CASES["a loss that stays"][0]
    for runs, words in (
        ([healthy, bad, bad], "2 of 3 runs: over 4 epochs"),
        ([bad, healthy], "1 of 2 runs: over 4 epochs"),
        ([bad, bad], "over 4 epochs"),
        ([bad, healthy, healthy], ""),
    ):
        found = diagnosis_of_seeds([(one, None) for one in runs])
        assert [one.evidence[: len(words)] for one in found.causes] == [words] * bool(words)
