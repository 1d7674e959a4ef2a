"""Runs that were broken on purpose, each in one way, and healthy ones: what a diagnosis must tell apart.

The encoder is the tiny BERT of these tests, whose vocabulary has the words of `support.encoders` and letters.
"""

import csv
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.encoders import WORDS
from support.languages import LANGUAGES

COLLAPSED, FLAT, OVER, UNDER = "collapsed to one class", "loss never fell", "over-fitted", "under-trained"
LANGUAGE, FEW, CONTRADICT = (
    "encoder of another language",
    "too few rows of a class",
    "labels that contradict each other",
)
CUT, SMALL_DEV, HEALTHY = "texts cut", "dev too small to tell", ""
LEARNS = {"max_length": 64, "train.learning_rate": 1e-3, "train.epochs": 6, "train.batch_size": 16}
PLAIN = [word for word in WORDS if word not in ("cat", "dog", "bird", "yes", "no")]
Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A run: what is wrong with it, the lines of its files by their names, the first its data, and its settings."""

    cause: str
    name: str
    files: Mapping[str, Sequence[Line] | str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Writes the files; the path of the data."""
        for name, lines in self.files.items():
            _write(folder / name, lines)
        return folder / next(iter(self.files))


def _write(path: Path, lines: Sequence[Line] | str) -> None:
    if isinstance(lines, str):
        path.write_text(lines, encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    else:
        path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")


def words(chance: random.Random, least: int = 3, most: int = 10) -> str:
    """Some words that say nothing of a label."""
    return " ".join(chance.choices(PLAIN, k=chance.randint(least, most)))


def pets(count: int, *, seed: int = 0, wrong: float = 0.0, classes: Sequence[str] = ("cat", "dog")) -> list[Line]:
    """Texts that begin with an animal, which is their label; of a share of them the label is drawn."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        animal = classes[index % len(classes)]
        label = chance.choice(classes) if chance.random() < wrong else animal
        lines.append({"text": f"{animal} {words(chance)}", "label": f"a {label}"})
    return lines


def rare(counts: Mapping[str, int], *, seed: int = 0) -> list[Line]:
    """So many texts of each label, of which no word tells the rare ones from the others."""
    chance, lines = random.Random(seed), []
    for place, (label, count) in enumerate(counts.items()):
        animal = ("cat", "dog", "cat", "dog")[place]
        lines += [{"text": f"{animal} {words(chance)}", "label": label} for _ in range(count)]
    chance.shuffle(lines)
    return lines


def pairs(count: int, *, seed: int = 0, wrong: float = 0.0, before: int = 0) -> list[Line]:
    """Pairs that fit if the second begins with `yes`, after so many words that say nothing."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        cue, label = (("yes", "fits"), ("no", "differs"))[index % 2]
        label = chance.choice(("fits", "differs")) if chance.random() < wrong else label
        hidden = " ".join(chance.choices(PLAIN, k=before))
        lines.append({"text1": words(chance), "text2": f"{hidden} {cue} {words(chance)}".strip(), "label": label})
    return lines


def grades(count: int, *, seed: int = 0, noise: float = 0.0) -> list[Line]:
    """Texts whose grade is the number of five that say `red`."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        reds = index % 6
        grade = reds + chance.gauss(0, noise) if noise else reds
        text = " ".join(
            ["red"] * reds
            + ["blue"] * (5 - reds)
            + chance.choices(["sun", "moon", "road", "tree", "river", "house"], k=4)
        )
        lines.append({"text": text, "grade": f"{grade:.2f}"})
    return lines


def several(count: int, *, seed: int = 0, wrong: float = 0.0) -> list[Line]:
    """Texts with none, one or both of two labels, which their words name."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        labels = [name for place, name in enumerate(("cat", "bird")) if index >> place & 1]
        text = " ".join(chance.sample([*labels, *chance.choices(PLAIN, k=6)], k=6 + len(labels)))
        kept = [
            name for name in ("cat", "bird") if (chance.random() < 0.5 if chance.random() < wrong else name in labels)
        ]
        lines.append({"text": text, "labels": kept})
    return lines


def tags(count: int, *, seed: int = 0, wrong: float = 0.0, rare_rows: int = 0) -> str:
    """Words with tags in columns: animals are pets; in so many rows the word `one` is a number."""
    chance, parts = random.Random(seed), []
    for index in range(count):
        lines = []
        for word in [*words(chance, 2, 5).split(), ("cat", "dog")[index % 2], *words(chance, 2, 5).split()]:
            pet = word in ("cat", "dog") and chance.random() >= wrong
            lines.append(f"{word} {'B-PET' if pet else 'O'}")
        if index < rare_rows:
            lines.append(f"{chance.choice(PLAIN)} B-PLACE")
        parts.append("\n".join(lines))
    chance.shuffle(parts)
    return "\n\n".join(parts) + "\n"


def choices(count: int, *, seed: int = 0, before: int = 0) -> list[Line]:
    """Two endings, of which the right one says `yes`, after so many words that say nothing."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        ends = [f"{' '.join(chance.choices(PLAIN, k=before))} {cue} {words(chance, 2, 4)}" for cue in ("yes", "no")]
        right = index % 2
        first, second = ends if not right else ends[::-1]
        lines.append({"context": words(chance, 2, 5), "choice1": first, "choice2": second, "label": str(right + 1)})
    return lines


def spans(count: int, *, seed: int = 0) -> list[Line]:
    """Questions whose answer is the animal of the context."""
    chance, lines = random.Random(seed), []
    for index in range(count):
        animal = ("cat", "dog", "bird")[index % 3]
        context = f"{words(chance, 2, 5)} {animal} {words(chance, 2, 5)}"
        lines.append({"question": "who was it", "context": context, "answer": animal})
    return lines


def language(name: str, count: int, *, seed: int = 0) -> list[Line]:
    """Sentences of a language, whose ending decides the label."""
    chance, lines = random.Random(seed), []
    beginnings, endings = (part.split("|") for part in LANGUAGES[name])
    for index in range(count):
        place = index % 2
        text = f"{chance.choice(beginnings)} {chance.choice(beginnings)} {chance.choice(beginnings)} {endings[place]}"
        lines.append({"text": f"{text} {index}", "label": ("good", "bad")[place]})
    return lines


def contradicted(lines: Sequence[Line], share: float, others: Callable[[Line], Line], *, seed: int = 0) -> list[Line]:
    """The lines, and a share of them again with another label."""
    chance = random.Random(seed)
    again = [dict(line) | dict(others(line)) for line in lines if chance.random() < share]
    mixed = [*lines, *again]
    chance.shuffle(mixed)
    return mixed


def other_pet(line: Line) -> Line:
    return {"label": "a dog" if line["label"] == "a cat" else "a cat"}


def other_fit(line: Line) -> Line:
    return {"label": "differs" if line["label"] == "fits" else "fits"}


def far_grade(line: Line) -> Line:
    return {"grade": f"{5 - float(line['grade']):.2f}"}


THREE = ("cat", "dog", "bird")
LAST = {"train.select": "last", "train.epochs": 60, "train.batch_size": 8}
BROKEN = (
    Situation(
        cause=COLLAPSED, name="rate of 0.1", files={"pets.csv": pets(300)}, settings={"train.learning_rate": 0.1},
    ),
    Situation(
        cause=COLLAPSED, name="rate of 0.5, three labels",
        files={"three.csv": pets(600, classes=THREE)}, settings={"train.learning_rate": 0.5},
    ),
    Situation(cause=COLLAPSED, name="tags", files={"tags.conll": tags(200)}, settings={"train.learning_rate": 0.2}),
    Situation(
        cause=COLLAPSED, name="several labels", files={"many.jsonl": several(400)},
        settings={"train.learning_rate": 0.3},
    ),
    Situation(cause=FLAT, name="rate of 1e-9", files={"pets.csv": pets(300)}, settings={"train.learning_rate": 1e-9}),
    Situation(
        cause=FLAT, name="numbers", files={"grades.csv": grades(400)}, settings={"train.learning_rate": 1e-8},
    ),
    Situation(
        cause=FLAT, name="choices", files={"choice.csv": choices(300)},
        settings={"train.learning_rate": 1e-7, "max_length": 32},
    ),
    Situation(
        cause=OVER, name="wrong labels", files={"train.csv": pets(80, wrong=0.5), "dev.csv": pets(100, seed=1)},
        settings=LAST | {"dev": "dev.csv"},
    ),
    Situation(
        cause=OVER, name="few pairs",
        files={"pairs.csv": pairs(100, wrong=0.5), "dev.csv": pairs(100, seed=1, wrong=0.2)},
        settings=LAST | {"dev": "dev.csv", "max_length": 32},
    ),
    Situation(
        cause=OVER, name="several labels", files={"many.jsonl": several(120, wrong=0.5)}, settings=LAST,
    ),
    Situation(
        cause=OVER, name="three labels",
        files={
            "three.csv": pets(120, wrong=0.6, classes=THREE),
            "dev.csv": pets(120, seed=1, wrong=0.2, classes=THREE),
        },
        settings=LAST | {"dev": "dev.csv"},
    ),
    Situation(
        cause=UNDER, name="one epoch", files={"pets.csv": pets(300)},
        settings={"train.epochs": 1, "train.batch_size": 32},
    ),
    Situation(
        cause=UNDER, name="ten updates", files={"pairs.csv": pairs(400)},
        settings={"train.updates": 10, "max_length": 32},
    ),
    Situation(
        cause=UNDER, name="a low rate", files={"pets.csv": pets(600, wrong=0.05)},
        settings={"train.learning_rate": 1e-4, "train.epochs": 3},
    ),
    Situation(
        cause=UNDER, name="tags", files={"tags.conll": tags(200)}, settings={"train.epochs": 2, "train.batch_size": 64},
    ),
    Situation(cause=LANGUAGE, name="Korean", files={"reviews.csv": language("Korean", 300)}),
    Situation(cause=LANGUAGE, name="Russian", files={"reviews.csv": language("Russian", 200)}),
    Situation(cause=LANGUAGE, name="Chinese", files={"reviews.csv": language("Chinese", 400)}),
    Situation(
        cause=FEW, name="six rows",
        files={
            "three.csv": rare({"a cat": 200, "a dog": 200, "a puppy": 6}),
            "dev.csv": rare({"a cat": 60, "a dog": 60, "a puppy": 5}, seed=1),
        },
        settings={"dev": "dev.csv"},
    ),
    Situation(
        cause=FEW, name="eight of 308", files={"two.csv": rare({"fine": 300, "broken": 8})},
    ),
    Situation(
        cause=FEW, name="tags",
        files={"tags.conll": tags(300, rare_rows=6), "dev.conll": tags(80, seed=1, rare_rows=5)},
        settings={"dev": "dev.conll", "train.epochs": 20},
    ),
    Situation(
        cause=CONTRADICT, name="pets twice", files={"pets.csv": contradicted(pets(300), 0.6, other_pet)},
    ),
    Situation(
        cause=CONTRADICT, name="pairs twice", files={"pairs.csv": contradicted(pairs(400), 0.5, other_fit)},
        settings={"max_length": 32},
    ),
    Situation(
        cause=CONTRADICT, name="numbers", files={"grades.csv": contradicted(grades(300), 0.5, far_grade)},
    ),
    Situation(
        cause=CUT, name="pairs", files={"pairs.csv": pairs(400, before=40)}, settings={"max_length": 24},
    ),
    Situation(
        cause=CUT, name="choices", files={"choice.csv": choices(300, before=30)}, settings={"max_length": 20},
    ),
    Situation(
        cause=CUT, name="pairs, cut at 16", files={"pairs.csv": pairs(300, before=20, wrong=0.1)},
        settings={"max_length": 16},
    ),
    Situation(
        cause=SMALL_DEV, name="eight rows",
        files={"train.csv": pets(400, wrong=0.2), "dev.csv": pets(8, seed=1, wrong=0.4)},
        settings={"dev": "dev.csv"},
    ),
    Situation(
        cause=SMALL_DEV, name="six sentences", files={"tags.conll": tags(200), "dev.conll": tags(6, seed=1)},
        settings={"dev": "dev.conll", "train.epochs": 20},
    ),
    Situation(
        cause=SMALL_DEV, name="ten numbers",
        files={"grades.csv": grades(300, noise=0.3), "dev.csv": grades(10, seed=1)},
        settings={"dev": "dev.csv", "train.epochs": 20},
    ),
)  # fmt: skip
SOUND = (
    Situation(cause=HEALTHY, name="pets", files={"pets.csv": pets(600)}),
    Situation(cause=HEALTHY, name="some wrong labels", files={"pets.csv": pets(800, wrong=0.1)}),
    Situation(cause=HEALTHY, name="pairs", files={"pairs.csv": pairs(600)}, settings={"max_length": 32}),
    Situation(cause=HEALTHY, name="numbers", files={"grades.csv": grades(600, noise=0.2)}),
    Situation(cause=HEALTHY, name="several labels", files={"many.jsonl": several(600)}),
    Situation(cause=HEALTHY, name="tags", files={"tags.conll": tags(600)}),
    Situation(cause=HEALTHY, name="spans", files={"span.jsonl": spans(600)}, settings={"max_length": 32}),
    Situation(cause=HEALTHY, name="choices", files={"choice.csv": choices(600)}, settings={"max_length": 32}),
    Situation(
        cause=HEALTHY, name="three labels, unequal",
        files={"three.csv": [*pets(500), *pets(100, seed=4, classes=("bird",))]},
    ),
    Situation(
        cause=HEALTHY, name="last epoch of twelve", files={"pets.csv": pets(700, wrong=0.05)},
        settings={"train.select": "last", "train.epochs": 12},
    ),
)  # fmt: skip
