"""Runs that were broken on purpose, two of each cause, and healthy ones: the first cause named is the true one."""

from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from support.situations import BROKEN, LEARNS, SOUND, Situation

import finetune
from finetune.api.planning import plan
from finetune.api.run import Run
from finetune.runs.settings import flat
from finetune.training.targets import split_arguments

LENGTHS = {"train.epochs", "train.updates", "train.least_updates"}  # a longer run may be set by any of them


def trained(every: Sequence[Situation], folder: Path, model: Path) -> Iterator[tuple[Situation, Run]]:
    """The run of each situation, in a folder of its own in which commands find its data."""
    for number, one in enumerate(every):
        home = folder / str(number)
        home.mkdir()
        data = one.write(home)
        settings = {**LEARNS, **one.settings}
        given = {
            key: value for key, value in settings.items() if key != "train.epochs" or "train.updates" not in settings
        }
        with chdir(home):
            yield one, finetune.run(data.name, model=model, progress=False, **given)


def planned(words: list[str]) -> dict[str, Any]:
    """The settings of the run that a command would train."""
    names, settings = split_arguments(words)
    return flat(plan(names, settings)[0].recipe.model_dump())


def require_kept(found: Run) -> None:
    """The command of the first cause can be planned, and keeps each setting that it does not change; a preset sets how
    it is trained.
    """
    name, *words = found.diagnosis.causes[0].words
    if name != "run":
        return
    settings = [word for word in words if word not in ("--seeds", "5")]
    typed = found.record.observed.typed[1:]  # type: ignore[union-attr]
    changed = {word.partition("=")[0] for word in settings[1:] if word not in typed}
    new, old = planned(settings), flat(found.record.recipe)
    kept = {word.partition("=")[0] for word in typed} & {*new} - changed - LENGTHS - {"model"}  # a path in another form
    if "preset=few-labels" in settings:
        kept = {key for key in kept if not key.startswith("train.")}
    assert {word for word in typed if word.startswith("model=")} <= {*settings}
    assert {key: new[key] for key in kept} == {key: old[key] for key in kept}


@pytest.mark.nightly
def test_the_first_cause_is_the_true_one(tmp_path: Path, tiny_bert: Path) -> None:
    assert len(BROKEN) == 18
    wrong = []
    for one, run in trained(BROKEN, tmp_path, tiny_bert):
        found = run.diagnosis
        if not found.cause.startswith(one.cause):
            wrong.append(f"{one.cause} ({one.name}): {found}")
        elif "model=" not in found.causes[0].words[-1]:  # an encoder on the Hub
            require_kept(run)
    assert len(wrong) <= 1, "\n".join(wrong)


@pytest.mark.nightly
def test_a_healthy_run_has_no_cause(tmp_path: Path, tiny_bert: Path) -> None:
    assert len(SOUND) == 6
    named = {one.name: str(run.diagnosis) for one, run in trained(SOUND, tmp_path, tiny_bert) if run.diagnosis}
    assert not named
