"""Words with tags, or texts with entities as character spans: user data of the type `tagging`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

from finetune.data.characters import same_text
from finetune.data.formats.conll import TAG
from finetune.data.formats.spans import in_form, items_in, span_labels, text_key
from finetune.data.formats.tag_forms import form_of
from finetune.data.issues import Finding
from finetune.data.messages import short, shown, so_many
from finetune.data.nested_fields import cell_at
from finetune.data.table import Table
from finetune.data.values import as_list, as_text, is_missing, tags_of
from finetune.metrics.entities import split_tag, to_iob2
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, Clean, Evidence
from finetune.task_types.findings import SplitRows
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import Line, Predictions
from finetune.task_types.row_issues import MISSING_TEXT, NoRow, unusable
from finetune.task_types.tagging import findings
from finetune.task_types.tagging.char_spans import as_spans, changed_spans, spans_of, tags_for
from finetune.task_types.tagging.guess import ask_for_tags, only_words, require_fitting, span_layout, tag_layout
from finetune.task_types.tagging.predictions import tags_predictions
from finetune.task_types.tagging.raw_text import signs_are_apart, split_words
from finetune.task_types.tagging.row import TaggingRow
from finetune.task_types.tagging.schemes import ROWS_LOOKED_AT, in_scheme, scheme_of
from finetune.task_types.tagging.segments import characters_of, segmented
from finetune.task_types.tagging.task import TaggingTask, entities_of
from finetune.task_types.task import Task
from finetune.task_types.words.columns import WordsType, items_of, words_in

WORDS_TAGS = unusable("words-tags", "more or fewer tags than words", "Give every word one tag")
NO_TAG = unusable("no-tag", "a tag of no known scheme", "Correct the tag")


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
        if layout.spans:
            key = text_key(columns[layout.label[0]][:ROWS_LOOKED_AT], layout.spans)
            return layout if key == "text" else replace(layout, file={**layout.file, "span_text": key})
        cells = columns[layout.label[0]]
        tags = Counter(tag for cell in islice(cells, ROWS_LOOKED_AT) if not is_missing(cell) for tag in tags_of(cell))
        form = form_of(tags) if not layout.names and set(tags) != {"O"} else None
        if form is not None:
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
        if layout.tag_form == "plain":
            return layout.tags(cell)
        return (kind for tag in layout.tags(cell) if (kind := tag.partition("-")[2]))

    def labels_in(self, gold: Sequence[str] | None) -> tuple[str, ...]:
        """The types of the entities."""
        return tuple({split_tag(tag)[1] for tag in gold or () if tag != "O"})

    def tally(self, golds: Sequence[Sequence[str]]) -> Counter[str]:
        """Counts the entities of each type."""
        return Counter(kind for gold in golds for begins, kind in map(split_tag, gold) if begins in ("B", "S"))

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed, widened or left out."""
        if not layout.spans or layout.label[0] not in table.columns:
            return {}
        texts, cells = (table.columns[names[0]] for names in (layout.text, layout.label))
        return {f"spans {what}": rows for what, rows in changed_spans(texts, cells, layout.spans).items()}

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
        return _of_text(layout, values, name) if layout.spans else _of_words(layout, values, name)

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        """An empty word."""
        return "" if layout.spans or layout.characters else super().spoiled(layout, values)

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """Cleans each word and tag; nothing where entities are character spans."""
        if layout.spans or layout.characters:
            return values
        return super().fixed(layout, values, clean, done)

    def facts(self, row: TaggingRow) -> dict[str, str]:
        """The text, and each entity with its type."""
        found = entities_of(Answer(value=row.gold or ()), row)
        listed = ", ".join(f"{one['text']}/{one['type']}" for one in found) or "no entity"
        return {
            "words": shown(row.input, TEXT_CHARS_SHOWN),
            self.labels_are: "none" if row.gold is None else shown(listed, TEXT_CHARS_SHOWN),
        }

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
        spans = as_spans(answer.value, row.words, row.starts)
        key = str(layout.file.get("span_text", "text"))
        return {"prediction": in_form(spans, layout.spans, row.text, key), "entities": entities_of(answer, row)}

    def value(self, task: Task, layout: Layout, cell: Any, row: TaggingRow) -> Any:
        if not layout.spans:
            tags = cell if layout.names else layout.tags(cell)
            return tags if layout.tag_form == "plain" else to_iob2(tags)
        return list(tags_for(row.words, row.starts, spans_of(cell, layout.spans, row.text).spans)[0])

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Of each row a decision for each word, and entities."""
        return tags_predictions(lines)


class PlainTagging(Tagging):
    """Tags that mark no entities, such as parts of speech."""

    labels_are = "tags"


def _of_words(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    place = {"id": name, "document": _document(values)} | _words(layout, cell_at(values, layout.text[0]))
    gold = layout.label_in(values)
    if is_missing(gold):
        return TaggingRow(**place)
    tags, words = layout.tags(gold), place["words"]
    if len(tags) != len(words):
        raise NoRow(f"has {so_many(len(words), 'word')} and {so_many(len(tags), 'tag')}", WORDS_TAGS)
    if layout.tag_form == "plain":
        return TaggingRow(**place, gold=tuple(tags))
    if wrong := [tag for tag in tags if not TAG.fullmatch(tag)]:
        raise NoRow(f"has the tag {short(wrong[0])}; tags are O, or B, I, E, S, L or U, a hyphen and a type", NO_TAG)
    return TaggingRow(**place, gold=tuple(to_iob2(tags)))


def _words(layout: Layout, cell: Any) -> dict[str, Any]:
    """The fields of a row that hold its words; of single characters also the text that they make.

    A text without tags is raw: its words are characters, or signs are split off them, as in the training data.
    """
    words = words_in(cell, layout.text[0], blanks=layout.characters)
    raw = not layout.label and isinstance(cell, str) and as_list(cell) is None
    if layout.characters and raw and any(len(word) > 1 for word in words):
        found, starts = characters_of(cell)
        return {"words": found, "text": cell, "starts": starts}
    if layout.characters:
        words = [word or " " for word in words]
        starts = tuple(accumulate(map(len, words[:-1]), initial=0))
        return {"words": tuple(words), "text": "".join(words), "starts": starts}
    if layout.signs_apart and raw:
        found, starts = split_words(cell)
        return {"words": found, "raw": cell, "starts": starts}
    return {"words": tuple(words)}


def _document(values: Mapping[str, Any]) -> str:
    document = as_text(values.get("document")).strip()
    return "" if document == "0" else document


def _of_text(layout: Layout, values: Mapping[str, Any], name: str) -> TaggingRow:
    """The row of a text, with the tags that character spans give its words."""
    column = layout.text[0]
    if is_missing(cell_at(values, column)):
        raise NoRow(f"has no text in the column '{column}'", MISSING_TEXT)
    text = layout.text_of(values, column)
    words, starts = segmented(text)
    cell = layout.label_in(values)
    if is_missing(cell):
        return TaggingRow(id=name, words=words, text=text, starts=starts)
    if items_in(cell) is None:
        raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected a list of spans")
    gold, _ = tags_for(words, starts, spans_of(cell, layout.spans, text).spans)
    return TaggingRow(id=name, words=words, gold=gold, text=text, starts=starts)
