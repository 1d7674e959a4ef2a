"""From a record to a row of the task's shape: what the layout says of its cells, and why some records make no row."""

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from finetune.data.column_types import NO, YES
from finetune.data.formats.conll import TAG
from finetune.data.issues import Fault, Issue
from finetune.data.nested_fields import cell_at
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.data.table import Table
from finetune.data.values import as_list, as_number, as_text, is_missing
from finetune.metrics.entities import to_iob2
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.columns import Layout, Shape, answers_of, choice_named, choices_of, labels_of
from finetune.task_types.multilabel.task import MultiLabelRow
from finetune.task_types.row_issues import (
    EMPTY_WORD,
    FEW_CHOICES,
    LABEL_RANGE,
    MISSING_TEXT,
    NO_MARK,
    NO_NUMBER,
    NO_TAG,
    UNUSABLE,
    WORDS_TAGS,
)
from finetune.task_types.sentence.task import SentenceRow
from finetune.task_types.span.answer_place import located
from finetune.task_types.span.task import SpanRow
from finetune.task_types.tagging.char_spans import spans_of, tags_for
from finetune.task_types.tagging.segments import segmented
from finetune.task_types.tagging.task import TaggingRow


class NoRow(Exception):
    """Why a record makes no row, in words that follow `row 5`; `fault` has the issue too."""

    def __init__(self, what: str, issue: Issue = UNUSABLE) -> None:
        super().__init__(what)
        self.fault = Fault(what, issue)


def rows_of(layout: Layout, table: Table) -> Iterator[tuple[int, Row | NoRow]]:
    """Each row of a table by its index, or why there is none."""
    names = list(table.columns)
    values: dict[str, Any] = {}  # one for all rows: to make one takes longer than to look at it
    for index, cells in enumerate(zip(*table.columns.values(), strict=True)):
        values.update(zip(names, cells, strict=True))
        try:
            row = _row(layout, values, table.rows[index])
        except NoRow as why:
            row = why
        yield index, row


def row_of(layout: Layout, record: Record) -> Row:
    """The row in a record; its gold is None where the label is missing. Raises NoRow."""
    if record.fault:
        raise NoRow(*record.fault)
    return _row(layout, record.values, record.row)


def gold_of(row: Row) -> Any:
    """The gold of a row: of a question its answers."""
    return row.answers if isinstance(row, SpanRow) else row.gold


def input_of(row: Row) -> str:
    """All that the model reads of a row."""
    match row:
        case TaggingRow():
            return row.text or " ".join(row.words)
        case SpanRow():
            return f"{row.question}\n{row.context}"
        case ChoiceRow():
            return "\n".join((row.context, *row.choices))
    text: str = row.text
    pair: str | None = row.pair
    return text if pair is None else f"{text}\n{pair}"


def _row(layout: Layout, values: Mapping[str, Any], number: int) -> Row:
    given = as_text(values.get(layout.id)).strip() if layout.id else ""
    return BUILDERS[layout.shape](layout, values, given or str(number))


