"""Tagged words in a report: entities marked in the text, a confusion matrix of types, one decision per word."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from finetune.metrics.entities import chunks, entity_scores, split_tag
from finetune.task_types.marked_text import TextPart, entities
from finetune.task_types.tagging.row import word_places
from finetune.task_types.tagging.segments import unit
from finetune.task_types.view import Beliefs, Claim, ClassScore, Line, View

NONE = "no entity"
NOT_SHOWN = ("words", "text", "starts", "label_probabilities")  # with the text, in a table


@dataclass(frozen=True, kw_only=True)
class TagsView(View):
    """A tag for each word; of a running text in which most words are single characters, for each character."""

    claimed = "entities"

    def __post_init__(self) -> None:
        units = f"{unit(chain.from_iterable(line['words'] for line in self.lines))}s"
        facts = {"measure": f"share of {units} with the right tag", "length_in": units, "decision": units}
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def shows(line: Line) -> bool:
        words, gold, answer = (line.get(name) for name in ("words", "gold", "prediction"))
        return isinstance(words, list) and isinstance(gold, list) and len(words) == len(gold) == len(answer or ())

    def scores(self) -> np.ndarray:
        """The share of right tags of each row."""
        return np.array([np.mean(_right(line)) for line in self.lines])

    def lengths(self) -> np.ndarray:
        """Words."""
        return np.array([len(line["words"]) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The text twice: with the label's entities, and with the model's."""
        gold, answer = chunks(line["gold"]), chunks(line["prediction"])
        text, words, around = _text(line), _places(line), self._surest_mistake(line)
        return [
            entities("label", text, words, gold, answer, otherwise="missed", around=around),
            entities("prediction", text, words, answer, gold, otherwise="wrong", around=around),
        ]

    def fields(self, line: Line) -> dict[str, Any]:
        """The text in place of its words."""
        others = super().fields(line)
        kept = {name: value for name, value in others.items() if name not in NOT_SHOWN}
        return {"id": line["id"], "text": _text(line)} | kept

    def listed(self, line: Line, name: str) -> str:
        """The entities."""
        text, words = _text(line), _places(line)
        found = (f"{text[words[a][0] : words[b - 1][1]]} ({kind})" for kind, a, b in chunks(line[name]))
        return ", ".join(found) or NONE

    def confidence(self, line: Line) -> Any:
        """The lowest of its tags."""
        return min(line.get("probabilities") or (), default=None)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        if not self.lines or not self.lines[0].get("probabilities"):
            return None
        confidence = np.concatenate([line["probabilities"] for line in self.lines])
        return confidence, np.concatenate([_right(line) for line in self.lines])

    def claims(self, line: Line) -> list[Claim]:
        """The predicted entities, each with the lowest confidence of its words."""
        chances, there = line.get("probabilities") or (), set(chunks(line["gold"] or ()))
        return [
            Claim(label=kind, confidence=min(chances[a:b]), right=(kind, a, b) in there, place=(a, b))
            for kind, a, b in chunks(line["prediction"])
            if len(chances)
        ]

    def without(self, line: Line, unsure: Sequence[Claim]) -> list[str]:
        """The tags, O in place of these entities."""
        tags = list(line["prediction"])
        for begin, after in (claim.place for claim in unsure):
            tags[begin:after] = ["O"] * (after - begin)
        return tags

    def certainty(self) -> np.ndarray:
        """The confidence of the most confident wrong word."""
        return np.array([_surest(line)[0] for line in self.lines])

    def beliefs(self) -> Beliefs | None:
        """Of each word's tag that has one, of which B and I are one class; None for predictions from before they were
        saved.
        """
        if not self.lines or not all(line.get("label_probabilities") for line in self.lines if line["gold"]):
            return None
        chances = np.concatenate([line["label_probabilities"] or () for line in self.lines])
        rows = np.arange(len(self.lines)).repeat([len(line["gold"]) for line in self.lines])
        tags = [tag for line in self.lines for tag in line["gold"]]
        places = np.concatenate([np.arange(len(line["gold"])) for line in self.lines])
        known = np.flatnonzero(np.isfinite(chances))
        return Beliefs(
            chances=chances[known], rows=rows[known], classes=[_type(tags[at]) for at in known], places=places[known]
        )

    def doubt(self, line: Line, place: int) -> dict[str, str]:
        """The entity that the word is in, by its label or else by the prediction, with the type that each gives it."""
        found = (_entity_at(line[side], place) for side in ("gold", "prediction"))
        (kind, first, after), (predicted, begin, end) = found
        first, after = (begin, end) if not kind else (first, after)
        text, words = _text(line), _places(line)
        shown = text[words[first][0] : words[after - 1][1]]
        return {"doubted": f"{shown} ({kind or NONE})", "predicted_there": predicted or NONE}

    def classes(self) -> list[ClassScore]:
        """The scores of each entity type."""
        gold, found = ([chunks(line[name]) for line in self.lines] for name in ("gold", "prediction"))
        there, given, right = Counter[str](), Counter[str](), Counter[str]()
        for a, b in zip(gold, found, strict=True):
            for counter, some in ((there, a), (given, b), (right, list(set(a) & set(b)))):
                counter.update(kind for kind, _, _ in some)
        return [
            ClassScore(
                name=name, precision=p, recall=r, f1=f, gold=there[name], answered=given[name], right=right[name]
            )
            for name, (p, r, f) in entity_scores(gold, found).items()
            if name
        ]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """(label, prediction) of each word: the entity type, without B or I."""
        return [(_type(a), _type(b)) for a, b in zip(line["gold"], line["prediction"], strict=True)]

    def verdict(self, line: Line) -> tuple[str, str]:
        """Label and prediction of the most confident wrong word; empty where none is wrong."""
        sure, place = _surest(line)
        if sure == -np.inf:
            return "", ""
        return f"{line['words'][place]} {line['gold'][place]}", f"{line['words'][place]} {line['prediction'][place]}"

    def agreeing(self, line: Line) -> list[str]:
        """The baselines that give the most confident wrong word the same tag."""
        place = self._surest_mistake(line)
        names = [key for key in line if key.startswith("baseline:")]
        return [name.removeprefix("baseline:") for name in names if line[name][place] == line["prediction"][place]]

    def _surest_mistake(self, line: Line) -> int:
        return _surest(line)[1]


def _places(line: Line) -> list[tuple[int, int]]:
    return word_places(line["words"], line.get("starts") or ())


def _text(line: Line) -> str:
    return line.get("text") or " ".join(line["words"])


def _right(line: Line) -> np.ndarray:
    return np.array([a == b for a, b in zip(line["gold"], line["prediction"], strict=True)])


def _surest(line: Line) -> tuple[float, int]:
    """(confidence, index) of the most confident wrong word; minus infinity where none is wrong."""
    confidence = np.asarray(line.get("probabilities") or [0.0] * len(line["gold"]), float)
    wrong = np.where(_right(line), -np.inf, confidence)
    return float(wrong.max()), int(wrong.argmax())


def _entity_at(tags: Sequence[str], place: int) -> tuple[str, int, int]:
    """(type, first word, word after the last) of the entity that a word is in; the word itself where it is in none."""
    found = (chunk for chunk in chunks(tags) if chunk[1] <= place < chunk[2])
    return next(found, ("", place, place + 1))


def _type(tag: str) -> str:
    prefix, kind = split_tag(tag)
    return kind or prefix
