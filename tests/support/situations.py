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


@dataclass(frozen=True)
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


OTHERS: dict[str, Callable[[Line], Line]] = {  # by file: another label than that of a line
    "pets": lambda line: {"label": "a dog" if line["label"] == "a cat" else "a cat"},
    "grades": lambda line: {"grade": f"{5 - float(line['grade']):.2f}"},
}
LAST = {"train.select": "last", "train.epochs": 60, "train.batch_size": 8}
BROKEN = tuple(
    Situation(*row)
    for row in (
        (COLLAPSED, "rate of 0.1", {"pets.csv": pets(300)}, {"train.learning_rate": 0.1}),
        (COLLAPSED, "tags", {"tags.conll": tags(200)}, {"train.learning_rate": 0.2}),
        (FLAT, "rate of 1e-9", {"pets.csv": pets(300)}, {"train.learning_rate": 1e-9}),
        (FLAT, "numbers", {"grades.csv": grades(400)}, {"train.learning_rate": 1e-8}),
        (OVER, "wrong labels",
         {"train.csv": pets(80, wrong=0.5), "dev.csv": pets(100, seed=1)}, LAST | {"dev": "dev.csv"}),
        (OVER, "several labels", {"many.jsonl": several(120, wrong=0.5)}, LAST),
        (UNDER, "one epoch", {"pets.csv": pets(300)}, {"train.epochs": 1, "train.batch_size": 32}),
        (UNDER, "tags", {"tags.conll": tags(200)}, {"train.epochs": 2, "train.batch_size": 64}),
        (LANGUAGE, "Korean", {"reviews.csv": language("Korean", 300)}),
        (LANGUAGE, "Chinese", {"reviews.csv": language("Chinese", 400)}),
        (FEW, "six rows",
         {"three.csv": rare({"a cat": 200, "a dog": 200, "a puppy": 6}),
          "dev.csv": rare({"a cat": 60, "a dog": 60, "a puppy": 5}, seed=1)},
         {"dev": "dev.csv"}),
        (FEW, "tags",
         {"tags.conll": tags(300, rare_rows=6), "dev.conll": tags(80, seed=1, rare_rows=5)},
         {"dev": "dev.conll", "train.epochs": 20}),
        (CONTRADICT, "pets twice", {"pets.csv": contradicted(pets(300), 0.6, OTHERS["pets"])}),
        (CONTRADICT, "numbers", {"grades.csv": contradicted(grades(300), 0.5, OTHERS["grades"])}),
        (CUT, "pairs", {"pairs.csv": pairs(400, before=40)}, {"max_length": 24}),
        (CUT, "choices", {"choice.csv": choices(300, before=30)}, {"max_length": 20}),
        (SMALL_DEV, "eight rows",
         {"train.csv": pets(400, wrong=0.2), "dev.csv": pets(8, seed=1, wrong=0.4)}, {"dev": "dev.csv"}),
        (SMALL_DEV, "ten numbers",
         {"grades.csv": grades(300, noise=0.3), "dev.csv": grades(10, seed=1)},
         {"dev": "dev.csv", "train.epochs": 20}),
    )
)  # fmt: skip
SOUND = tuple(
    Situation(*row)
    for row in (
        (HEALTHY, "pets", {"pets.csv": pets(600)}),
        (HEALTHY, "pairs", {"pairs.csv": pairs(600)}, {"max_length": 32}),
        (HEALTHY, "numbers", {"grades.csv": grades(600, noise=0.2)}),
        (HEALTHY, "tags", {"tags.conll": tags(600)}),
        (HEALTHY, "spans", {"span.jsonl": spans(600)}, {"max_length": 32}),
        (HEALTHY, "choices", {"choice.csv": choices(600)}, {"max_length": 32}),
    )
)  # fmt: skip
