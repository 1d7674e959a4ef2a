"""Runs that were broken on purpose, and healthy ones: the first cause named is the true one."""

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from support.encoders import WORDS
from support.languages import LANGUAGES

import finetune
from finetune.api.planning import plan
from finetune.api.run import Run
from finetune.runs.settings import flat
from finetune.training.targets import split_arguments

LENGTHS = {"train.epochs", "train.updates", "train.least_updates"}  # a longer run may be set by any of them
LEARNS = {"max_length": 64, "train.learning_rate": 1e-3, "train.epochs": 6, "train.batch_size": 16}
PLAIN = [word for word in WORDS if word not in ("cat", "dog", "bird", "yes", "no")]
Lines = list[dict[str, str]]


def words(chance: random.Random, least: int = 3, most: int = 10) -> str:
    """Some words that say nothing of a label."""
    return " ".join(chance.choices(PLAIN, k=chance.randint(least, most)))


def pets(count: int, *, seed: int = 0, wrong: float = 0.0) -> Lines:
    """Texts that begin with an animal, which is their label; of a share of them the label is drawn."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        animal = ("cat", "dog")[index % 2]
        label = chance.choice(("cat", "dog")) if chance.random() < wrong else animal
        lines.append({"text": f"{animal} {words(chance)}", "label": f"a {label}"})
    return lines


def rare(counts: Mapping[str, int], *, seed: int = 0) -> Lines:
    """So many texts of each label, of which no word tells the rare ones from the others."""
    chance, lines = random.Random(seed), []
    for place, (label, count) in enumerate(counts.items()):
        lines += [{"text": f"{('cat', 'dog')[place % 2]} {words(chance)}", "label": label} for _ in range(count)]
    chance.shuffle(lines)
    return lines


def pairs(count: int, *, before: int = 0) -> Lines:
    """Pairs that fit if the second begins with `yes`, after so many words that say nothing."""
    chance, lines = random.Random(0), []
    for index in range(count):
        cue, label = (("yes", "fits"), ("no", "differs"))[index % 2]
        hidden = " ".join(chance.choices(PLAIN, k=before))
        lines.append({"text1": words(chance), "text2": f"{hidden} {cue} {words(chance)}".strip(), "label": label})
    return lines


def korean(count: int) -> Lines:
    """Sentences whose ending decides the label."""
    chance, lines = random.Random(0), []
    beginnings, endings = (part.split("|") for part in LANGUAGES["Korean"])
    for index in range(count):
        text = f"{' '.join(chance.choice(beginnings) for _ in range(3))} {endings[index % 2]}"
        lines.append({"text": f"{text} {index}", "label": ("good", "bad")[index % 2]})
    return lines


def contradicted(lines: Lines, share: float) -> Lines:
    """The lines, and a share of them again with the other label."""
    chance, other = random.Random(0), {"a cat": "a dog", "a dog": "a cat"}
    mixed = [*lines, *(line | {"label": other[line["label"]]} for line in lines if chance.random() < share)]
    chance.shuffle(mixed)
    return mixed


DEV = {"dev": "dev.csv"}
BROKEN: dict[str, tuple[Lines, Lines, dict[str, Any]]] = {  # by cause: the data, dev or none, and settings
    "collapsed to one class": (pets(300), [], {"train.learning_rate": 0.5}),
    "loss never fell": (pets(300), [], {"train.learning_rate": 1e-9}),
    "over-fitted": (
        pets(80, wrong=0.5), pets(100, seed=1), {"train.select": "last", "train.epochs": 60, "train.batch_size": 8},
    ),
    "under-trained": (pets(300), [], {"train.epochs": 1, "train.batch_size": 32}),
    "encoder of another language": (korean(300), [], {}),
    "too few rows of a class": (
        rare({"a cat": 200, "a dog": 200, "a puppy": 6}), rare({"a cat": 60, "a dog": 60, "a puppy": 5}, seed=1), {},
    ),
    "labels that contradict each other": (contradicted(pets(300), 0.6), [], {}),
    "texts cut": (pairs(400, before=40), [], {"max_length": 24}),
    "dev too small to tell": (pets(400, wrong=0.2), pets(8, seed=1, wrong=0.4), {}),
}  # fmt: skip
SOUND = {"pets": (pets(600), [], {}), "pairs": (pairs(600), [], {"max_length": 32})}


def write(file: Path, lines: Lines) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def trained(every: Mapping[str, Sequence[Any]], folder: Path, model: Path) -> Iterator[tuple[str, Run]]:
    """The run of each situation, in a folder of its own in which commands find its data."""
    for number, (cause, (lines, dev, settings)) in enumerate(every.items()):
        home = folder / str(number)
        home.mkdir()
        write(home / "rows.csv", lines)
        if dev:
            write(home / "dev.csv", dev)
        with chdir(home):
            given = {**LEARNS, **(DEV if dev else {}), **settings}
            yield cause, finetune.run("rows.csv", model=model, progress=False, **given)


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
    wrong = []
    for cause, run in trained(BROKEN, tmp_path, tiny_bert):
        found = run.diagnosis
        if not found.cause.startswith(cause):
            wrong.append(f"{cause}: {found}")
        elif "model=" not in found.causes[0].words[-1]:  # an encoder on the Hub
            require_kept(run)
    assert not wrong, "\n".join(wrong)


@pytest.mark.nightly
def test_a_healthy_run_has_no_cause(tmp_path: Path, tiny_bert: Path) -> None:
    assert {name: str(run.diagnosis) for name, run in trained(SOUND, tmp_path, tiny_bert) if run.diagnosis} == {}
