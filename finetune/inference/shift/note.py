"""A note of `predict` on rows that do not look like dev, from what it computes anyway; hidden states are left out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.answer_rows import Predicts
from finetune.inference.predictor import Predictor
from finetune.inference.shift.alike import shift_tests
from finetune.inference.shift.measures import Measures, answer_measures, text_measures
from finetune.inference.shift.reference import PREDICTIONS, Reference, load_reference, own_unit
from finetune.models.feature import Feature
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

MOST_NOTED, LEAST_NOTED = 200, 50  # rows that are looked at, and below which there is no note
LEVEL_OF_NOTE = 0.01  # share of files with a note where nothing has changed
PERMUTATIONS_OF_NOTE = 499


@dataclass(frozen=True, kw_only=True)
class WatchedPredictor:
    """A predictor that measures each `step`-th row which it predicts, until there are MOST_NOTED.

    Of rows that share a context or a document it measures one, as the reference does.
    """

    predictor: Predictor
    reference: Reference
    step: int
    seen: list[Measures] = field(default_factory=list)
    units: set[str] = field(default_factory=set)

    @property
    def task(self) -> Task:
        """That of the predictor."""
        return self.predictor.task

    @property
    def layout(self) -> Layout | None:
        """That of the predictor."""
        return self.predictor.layout

    @property
    def overlaps(self) -> bool:
        """As the predictor."""
        return self.predictor.overlaps

    def cells(self, kind: DataType, layout: Layout, answer: Answer, row: Row) -> dict[str, Any]:
        """As the predictor."""
        return self.predictor.cells(kind, layout, answer, row)

    def encoded(self, rows: Sequence[Row]) -> Sequence[Feature]:
        """As the predictor."""
        return self.predictor.encoded(rows)

    def answers_and_truncated(
        self, rows: Sequence[Row], features: Sequence[Feature] | None = None
    ) -> tuple[list[Answer], list[bool]]:
        """As the predictor; raises as it does."""
        features = self.encoded(rows) if features is None and rows else features or ()
        found = self.predictor.answers_and_truncated(rows, features)
        places = self._apart(rows, range(0, len(rows), self.step))
        chosen = places[: MOST_NOTED - sum(len(some["length"]) for some in self.seen)]
        if len(chosen):
            self.seen.append(self._measured(chosen, rows, features, found[0]))
        return found

    def _apart(self, rows: Sequence[Row], places: Sequence[int]) -> list[int]:
        """The places without rows of a unit that was seen."""
        unit = own_unit(self.task)
        if unit is None:
            return list(places)
        first = {unit(rows[place]): place for place in reversed(places)}
        found = sorted(place for key, place in first.items() if key not in self.units)
        self.units.update(first)
        return found

    def _measured(
        self, chosen: Sequence[int], rows: Sequence[Row], features: Sequence[Feature], answers: Sequence[Answer]
    ) -> Measures:
        place = {row: index for index, row in enumerate(chosen)}
        own = [_of_row(feature, place[feature.row]) for feature in features if feature.row in place]
        unknown = self.predictor.tokenizer.unk_token_id
        measures = text_measures(self.task, [rows[index] for index in chosen], own, unknown)
        if self.predictor.temperature == 1:
            given = [answers[index] for index in chosen]
            measures[PREDICTIONS] = answer_measures(self.task, given, self.reference.labels)
        return measures


def _of_row(feature: Feature, row: int) -> Feature:
    return replace(feature, row=row, choices=[replace(choice, row=row) for choice in feature.choices])


def measuring(predictor: Predictor, total: int) -> Predicts:
    """The predictor, which measures rows if its model has a reference and the file has enough of them."""
    if predictor.folder is None or total < LEAST_NOTED:
        return predictor
    try:
        reference = load_reference(predictor.folder)
    except UserError:  # a damaged one is told by `check`; predictions do not need it
        reference = None
    if reference is None:
        return predictor
    return WatchedPredictor(predictor=predictor, reference=reference, step=max(1, total // MOST_NOTED))


def shift_notes(predictor: Predicts, file: Path) -> list[str]:
    """A note where the rows that were predicted do not look like dev."""
    if not isinstance(predictor, WatchedPredictor) or sum(len(some["length"]) for some in predictor.seen) < LEAST_NOTED:
        return []
    names = set.intersection(*(set(some) for some in predictor.seen))
    new = {name: np.concatenate([some[name] for some in predictor.seen]) for name in names}
    old = {name: values[:MOST_NOTED] for name, values in predictor.reference.dev.items()}
    changed = [
        one.name for one in shift_tests(old, new, permutations=PERMUTATIONS_OF_NOTE) if one.corrected <= LEVEL_OF_NOTE
    ]
    if not changed:
        return []
    run = predictor.predictor.folder
    return [
        f"{file}: does not look like the rows that the model was scored on ({', '.join(changed)}):"
        f" finetune check {run.parent if run and run.name == 'model' else run} {file}"
    ]
