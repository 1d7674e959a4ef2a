"""A context and several choices, one of them right: user data of the type `choice`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from finetune.data.characters import same_text
from finetune.data.issues import Finding, Issue
from finetune.data.messages import short, shown
from finetune.data.table import Table, cell_at
from finetune.data.values import as_text, is_missing
from finetune.task_types.choice.guess import (
    answer_column,
    choice_layout,
    columns_of_choices,
    contexts_in,
    names_of_choices,
    require_same_count,
    way_of,
    with_way,
)
from finetune.task_types.choice.task import ChoiceRow, ChoiceTask
from finetune.task_types.choice_labels import choices_meant, choices_of
from finetune.task_types.column_names import numbered_order
from finetune.task_types.columns import MISSING_TEXT, Layout, NoRow, unusable
from finetune.task_types.findings import SplitRows, of_single_labels
from finetune.task_types.marked_text import TextMark
from finetune.task_types.own_type import Evidence, OwnType, with_chosen
from finetune.task_types.predictions import Line, Predictions, one_label
from finetune.task_types.task import Task

CHOICE_COUNT = Issue(
    code="choice-count",
    severity="note",
    meaning="rows with another number of choices than most have",
    remedy="Nothing to do if that is intended",
)
DOUBLE_CHOICE = Issue(
    code="double-choice",
    severity="warning",
    meaning="rows with a duplicate choice",
    remedy="Make the choices differ",
)
LABEL_RANGE = unusable(
    "label-range",
    "the label is none of the choices",
    "Labels are the number, the letter or the text of a choice",
)
FEW_CHOICES = unusable("few-choices", "fewer than two choices, or an empty one", "Give each row at least two choices")
SAME_CHOICES = unusable("same-choices", "all choices are the same", "Make the choices differ")


class Choice(OwnType):
    """A context, its choices in columns or in a list, and which of them is right: by number, letter or text."""

    name = "choice"
    task_class = ChoiceTask
    label_is = (int,)
    list_last = True
    labels_rows = True
    issues = (LABEL_RANGE, FEW_CHOICES, SAME_CHOICES, CHOICE_COUNT, DOUBLE_CHOICE)

    def find(self, evidence: Evidence) -> Layout | None:
        """A list of choices, or columns named like choices, and their context; how labels name the choices.

        The first of the columns that the user named are the context, and numbered choices are in the order of their
        numbers, by which labels mean them. Raises Ambiguous where several columns, or several ways, fit.
        """
        asked, named = evidence.shape is not None, "text" in evidence.chosen
        if named and not asked:
            return None
        detected = None if named else choice_layout(evidence, any_stem=asked)
        layout = with_chosen(self, evidence, detected)
        if layout is not None and named:
            contexts = contexts_in(layout.text, evidence)
            ordered = (*layout.text[:contexts], *numbered_order(layout.text[contexts:]))
            layout = replace(layout, text=ordered, contexts=contexts)
            layout = replace(layout, label=layout.label or answer_column(layout, evidence))
        if layout is None or not layout.label:
            return layout
        return with_way(layout, evidence.table, evidence.choices_by)

    def as_written(self, layout: Layout, table: Table) -> Layout:
        """Raises UserError where the numbers of the labels count the choices from another one."""
        require_same_count(layout, table)
        return layout

    def labels_in(self, gold: int | None) -> Sequence[str]:
        return () if gold is None else (f"choice {gold + 1}",)

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The most frequent position of the right choice, numbers of choices that vary, and duplicate choices."""
        yield from of_single_labels(rows, worst=False)
        columns = [rows.table.columns[name] for name in rows.layout.text[rows.layout.contexts :]]
        choices_by_row = {
            row: choices_of([cells[row] for cells in columns]) for row, text in enumerate(rows.texts) if text
        }
        counts = Counter(map(len, choices_by_row.values()))
        if len(counts) > 1:
            usual = counts.most_common(1)[0][0]
            what = f"rows with another number of choices than {usual}, which most have"
            others = [row for row, choices in choices_by_row.items() if len(choices) != usual]
            yield Finding(issue=CHOICE_COUNT, indexes=others, what=what)
        if double := [row for row, choices in choices_by_row.items() if len(set(choices)) < len(choices)]:
            yield Finding(issue=DOUBLE_CHOICE, indexes=double)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> ChoiceRow:
        """The context and the choices. Raises NoRow for a missing one, and for a label that is not one of them."""
        contexts, columns = layout.text[: layout.contexts], layout.text[layout.contexts :]
        cells = [cell_at(values, column) for column in columns]
        texts = choices_of(cells)
        for context in contexts:
            if is_missing(cell_at(values, context)):
                raise NoRow(f"has no text in the column '{context}'", MISSING_TEXT)
        if len(texts) < 2 or not all(text.strip() for text in texts):
            raise NoRow("has fewer than two choices, or an empty one", FEW_CHOICES)
        if len(columns) > 1 and any(map(is_missing, cells[: len(texts)])):  # labels count it
            raise NoRow("has a choice after an empty one", FEW_CHOICES)
        if len(set(texts)) == 1:
            raise NoRow(f"has {shown(texts[0])} as each of its choices", SAME_CHOICES)
        cell = layout.label_in(values)
        gold = None if is_missing(cell) else _place(layout, cell, texts)
        text = "\n".join(as_text(cell_at(values, context)) for context in contexts)
        return ChoiceRow(id=name, context=text, choices=texts, gold=gold)

    def unit(self, row: ChoiceRow) -> str:
        """The context."""
        return same_text(row.context)

    def task(self, layout: Layout, *, name: str, read: Any = None) -> ChoiceTask:
        """The task, which names choices as the labels did."""
        return ChoiceTask(name=name, read=read, counted_from=layout.counted_from, names=names_of_choices(layout))

    def value(self, task: Task, layout: Layout, cell: Any, row: ChoiceRow) -> int:
        """The index of the choice with this name."""
        assert isinstance(task, ChoiceTask)
        return task.place(cell)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """One choice of several a row, whose probabilities are by their index."""
        predictions = one_label(
            lines, texts=[_texts(line) for line in lines], marks=lambda row: _marks(lines[row]), closed=False,
            chances=[dict(enumerate(line.get("probabilities") or ())) for line in lines],
            says=lambda _, value: f"choice {value + 1}",
        )  # fmt: skip
        return predictions if all(predictions.chances) else replace(predictions, chances=())


def _place(layout: Layout, cell: Any, choices: tuple[str, ...]) -> int:
    """The index of the choice that a label means by text, letter or number: as in the column, else in any way."""
    meant = choices_meant(cell, choices, columns_of_choices(layout))
    ways = [way_of(layout)] if layout.choices_by else ["text", "letter", str(layout.counted_from)]
    place = next((meant[way] for way in ways if way in meant), None)
    if place is None:
        raise NoRow(f"has the label {short(cell)}; expected one of its {len(choices)} choices", LABEL_RANGE)
    return place


def _texts(line: Line) -> dict[str, str]:
    return {"context": line["context"]} | {f"choice {n}": text for n, text in enumerate(line["choices"], start=1)}


def _marks(line: Line) -> list[TextMark]:
    """The choices that are the label or the prediction, each with its probability."""
    chances, sides = line.get("probabilities") or (), (("gold", line["gold"]), ("prediction", line["prediction"]))
    return [
        TextMark(
            f"choice {place + 1}", 0, len(line["choices"][place]), side,
            f"{100 * chances[place]:.1f} %" if chances and not (side == "gold" and place == line["prediction"]) else "",
        )
        for side, place in sides
    ]  # fmt: skip
