"""Words with tags, or texts with entities as character spans: user data of the type `tagging`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.formats.conll import TAG
from finetune.data.formats.spans import in_form, items_in
from finetune.data.formats.word_lines import form_of
from finetune.data.issues import Finding
from finetune.data.messages import short, shown, so_many
from finetune.data.table import Table, cell_at
from finetune.data.values import as_list, as_text, is_missing, tags_of
from finetune.metrics.entities import chunks, split_tag, to_iob2
from finetune.task_types.columns import MISSING_TEXT, Layout, NoRow, unusable
from finetune.task_types.findings import SplitRows
from finetune.task_types.own_type import TEXT_CHARS_SHOWN, Evidence, OwnType, with_chosen
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
from finetune.task_types.tagging import findings
from finetune.task_types.tagging.guess import (
    ROWS_LOOKED_AT,
    ask_for_tags,
    items_of,
    only_words,
    require_fitting,
    words_and_tags,
    words_in,
)
from finetune.task_types.tagging.segments import (
    changed_spans,
    characters_of,
    segmented,
    signs_are_apart,
    spans_of,
    split_words,
    tags_for,
    unit,
)  # fmt: skip
from finetune.task_types.tagging.task import NONE, TaggingRow, TaggingTask, entities_of, entities_said, entity_spans
from finetune.task_types.task import Task

WORDS_TAGS = unusable("words-tags", "more or fewer tags than words", "Give every word one tag")
NO_TAG = unusable("no-tag", "a tag of no known scheme", "Correct the tag")
SIDES = ("gold", "prediction")


class Tagging(OwnType):
    """A tag for each word; or a text, and its entities by their characters."""

    name = "tagging"
    task_class = TaggingTask
    label_is = (list, tuple, str)
    other_names = (("tokens",), ("text",))
    list_last = True
    closed_labels = True
    max_length = 256
    issues = (WORDS_TAGS, NO_TAG, *findings.ISSUES)

    def find(self, evidence: Evidence) -> Layout | None:
        """A text with character spans, or words and tags; whether signs are words of their own.

        Raises UserError for numeric tags without names, and for a file with one word per line and no tags.
        """
        chosen, label, asked = evidence.chosen, evidence.chosen.get("label"), evidence.shape is not None
        lines = evidence.table.form.format.name == "word-lines"
        detected = words_and_tags(evidence)
        if detected is None and (asked or lines) and label and "text" not in chosen:
            require_fitting(evidence, label[0])
        layout = with_chosen(self, evidence, detected)
        if layout is None and (lines or (label is None and only_words(evidence))):
            ask_for_tags(evidence.without(["document", *chosen.get("text", ())]))
        return layout and with_signs(layout, evidence)

    def as_written(self, layout: Layout, table: Table) -> Layout:
        """With the form of the file's tags, which may be another one than in training."""
        if layout.spans or layout.names or not layout.label or layout.label[0] not in table.columns:
            return layout
        filled = (cell for cell in table.columns[layout.label[0]] if not is_missing(cell))
        tags = Counter(tag for cell in islice(filled, ROWS_LOOKED_AT) for tag in tags_of(cell))
        form = form_of(tags) if set(tags) != {"O"} else None
        return layout if form is None else replace(layout, tag_form=form.form, outside=form.outside)

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """Texts that have no tags are split as the task's words are."""
        if not isinstance(task, TaggingTask) or layout.label:
            return replace(layout, signs_apart=False)
        return replace(layout, signs_apart=task.signs_apart, characters=layout.characters or task.characters)

    def labels_in(self, gold: Sequence[str] | None) -> Sequence[str]:
        """The types of the entities, or the tags that mark none."""
        return [kind for begins, kind in map(split_tag, gold or ()) if begins in ("B", "S")]

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed, widened or left out."""
        return changed_spans(layout, table.columns)

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        return findings.tagging_findings(rows, rows.golds)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
        """The words with their tags. Raises NoRow for an empty word, and for tags that do not match the words."""
        row, cell = _unlabelled(layout, values, name), layout.label_in(values)
        if is_missing(cell):
            return row
        if layout.spans and items_in(cell) is None:
            raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected a list of spans")
        if layout.spans:
            return replace(row, gold=_tags_of_spans(cell, layout, row))
        tags = layout.tags(cell)
        if len(tags) != len(row.words):
            raise NoRow(f"has {so_many(len(row.words), 'word')} and {so_many(len(tags), 'tag')}", WORDS_TAGS)
        if layout.tag_form != "plain":
            if wrong := [tag for tag in tags if not TAG.fullmatch(tag)]:
                what = f"has the tag {short(wrong[0])}; tags are O, or B, I, E, S, L or U, a hyphen and a type"
                raise NoRow(what, NO_TAG)
            tags = to_iob2(tags)
        return replace(row, gold=tuple(tags))

    def label_words(self, row: TaggingRow) -> str:
        """Each entity with its type."""
        entities = (f"{entity['text']}/{entity['type']}" for entity in entities_of(Answer(value=row.gold or ()), row))
        return "none" if row.gold is None else shown(", ".join(entities) or NONE, TEXT_CHARS_SHOWN)[1:-1]

    def unit(self, row: TaggingRow) -> str:
        """The document, else the words."""
        return row.document or same_text(row.input)

    def task(self, layout: Layout, *, name: str, read: Any = None) -> TaggingTask:
        """The task with the entity types that were found."""
        return TaggingTask(
            name=name, read=read, types=layout.labels, running_text=bool(layout.spans), signs_apart=layout.signs_apart,
            plain=layout.tag_form == "plain",
        )  # fmt: skip

    def cells(self, task: Task, layout: Layout, answer: Answer, row: TaggingRow) -> dict[str, Any]:
        """The task's cells; where the training file had character spans those in its form, and the entities."""
        if not layout.spans:
            return task.cells(answer, row)
        spans = in_form(entity_spans(answer.value, row), layout.spans, row.text)
        return {"prediction": spans, "entities": entities_of(answer, row)}

    def value(self, task: Task, layout: Layout, cell: Any, row: TaggingRow) -> Any:
        return list(_tags_of_spans(cell, layout, row)) if layout.spans else cell

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Of each row a decision for each word, and entities."""
        return tags_predictions(lines)


def with_signs(layout: Layout, evidence: Evidence) -> Layout:
    """The layout with whether signs are words of their own."""
    words = items_of(evidence.columns.get(layout.text[0], ()))
    return replace(layout, signs_apart=not (layout.spans or layout.characters) and signs_are_apart(words))


def _unlabelled(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    """The row without its label, of words, or of single characters with the text that they make.

    A text without tags is raw: its words are characters, or signs are split off them, as in the training data.
    """
    column = layout.text[0]
    cell = cell_at(values, column)
    if layout.spans:
        if is_missing(cell):
            raise NoRow(f"has no text in the column '{column}'", MISSING_TEXT)
        return TaggingRow.of(layout.text_of(values, column), segmented, id=name)
    document = as_text(values.get("document")).strip()
    row = TaggingRow(
        id=name, document=document if document != "0" else "",
        words=tuple(words_in(cell, column, blanks=layout.characters)),
    )  # fmt: skip
    raw = not layout.label and isinstance(cell, str) and as_list(cell) is None
    if raw and (any(len(word) > 1 for word in row.words) if layout.characters else layout.signs_apart):
        return TaggingRow.of(cell, characters_of if layout.characters else split_words, id=name, document=row.document)
    if not layout.characters:
        return row
    words = tuple(word or " " for word in row.words)
    starts = tuple(accumulate(map(len, words[:-1]), initial=0))
    return replace(row, words=words, text="".join(words), starts=starts)


def _tags_of_spans(cell: Any, layout: Layout, row: TaggingRow) -> tuple[str, ...]:
    return tags_for(row.words, row.starts, spans_of(cell, layout.spans, row.text).spans)[0]


def tags_predictions(lines: Sequence[Line]) -> Predictions:
    """The score of a row is the share of its words with the right tag; B and I are one class."""
    rows = [_row_of(line) for line in lines]
    words, entities, score = list[DecisionRow](), list[DecisionRow](), list[float]()
    for number, (row, line) in enumerate(zip(rows, lines, strict=True)):
        sides, (text, places) = [line[side] for side in SIDES], row.given
        sure, chance = (line.get(name) or [None] * len(places) for name in ("probabilities", "label_probabilities"))
        label, prediction = ([(first, after, kind) for kind, first, after in chunks(tags)] for tags in sides)
        of = list(row.words)
        for first, after, _ in (*prediction, *label):  # a label's entity goes before a predicted one
            of[first:after] = [text[places[first][0] : places[after - 1][1]]] * (after - first)
        right = [labelled == predicted for labelled, predicted in zip(*sides, strict=True)]
        classes = (map(_type, tags) for tags in sides)
        words += map(DecisionRow, [number] * len(of), *classes, right, sure, chance, of)
        for place, labelled, predicted in paired_spans(label, prediction, NONE):
            low = min((p for p in sure[slice(*place)] if p is not None), default=None)
            entities.append(DecisionRow(number, labelled, predicted, labelled == predicted, low, None, of[place[0]]))
        score.append(float(np.mean(right)))
    return Predictions(
        lines=lines, texts=[dict.fromkeys(("label", "prediction"), row.given[0]) for row in rows],
        score=np.array(score, float), right=np.array(score) == 1, decisions=Decisions.made(words),
        parts=Decisions.made(entities), nothing=(NONE,),
        marks=lambda number: marks_of_both(*(entity_spans(lines[number][side], rows[number]) for side in SIDES)),
        says=lambda line, value: entities_said(value, _row_of(line)),
        unit=f"{unit(chain.from_iterable(row.words for row in rows))}s",
    )  # fmt: skip


def _row_of(line: Line) -> TaggingRow:
    texts: dict[str, Any] = {name: line.get(name) or "" for name in ("text", "raw")}
    return TaggingRow(id="", words=tuple(line["words"]), starts=tuple(line.get("starts") or ()), **texts)


def _type(tag: str) -> str:
    prefix, kind = split_tag(tag)
    return kind or (NONE if prefix == "O" else prefix)
