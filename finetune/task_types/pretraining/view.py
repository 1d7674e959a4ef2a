"""Documents in a report: their text, with the words that were to be predicted marked."""

import math
from itertools import accumulate, islice
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
        if [word.text for word in words] != line["gold"]["words"]:  # of a version that chose other words
            return [unmarked("text", text)]
        starts = [0, *accumulate(len(part) + 1 for part in line["lines"])]
        segments, place = list[Segment](), 0
        predicted = zip(words, line["prediction"]["words"], line["prediction"]["nats"], strict=True)
        for word, answer, nats in islice(predicted, MARKED):
            start, end = (starts[word.line] + at for at in (word.start, word.end))
            mark, label = "right", _probability(nats)
            if answer != word.text:
                mark, label = "wrong", f"{label} → {clean(answer)}" if answer else "not in the vocabulary"
            segments.append(Segment(text=without_middle(text[place:start])))
            segments.append(Segment(text=text[start:end], mark=mark, label=label))
            place = end
        segments.append(Segment(text=cut(text[place:], AROUND)))
        return [TextPart(name="text", segments=[segment for segment in segments if segment.text])]

    def facts(self, line: Line) -> list[str]:
        """The nats of its words, how many were predicted, and of how many pairs whether they follow."""
        answer, gold = line["prediction"], line["gold"]
        facts = [f"{_mean(answer['nats']):.2f} nats per word"] * bool(gold["words"])
        for name, unit in (("words", "word"), ("next", "pair")):
            if name == "words" or gold.get(name):
                right = sum(a == b for a, b in zip(gold[name], answer[name], strict=True))
                facts.append(f"{right:,} of {so_many(len(gold[name]), unit)} right")
        return facts

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


def _probability(nats: float) -> str:
    """`12 %`, `0.31 %` or `<0.01 %`."""
    chance = math.exp(-nats)
    if chance < LEAST_PROBABILITY:
        return f"<{100 * LEAST_PROBABILITY:g} %"
    return f"{100 * chance:.2g} %" if chance < 0.995 else "100 %"
