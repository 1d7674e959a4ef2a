"""Words with tags, or texts with entities as character spans: user data of the type `tagging`.

Also how predictions are written as the file has its tags, and the table of a split's tagged words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.formats.conll import TAG
from finetune.data.formats.spans import in_form, items_in, span_labels, text_key
from finetune.data.formats.word_lines import INNER, PREFIX, SUFFIX, form_of
from finetune.data.issues import Finding
from finetune.data.messages import short, shown, so_many
from finetune.data.table import Table, cell_at
from finetune.data.values import as_list, as_text, is_missing, tags_of
from finetune.metrics.entities import chunks, split_tag, to_iob2
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, Evidence
from finetune.task_types.findings import SplitRows
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
from finetune.task_types.row_issues import MISSING_TEXT, NoRow, unusable
from finetune.task_types.tagging import findings
from finetune.task_types.tagging.guess import ask_for_tags, only_words, require_fitting, span_layout, tag_layout
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
from finetune.task_types.words.columns import ROWS_LOOKED_AT, WordsType, items_of, words_in

WORDS_TAGS = unusable("words-tags", "more or fewer tags than words", "Give every word one tag")
NO_TAG = unusable("no-tag", "a tag of no known scheme", "Correct the tag")
IOB2 = {"letters": "BIIB", "sign": "-"}  # of the first, inner and last word, and of an entity of one word
ENDS = {"LU": "LU", "W": "EW", "ES": "ES"}  # letters of a scheme: those of the last word, and of an entity of one word
SIDES = ("gold", "prediction")


class Tagging(WordsType):
    """A tag for each word; or a text, and its entities by their characters."""

    name = "tagging"
    answers = "a tag for each word of a sentence"
    row_issues = (WORDS_TAGS, NO_TAG)
    task_class = TaggingTask
    issues = findings.ISSUES
    label_is = (list, tuple)
    closed_labels = True
    inputs = "words label=tags"
    labels_are = "entities"

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds a text with character spans, or words and tags. Raises UserError for numeric tags without names."""
        return span_layout(evidence) or tag_layout(evidence)

    def guess(self, evidence: Evidence) -> Layout | None:
        """As for every type. Also raises UserError for a file with one word per line and no tags."""
        chosen, label = evidence.chosen, evidence.chosen.get("label")
        lines = evidence.table.form.format.name == "word-lines"
        if (evidence.shape or lines) and label and "text" not in chosen and self.find(evidence) is None:
            require_fitting(evidence, label[0])
        layout = super().guess(evidence)
        if layout is None and (lines or (label is None and only_words(evidence))):
            ask_for_tags(evidence.without(["document", *chosen.get("text", ())]))
        return layout

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        """With whether signs are words of their own."""
        words = items_of(evidence.columns.get(layout.text[0], ()))
        return replace(layout, signs_apart=not (layout.spans or layout.characters) and signs_are_apart(words))

    def with_spelling(self, layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
        """With the form and scheme of the tags, or the key of a span's text, which may be others than in training."""
        if not layout.label or layout.label[0] not in columns:
            return layout
        filled = (cell for cell in columns[layout.label[0]] if not is_missing(cell))
        cells = list(islice(filled, ROWS_LOOKED_AT))
        if layout.spans:
            key = text_key(cells, layout.spans)
            return layout if key == "text" else replace(layout, file={**layout.file, "span_text": key})
        tags = Counter(tag for cell in cells for tag in tags_of(cell))
        if not layout.names and set(tags) != {"O"} and (form := form_of(tags)):
            layout = replace(layout, tag_form=form.form, outside=form.outside)
        return replace(layout, file={**layout.file, "tags": scheme_of(layout, cells)})

    def for_layout(self, layout: Layout) -> "Tagging":
        return PlainTagging() if layout.tag_form == "plain" else self

    def may_be_numbers(self, layout: Layout) -> bool:
        """Tags may be numbers; the labels of spans are names."""
        return super().may_be_numbers(layout) and not layout.spans

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        return tags_of(cell)

    def label_names(self, layout: Layout, cell: Any) -> Iterable[str]:
        """The types of the entities, or plain tags."""
        if layout.spans:
            return span_labels(cell, layout.spans)
        tags = layout.tags(cell)
        return tags if layout.tag_form == "plain" else filter(None, (tag.partition("-")[2] for tag in tags))

    def labels_in(self, gold: Sequence[str] | None) -> tuple[str, ...]:
        """The types of the entities."""
        return tuple({split_tag(tag)[1] for tag in gold or () if tag != "O"})

    def tally(self, golds: Sequence[Sequence[str]]) -> Counter[str]:
        """Counts the entities of each type."""
        return Counter(kind for gold in golds for begins, kind in map(split_tag, gold) if begins in ("B", "S"))

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed, widened or left out."""
        return changed_spans(layout, table.columns)

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        return findings.tagging_findings(rows, rows.golds)

    def without_labels(self, layout: Layout, task: Task) -> Layout:
        """As for every type; texts that have no tags are split as the task's words are."""
        new = super().without_labels(layout, task)
        if not isinstance(task, TaggingTask) or layout.label:
            return replace(new, signs_apart=False)
        return replace(new, signs_apart=task.signs_apart, characters=new.characters or task.characters)

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

    def facts(self, row: TaggingRow) -> dict[str, str]:
        """The text, and each entity with its type."""
        entities = (f"{found['text']}/{found['type']}" for found in entities_of(Answer(value=row.gold or ()), row))
        listed = "none" if row.gold is None else shown(", ".join(entities) or NONE, TEXT_CHARS_SHOWN)
        return {"words": shown(row.input, TEXT_CHARS_SHOWN), self.labels_are: listed}

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
            return task.cells(answer, row) | {"prediction": in_scheme(answer.value, layout)}
        key = str(layout.file.get("span_text", "text"))
        spans = in_form(entity_spans(answer.value, row), layout.spans, row.text, key)
        return {"prediction": spans, "entities": entities_of(answer, row)}

    def value(self, task: Task, layout: Layout, cell: Any, row: TaggingRow) -> Any:
        if layout.spans:
            return list(_tags_of_spans(cell, layout, row))
        tags = cell if layout.names else layout.tags(cell)
        return tags if layout.tag_form == "plain" else to_iob2(tags)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Of each row a decision for each word, and entities."""
        return tags_predictions(lines)


class PlainTagging(Tagging):
    """Tags that mark no entities, such as parts of speech."""

    labels_are = "tags"


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


def scheme_of(layout: Layout, cells: Iterable[Any]) -> dict[str, str]:
    """How a column writes its tags: the letters of an entity's first, inner and last word, and of one of one word; and
    the sign between letter and type.
    """
    raw = list(map(tags_of, cells))
    pattern, place = (SUFFIX, 2) if layout.tag_form == "suffix" else (PREFIX, 1)
    matches = [match for tags in raw for tag in tags if (match := pattern.fullmatch(tag))]
    letters = {match[place].upper() for match in matches}
    if layout.tag_form == "untyped":
        letters = {tag.upper() for tags in raw for tag in tags if tag != layout.outside}
    begins = [tags[start][0] for tags in map(layout.tags, raw) for _, start, _ in chunks(tags)]
    first = "I" if letters <= {"B", "I"} and begins.count("I") > begins.count("B") else "B"
    ends = next((ends for signs, ends in ENDS.items() if letters & {*signs}), f"I{first}")
    sign = matches[0][0][1 if place == 1 else -2] if matches else "-"
    return {"letters": first + ("M" if "M" in letters else "I") + ends, "sign": sign}


def in_scheme(tags: Sequence[str], layout: Layout) -> list[str]:
    """Tags in IOB2 as the column of the layout writes them."""
    scheme: Mapping[str, str] = layout.file.get("tags", IOB2)
    if layout.names or layout.tag_form == "plain" or (scheme == IOB2 and layout.tag_form == "prefix"):
        return list(tags)
    sign, (first, inner, last, alone) = scheme["sign"], list(scheme["letters"])
    new, before = [layout.outside] * len(tags), ("", 0)
    for kind, start, end in chunks(tags):
        letters = [alone] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        if first == "I" and before == (kind, start):
            letters[0] = "B"
        for place, letter in enumerate(letters, start):
            full = f"{kind}{sign}{letter}" if layout.tag_form == "suffix" else f"{letter}{sign}{kind}"
            short_forms = {"bare": kind, "untyped": letter, "begun": letter if letter in INNER else full}
            new[place] = short_forms.get(layout.tag_form, full)
        before = kind, end
    return new


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
        right = [own == given for own, given in zip(*sides, strict=True)]
        classes = (map(_type, tags) for tags in sides)
        words += map(DecisionRow, [number] * len(of), *classes, right, sure, chance, of)
        for place, own, given in paired_spans(label, prediction, NONE):
            low = min((p for p in sure[slice(*place)] if p is not None), default=None)
            entities.append(DecisionRow(number, own, given, own == given, low, None, of[place[0]], *place))
        score.append(float(np.mean(right)))
    return Predictions(
        lines=lines, texts=[dict.fromkeys(("label", "prediction"), row.given[0]) for row in rows],
        score=np.array(score, float), right=np.array(score) == 1, decisions=Decisions.made(words),
        parts=Decisions.made(entities), nothing=(NONE,), filler=("O",), claimed="entities",
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