def _classification(layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
    text, pair = _texts(layout, values)
    cell = _label(layout, values)
    label = None if layout.lacks(cell) else layout.named(as_text(cell).strip())
    return SentenceRow(id=name, text=text, pair=pair, gold=label)


def _regression(layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
    text, pair = _texts(layout, values)
    cell = _label(layout, values)
    number = as_number(cell, decimal=layout.decimal)
    if number is None and not is_missing(cell):
        raise NoRow(f"has the label {_short(cell)}, which is no number", NO_NUMBER)
    return SentenceRow(id=name, text=text, pair=pair, gold=number)


def _multi_label(layout: Layout, values: Mapping[str, Any], name: str) -> MultiLabelRow:
    text, pair = _texts(layout, values)
    return MultiLabelRow(id=name, text=text, pair=pair, gold=_several(layout, values))


def _several(layout: Layout, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of a row in their order; an empty list is a row that has none."""
    if len(layout.label) > 1:
        marks = {name: as_text(cell_at(values, name)).strip().lower() for name in layout.label}
        if not any(marks.values()):
            return None
        if wrong := [name for name, mark in marks.items() if mark not in NO | YES]:
            cell = _short(cell_at(values, wrong[0]))
            raise NoRow(f"has {cell} in the column '{wrong[0]}', where 0 or 1 must stand", NO_MARK)
        return tuple(name for name, mark in marks.items() if mark in YES)
    cell = _label(layout, values)
    if is_missing(cell):
        return None
    found = [layout.named(label) for label in labels_of(cell, layout.separator)]
    return tuple(sorted(found, key=lambda name: layout.labels.index(name) if name in layout.labels else -1))


def _tagging(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    if layout.spans:
        return _with_spans(layout, values, name)
    cell = cell_at(values, layout.text[0])
    found = as_list(cell)
    words = as_text(cell).split() if found is None else [as_text(word) for word in found]
    if not any(word.strip() for word in words):
        raise NoRow(f"has no words in the column '{layout.text[0]}'", MISSING_TEXT)
    place: dict[str, Any] = {}
    if layout.characters:
        words = [word or " " for word in words]
        place = {"text": "".join(words), "starts": tuple(accumulate(map(len, words[:-1]), initial=0))}
    elif not all(word.strip() for word in words):
        raise NoRow(f"has an empty word in the column '{layout.text[0]}'", EMPTY_WORD)
    document = as_text(values.get("document")).strip()
    place |= {"id": name, "words": tuple(words), "document": "" if document == "0" else document}
    gold = _label(layout, values)
    if is_missing(gold):
        return TaggingRow(**place)
    tags = layout.tags(gold)
    if len(tags) != len(words):
        raise NoRow(f"has {len(words)} words and {len(tags)} tags", WORDS_TAGS)
    if wrong := [tag for tag in tags if not TAG.fullmatch(tag)]:
        raise NoRow(f"has the tag {_short(wrong[0])}; tags are O, or B, I, E, S, L or U, a hyphen and a type", NO_TAG)
    return TaggingRow(**place, gold=tuple(to_iob2(tags)))


def _with_spans(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    """Words of a text, with the tags that spans of characters give them."""
    text, _ = _texts(layout, values)
    words, starts = segmented(text)
    cell = _label(layout, values)
    if is_missing(cell):
        return TaggingRow(id=name, words=words, text=text, starts=starts)
    if as_list(cell) is None:
        raise NoRow(f"has {_short(cell)} in the column '{layout.label[0]}' where a list of spans is needed")
    gold, _ = tags_for(words, starts, spans_of(cell, layout.spans, text).spans)
    return TaggingRow(id=name, words=words, gold=gold, text=text, starts=starts)


def _span(layout: Layout, values: Mapping[str, Any], name: str) -> SpanRow:
    question, context = _texts(layout, values)
    if context is None:
        raise NoRow("needs a question and a context")
    cell = _label(layout, values)
    title = as_text(values.get("title"))
    if not layout.label or (cell is None and layout.label[0] in values):
        return SpanRow(id=name, question=question, context=context, title=title)
    pairs = answers_of(cell, values.get("answer_start"))
    if not pairs:
        return SpanRow(id=name, question=question, context=context, answers=(), title=title)
    text, given = pairs[0]
    start = context.find(text) if given is None else located(context, text, given)
    return SpanRow(
        id=name,
        question=question,
        context=context,
        answers=tuple(text for text, _ in pairs),
        start=None if start is None or start < 0 else start,
        title=title,
    )


def _choice(layout: Layout, values: Mapping[str, Any], name: str) -> ChoiceRow:
    contexts, columns = layout.text[: layout.contexts], layout.text[layout.contexts :]
    texts = choices_of([cell_at(values, column) for column in columns])
    for context in contexts:
        if is_missing(cell_at(values, context)):
            raise NoRow(f"has no text in the column '{context}'", MISSING_TEXT)
    if len(texts) < 2 or not all(text.strip() for text in texts):
        raise NoRow("has fewer than two choices, or an empty one", FEW_CHOICES)
    cell = _label(layout, values)
    gold = None if is_missing(cell) else _number_of_choice(layout, cell, texts)
    return ChoiceRow(
        id=name, context="\n".join(as_text(cell_at(values, context)) for context in contexts), choices=texts, gold=gold
    )


def _number_of_choice(layout: Layout, cell: Any, choices: tuple[str, ...]) -> int:
    """Which choice a label means, by its text, letter or number: as the column does, or else in any of these ways."""
    found = choice_named(cell, choices, counted_from=layout.counted_from)
    ways = [layout.choices_by] if layout.choices_by else list(found)
    number = next((found[way] for way in ways if found[way] is not None), None)
    if number is None:
        raise NoRow(f"has the label {_short(cell)}, which is none of its {len(choices)} choices", LABEL_RANGE)
    return number


BUILDERS: Mapping[Shape, Callable[[Layout, Mapping[str, Any], str], Row]] = {
    "classification": _classification,
    "regression": _regression,
    "multi-label": _multi_label,
    "tagging": _tagging,
    "span": _span,
    "choice": _choice,
}


def _texts(layout: Layout, values: Mapping[str, Any]) -> tuple[str, str | None]:
    """One text or two. Raises NoRow for one that is missing."""
    for name in layout.text:
        if is_missing(cell_at(values, name)):
            raise NoRow(f"has no text in the column '{name}'", MISSING_TEXT)
    texts = [layout.text_of(values, name) for name in layout.text]
    return texts[0], texts[1] if len(texts) > 1 else None


def _label(layout: Layout, values: Mapping[str, Any]) -> Any:
    return cell_at(values, layout.label[0]) if layout.label else None


def _short(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) < 40 else text[:37] + "..."
