"""Documents in a report: their text, with the words that were to be predicted marked."""

import math
from itertools import accumulate
from textwrap import shorten
from typing import Any

import numpy as np

from finetune.data.documents import Document
from finetune.data.messages import so_many
from finetune.task_types.marked_text import AROUND, Segment, TextPart, clean, cut, unmarked, without_middle
from finetune.task_types.pretraining.chosen_words import chosen_words
from finetune.task_types.view import Line, View

WORDS_SHOWN, CHARS_SHOWN = 12, 200  # words and letters in a table
MARKED = 40  # words of a document that are marked, the first ones
LEAST_PROBABILITY = 0.0001  # of a probability that is shown as a number


class TextView(View):
    """The chosen words of each document; its score is their mean nats, of which less is better."""

    measure = "nats per word"
    sorted_by = "nats per word"
    decision = "words"
    bounded = False
    annotated = False
    legend = (
        "Marked words were to be predicted. The percentage is the probability of the word itself; after an arrow is "
        "the word that was predicted instead."
    )

    @staticmethod
    def shows(line: Line) -> bool:
        return isinstance(line["gold"], dict) and "words" in line["gold"] and "lines" in line

    def scores(self) -> np.ndarray:
        return np.array([_mean(line["prediction"]["nats"]) for line in self.lines])

    def certainty(self) -> np.ndarray:
        """The scores, so that what was predicted worst is listed first."""
        return self.scores()

    def lengths(self) -> np.ndarray:
        """Characters."""
        return np.array([sum(map(len, line["lines"])) for line in self.lines])

    def parts(self, line: Line) -> list[TextPart]:
        """The text as far as its first MARKED words."""
        text, words = clean("\n".join(line["lines"])), chosen_words(Document("", tuple(line["lines"])))
        labels, given = line["gold"]["words"], line["prediction"]
        if [word.text for word in words] != labels:  # of a version that chose other words
            return [unmarked("text", text)]
        starts = [0, *accumulate(len(one) + 1 for one in line["lines"])]
        segments, place = list[Segment](), 0
        for word, found, nats in list(zip(words, given["words"], given["nats"], strict=True))[:MARKED]:
            start, end = (starts[word.line] + at for at in (word.start, word.end))
            right = found == word.text
            label = _label(found, nats, right=right)
            segments.append(Segment(text=without_middle(text[place:start])))
            segments.append(Segment(text=text[start:end], mark="right" if right else "wrong", label=label))
            place = end
        segments.append(Segment(text=cut(text[place:], AROUND)))
        return [TextPart(name="text", segments=[one for one in segments if one.text])]

    def facts(self, line: Line) -> list[str]:
        """The nats of its words, how many were predicted, and of how many pairs whether they follow."""
        answer, gold = line["prediction"], line["gold"]
        right = sum(a == b for a, b in zip(gold["words"], answer["words"], strict=True))
        found = [f"{_mean(answer['nats']):.2f} nats per word"] * bool(gold["words"])
        found.append(f"{right:,} of {so_many(len(gold['words']), 'word')} right")
        if gold.get("next"):
            follow = sum(a == b for a, b in zip(gold["next"], answer["next"], strict=True))
            found.append(f"{follow} of {so_many(len(gold['next']), 'pair')} right")
        return found

    def verdict(self, line: Line) -> tuple[str, str]:
        """Nothing: the text has them."""
        return "", ""

    def says(self, value: Any) -> str:
        """The words of a label or a prediction."""
        return " ".join(value["words"][:WORDS_SHOWN]) + (" ..." if len(value["words"]) > WORDS_SHOWN else "")

    def fields(self, line: Line) -> dict[str, Any]:
        """The beginning of the text, since a document may be long."""
        return {"text": shorten(" ".join(line["lines"]), CHARS_SHOWN, placeholder=" ...")}

    def listed(self, line: Line, name: str) -> Any:
        return self.says(line[name])


def _mean(nats: list[float]) -> float:
    """0 of no words."""
    return sum(nats) / len(nats) if nats else 0.0


def _label(found: str, nats: float, *, right: bool) -> str:
    """The probability of a word, and what was predicted instead; of none the vocabulary lacks a part of the word."""
    if not found:
        return "not in the vocabulary"
    return _probability(nats) + ("" if right else f" → {clean(found)}")


def _probability(nats: float) -> str:
    """`12 %`, `0.31 %` or `<0.01 %`."""
    chance = math.exp(-nats)
    return (
        f"<{100 * LEAST_PROBABILITY:g} %"
        if chance < LEAST_PROBABILITY
        else f"{100 * chance:.2g} %"
        if chance < 0.995
        else "100 %"
    )
