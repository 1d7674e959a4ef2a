"""Intents and slots in a report: entities marked in the text, a confusion matrix of intents, one decision per row."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from finetune.metrics.scores import label_scores
from finetune.task_types.marked_text import TextPart
from finetune.task_types.tagging.intent.row import INTENT, SLOTS, intent_label
from finetune.task_types.tagging.view import TagsView
from finetune.task_types.view import Beliefs, Claim, ClassScore, Line, View


class IntentView(View):
    """An intent and a tag for each word, shown as a tagger's words with the intent; a row is right if all of it is."""

    measure = "share of rows with the right intent and slots"
    length_in = "words"

    @staticmethod
    def shows(line: Line) -> bool:
        both = (line["gold"], line["prediction"])
        return all(isinstance(each, Mapping) and each.keys() == {INTENT, SLOTS} for each in both) and TagsView.shows(
            _tagged(line)
        )

    @cached_property
    def tags(self) -> TagsView:
        """The view of the tags alone."""
        return TagsView(lines=[_tagged(line) for line in self.lines])

    def scores(self) -> np.ndarray:
        """1 where the intent and all tags are right."""
        return np.array([line["gold"] == line["prediction"] for line in self.lines], float)

    def lengths(self) -> np.ndarray:
        """Words."""
        return self.tags.lengths()

    def parts(self, line: Line) -> list[TextPart]:
        """The text twice: with the label's entities, and with the model's."""
        return self.tags.parts(_tagged(line))

    def facts(self, line: Line) -> list[str]:
        """The intents."""
        gold, answer = line["gold"][INTENT], line["prediction"][INTENT]
        return [f"{INTENT} {gold}" if gold == answer else f"{INTENT} {gold}, predicted {answer}"]

    def fields(self, line: Line) -> dict[str, Any]:
        """The text in place of its words."""
        return self.tags.fields(_tagged(line))

    def listed(self, line: Line, name: str) -> str:
        """The intent and the entities."""
        return f"{line[name][INTENT]}: {self.tags.listed(_tagged(line), name)}"

    def says(self, value: Any) -> str:
        """The intent, and the tags."""
        return f"{value[INTENT]}: {' '.join(value[SLOTS])}"

    def verdict(self, line: Line) -> tuple[str, str]:
        """Both intents where they differ, else label and prediction of the most confident wrong word."""
        gold, answer = line["gold"][INTENT], line["prediction"][INTENT]
        return self.tags.verdict(_tagged(line)) if gold == answer else (gold, answer)

    def confidence(self, line: Line) -> float | None:
        """The lowest of the intent and of its tags."""
        return min(line.get("probabilities") or (), default=None)

    def decisions(self) -> tuple[np.ndarray, np.ndarray] | None:
        if not self.lines or not self.lines[0].get("probabilities"):
            return None
        return np.array([self.confidence(line) for line in self.lines], float), self.scores() == 1

    def claims(self, line: Line) -> list[Claim]:
        """The row as a whole, under its intent."""
        sure, answer = self.confidence(line), line["prediction"]
        if sure is None:
            return []
        return [Claim(label=intent_label(answer[INTENT]), confidence=sure, right=line["gold"] == answer)]

    def beliefs(self) -> Beliefs | None:
        """Of the intent of each row (place 0), and of the tag of each word (from place 1)."""
        tags = self.tags.beliefs()
        if tags is None or tags.places is None:
            return None
        intents = np.array([line["label_probabilities"][0] for line in self.lines], float)
        return Beliefs(
            chances=np.concatenate([intents, tags.chances]),
            rows=np.concatenate([np.arange(len(self.lines)), tags.rows]),
            classes=[*(intent_label(line["gold"][INTENT]) for line in self.lines), *tags.classes],
            places=np.concatenate([np.zeros(len(self.lines), int), tags.places + 1]),
        )

    def doubt(self, line: Line, place: int) -> dict[str, str]:
        """The intent, or the entity that the word is in."""
        if place:
            return self.tags.doubt(_tagged(line), place - 1)
        return {"doubted": intent_label(line["gold"][INTENT]), "predicted_there": line["prediction"][INTENT]}

    def classes(self) -> list[ClassScore]:
        """The scores of each intent, then of each entity type."""
        gold, answers = ([line[name][INTENT] for line in self.lines] for name in ("gold", "prediction"))
        there, given = Counter(gold), Counter(answers)
        right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
        intents = [
            ClassScore(
                name=intent_label(name), precision=p, recall=r, f1=f, gold=there[name], answered=given[name],
                right=right[name],
            )
            for name, (p, r, f) in label_scores(gold, answers, sorted({*there, *given})).items()
        ]  # fmt: skip
        return [*intents, *self.tags.classes()]

    def row_pairs(self, line: Line) -> list[tuple[str, str]]:
        """The intents, by the names that they have among classes."""
        return [(intent_label(line["gold"][INTENT]), intent_label(line["prediction"][INTENT]))]


def _tagged(line: Line) -> Line:
    """A line as a tagger predicts it; parts that are missing stay so."""
    tagged = dict(line)
    for name, value in line.items():
        if isinstance(value, Mapping) and SLOTS in value:
            tagged[name] = value[SLOTS]
        elif name in ("probabilities", "label_probabilities") and value:
            tagged[name] = value[1:]
    return tagged
