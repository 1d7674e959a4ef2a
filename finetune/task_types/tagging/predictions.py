"""The table of tagged words: a decision for each word, and the entities of each row."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from finetune.metrics.entities import chunks, split_tag
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
from finetune.task_types.tagging.row import word_places
from finetune.task_types.tagging.segments import unit

NONE = "no entity"


def tags_predictions(lines: Sequence[Line]) -> Predictions:
    """The score of a row is the share of its words with the right tag; B and I are one class."""
    words, entities, score = list[DecisionRow](), list[DecisionRow](), list[float]()
    texts, spans = list[str](), list[list[list[tuple[int, int, str]]]]()
    for row, line in enumerate(lines):
        text, places = line.get("text") or " ".join(line["words"]), word_places(line["words"], line.get("starts") or ())
        sides, count = [line["gold"], line["prediction"]], len(places)
        found = [[(first, after, kind) for kind, first, after in chunks(tags)] for tags in sides]
        sure, chance = (line.get(name) or [None] * count for name in ("probabilities", "label_probabilities"))
        of = list(line["words"])
        for first, after, _ in (*found[1], *found[0]):  # a label's entity goes before a predicted one
            of[first:after] = [text[places[first][0] : places[after - 1][1]]] * (after - first)
        for at, (own, given) in enumerate(zip(*sides, strict=True)):
            words.append(DecisionRow(row, _type(own), _type(given), own == given, sure[at], chance[at], of[at]))
        for place, own, given in paired_spans(found[0], found[1], NONE):
            low = min((p for p in sure[slice(*place)] if p is not None), default=None)
            entities.append(DecisionRow(row, own, given, own == given, low, None, of[place[0]], *place))
        score.append(float(np.mean([a == b for a, b in zip(*sides, strict=True)])))
        texts.append(text)
        spans.append([[(places[a][0], places[b - 1][1], kind) for a, b, kind in side] for side in found])

    def says(line: Line, value: Sequence[str]) -> str:
        text, places = line.get("text") or " ".join(line["words"]), word_places(line["words"], line.get("starts") or ())
        found = (f"{text[places[a][0] : places[b - 1][1]]} ({kind})" for kind, a, b in chunks(value))
        return ", ".join(found) or NONE

    return Predictions(
        lines=lines, texts=[{"label": text, "prediction": text} for text in texts], score=np.array(score, float),
        right=np.array(score) == 1, decisions=Decisions.made(words), parts=Decisions.made(entities),
        marks=lambda row: marks_of_both(*spans[row]), says=says, nothing=(NONE,), filler=("O",), claimed="entities",
        unit=f"{unit(chain.from_iterable(line['words'] for line in lines))}s",
    )  # fmt: skip


def _type(tag: str) -> str:
    prefix, kind = split_tag(tag)
    return kind or (NONE if prefix == "O" else prefix)
