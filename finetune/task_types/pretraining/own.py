"""A user's own text: `finetune run corpus.txt`, or a column of texts without labels (`shape=text`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.detect import FORMATS, detect
from finetune.data.documents import (
    LINES,
    Document,
    Documents,
    columns_of_lines,
    form_of_lines,
    is_empty,
    only_text,
    read_documents,
    split_documents,
)
from finetune.data.file_format import FileFormat
from finetune.data.formats import delimited
from finetune.data.formats.refused import require_read
from finetune.data.formats.word_lines import WordLines
from finetune.data.messages import first_of, noun, shown, size_words, so_many
from finetune.data.open_files import FileStart
from finetune.data.paths import is_file, is_pattern, matching, require_utf_8
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.folder import data_name
from finetune.task_types.columns import MISSING_TEXT, Layout, NoRow
from finetune.task_types.own_type import Evidence, OwnType, with_chosen
from finetune.task_types.predictions import Line, Predictions
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.task import Task

OPTIONS = ("shape", "text", "dev", "encoding")  # of a text
DOCUMENTS_SHOWN = 2
LITTLE = 10_000  # bytes of text, about three pages, from which an encoder learns nothing

WORDS_SHOWN = 12  # of a label in a table


class Text(OwnType):
    """A column of texts without labels. It is never guessed for a table: only the user knows that none is meant."""

    name = "text"
    task_class = TextTask
    label_is = (dict,)
    max_length = 128

    def find(self, evidence: Evidence) -> Layout | None:
        """The column to train on, if the user named the type. Raises UserError where there are several."""
        if evidence.shape != self.name:
            return None
        chosen = evidence.chosen.get("text") or [only_text(evidence.table.path, evidence.facts)]
        if len(chosen) > 1:
            raise UserError(
                f"{evidence.file}: a text is one column, not {', '.join(chosen)}", f"Name one: text={chosen[0]}"
            )
        return with_chosen(self, evidence, Layout(shape=self.name, text=tuple(chosen)))

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Document:
        """The document in a cell. Raises NoRow for an empty one."""
        (column,) = layout.text
        document = Document.of(name, layout.text_of(values, column))
        if not document.lines:
            raise NoRow(f"has no text in '{column}'", MISSING_TEXT)
        return document

    def task(self, layout: Layout, *, name: str, read: Any = None) -> Task:
        return TextTask(name=name, read=read)

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        """Predictions of words are not read again from a file."""
        raise UserError("predicted words cannot be scored from a file", "Score the model: finetune evaluate RUN FILE")

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Documents, whose score is the mean nats of their chosen words."""
        nats = [line["prediction"]["nats"] for line in lines]
        return Predictions(
            lines=lines, texts=[{"text": "\n".join(line["lines"])} for line in lines], annotated=False, unit="words",
            score=np.array([sum(row_nats) / len(row_nats) if row_nats else 0.0 for row_nats in nats], float),
            says=lambda _, value: first_of(value["words"], WORDS_SHOWN), sorted_by="nats per word",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CorpusReader:
    """The splits of a file or folder of text: dev is another file of the user's, or 1 % of the documents.

    `column` holds the texts, where the user named it.
    """

    path: Path
    column: str = ""
    dev: str = ""
    encoding: str = ""

    def __call__(self, _: Source, split: str) -> Rows:
        """The documents of a split. Raises UserError as `read_documents` and `split_documents` do."""
        if split not in ("train", "dev"):
            raise UserError(f"a text has no split '{split}'", "It has train, dev")
        if not self.splits[split].rows:
            raise UserError(f"dev={self.dev} has all documents of {self.path}", "Name another file, or leave dev out")
        return self.splits[split]

    @cached_property
    def documents(self) -> Documents:
        """All documents of the file or folder, dev's too unless dev has its own file."""
        return read_documents(self.path, column=self.column, encoding=self.encoding)

    @property
    def layout(self) -> Layout:
        """The column of texts, given or detected: what a model keeps, so that it reads other tables in the same way."""
        column, reasons = self.documents.column, {"text": "given"} if self.column else {}
        return Layout(shape=Text.name, text=(column,) if column else (), reasons=reasons)

    @cached_property
    def splits(self) -> dict[str, Rows]:
        """Train and dev; with a named dev, train leaves out documents with more than half of their text in it."""
        documents, origin, rule = self.documents, self.dev or str(self.path), tuple[str, ...]()
        notes = little_text(documents)
        if self.dev:
            train, dev = documents, read_documents(self.dev, column=self.column, encoding=self.encoding)
            lines = {line for document in dev for line in document.lines}
            twice = [2 * sum(len(line) for line in item.lines if line in lines) for item in documents]
            repeated = np.array([part > sum(map(len, item.lines)) for part, item in zip(twice, documents, strict=True)])
            if count := int(repeated.sum()):
                train = documents.choose(~repeated)
                note = f"{so_many(count, 'document')} of {self.path.name} {noun(count, 'is', 'are')} in {self.dev} too"
                notes = (f"{note}, and left out of train", *notes)
        else:
            train, dev = split_documents(documents)
            rule = (f"{self.path.name}: {len(dev):,} documents are dev, selected by their text; dev=FILE names others",)
        return {
            "train": Rows(rows=train, origin=str(self.path), content=documents.fingerprint, notes=notes),
            "dev": Rows(rows=list(dev), origin=origin, content=dev.fingerprint, notes=rule),
        }


def little_text(documents: Documents) -> tuple[str, ...]:
    """A note on a corpus that is too short to learn from."""
    if documents.size >= LITTLE:
        return ()
    size = f"{so_many(len(documents), 'document')} with {so_many(documents.size, 'byte')} of text"
    return (f"{documents.path.name}: has {size}, too little to learn from: give it thousands of lines",)


def is_text(name: str, options: Mapping[str, Any]) -> bool:
    """Whether data is unlabelled text: the user says so (`shape=text`), or names neither shape nor columns of a .txt
    whose lines have no columns; of a pattern each file must be so. Raises UserError for lines that have labels.
    """
    if options.get("shape"):
        return bool(options["shape"] == Text.name)
    if {"text", "label"} & set(options):
        return False
    files, encoding = matching(name) if is_pattern(name) else [Path(name)], str(options.get("encoding", ""))
    if not all(_is_lines(file, encoding) for file in files):
        return False
    for file in files:
        if not is_empty(file):
            require_read(FileStart(file, encoding), by=["lines"])
    return True


def reading_of(path: Path, options: Mapping[str, Any]) -> FileFormat:
    """How a file is read for a model of texts, which reads lines as it did in training.

    Raises UserError for a file that cannot be read.
    """
    encoding = str(options.get("encoding", ""))
    return (
        form_of_lines(path, encoding) if "text" not in options and _is_lines(path, encoding) else detect(path, encoding)
    )


def _is_lines(path: Path, encoding: str) -> bool:
    """Whether a file is a .txt, or such a file compressed, whose lines are not the rows of labelled data."""
    start = FileStart(path, encoding)
    if start.suffix not in LINES or not is_file(path):
        return False
    if is_empty(path):  # its error is that of a text
        return True
    require_read(start)
    form, layout = next((form, layout) for form in FORMATS if (layout := form.sniff(start)))
    if isinstance(layout, WordLines):
        return len(layout.names) == 1  # words without tags, such as short lines between blank ones
    return form is delimited.FORMAT and not columns_of_lines(start)


def text_task(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a file or folder of text. Raises UserError for options that only labelled data has."""
    require_utf_8(name)
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise UserError(f"{name}: is read as unlabelled text, which has no '{unknown[0]}'", "Leave it out")
    column, dev, encoding = (str(options.get(key, "")) for key in ("text", "dev", "encoding"))
    reader = CorpusReader(path=Path(name), column=column, dev=dev, encoding=encoding)
    lines = not column and _is_lines(reader.path, encoding)  # else a name that no labelled task has
    return TextTask(name=data_name(name) if lines else f"{data_name(name)}-text", read=reader)


def scored_on(task: Task, data: str, options: Mapping[str, str]) -> Task | None:
    """The task of a trained encoder on all documents of another text; None for tasks of another type.

    Raises UserError as `text_task`.
    """
    if not isinstance(task, TextTask):
        return None
    return replace(task, name=data_name(data), read=text_task(data, {**options, "dev": data}).read)


def own_text(task: Task) -> CorpusReader | None:
    """A task's reader, if it reads the user's unlabelled text."""
    return task.read if isinstance(task.read, CorpusReader) else None


def column_words(layout: Layout) -> str:
    """The column of texts, and that it was detected if the user did not name it; empty for lines."""
    detected = "" if "text" in layout.reasons else " (found; text=COLUMN names another)"
    return "".join(f"'{name}'{detected}" for name in layout.text)


def reading_lines(read: CorpusReader) -> Iterator[str]:
    """`train corpus.txt: 5,000 documents, 1.2 MB; dev 100 of them`, how the first documents begin, and a note on a
    short text.
    """
    corpus, dev = read.documents, read.splits["dev"].rows
    of_them = f"dev {read.dev}: {so_many(len(dev), 'document')}" if read.dev else f"dev {len(dev):,} of them"
    column = f", column {words}" if (words := column_words(read.layout)) else ""
    yield f"train {read.path}{column}: {so_many(len(corpus), 'document')}, {size_words(corpus.size)} of text; {of_them}"
    for document in corpus[:DOCUMENTS_SHOWN]:
        more = f", and {so_many(len(document.lines) - 1, 'line')} more" if len(document.lines) > 1 else ""
        yield f"document {document.id}: {shown(document.lines[0], 60)}{more}"
    yield from (f"note: {note}" for note in little_text(corpus))
