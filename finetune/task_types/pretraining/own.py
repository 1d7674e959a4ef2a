"""A user's own text as a task: `finetune run corpus.txt`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.detect import FORMATS, detect
from finetune.data.documents.corpus_file import LINES, CorpusStart, columns_of_lines
from finetune.data.documents.document import form_of_lines
from finetune.data.file_format import FileFormat
from finetune.data.formats import delimited
from finetune.data.formats.refused import require_no_labels, require_read
from finetune.data.formats.word_lines import WordLines
from finetune.data.messages import shown, size_words, so_many
from finetune.data.paths import is_file, is_pattern, matching, require_utf_8
from finetune.errors import UserError
from finetune.runs.folder import data_name
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.columns import Text
from finetune.task_types.pretraining.reader import CorpusReader, little_text
from finetune.task_types.pretraining.task import TextTask
from finetune.task_types.task import Task

OPTIONS = ("shape", "text", "dev", "encoding")  # of a text
DOCUMENTS_SHOWN = 2


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
        require_no_labels(CorpusStart(file, encoding))
    return True


def reading_of(task: str, path: Path, options: Mapping[str, Any]) -> FileFormat:
    """How a file is read for a model of this type of task: one of text reads lines as it did in training.

    Raises UserError for a file that cannot be read.
    """
    encoding = str(options.get("encoding", ""))
    lines = task == Text.name and "text" not in options and _is_lines(path, encoding)
    return form_of_lines(path, encoding) if lines else detect(path, encoding)


def _is_lines(path: Path, encoding: str) -> bool:
    """Whether a file is a .txt, or such a file compressed, whose lines are not the rows of labelled data."""
    start = CorpusStart(path, encoding)
    if start.suffix not in LINES or not is_file(path):
        return False
    require_read(start)
    found, layout = next((one, layout) for one in FORMATS if (layout := one.sniff(start)))
    if isinstance(layout, WordLines):
        return len(layout.names) == 1  # words without tags, such as short lines between blank ones
    return found is delimited.FORMAT and not columns_of_lines(start)


def text_task(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a file or folder of text. Raises UserError for options that only labelled data has."""
    require_utf_8(name)
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise UserError(f"{name}: is read as unlabelled text, which has no '{unknown[0]}'", "Leave it out")
    column, dev, encoding = (str(options.get(key, "")) for key in ("text", "dev", "encoding"))
    reader = CorpusReader(path=Path(name), column=column, dev=dev, encoding=encoding)
    return TextTask(name=_task_name(name, reader), read=reader)


def _task_name(name: str, reader: CorpusReader) -> str:
    """The name of a file of plain text, such as `corpus.txt`; else a name that no labelled task has."""
    only_text = not reader.column and _is_lines(reader.path, reader.encoding)
    return data_name(name) if only_text else f"{data_name(name)}-text"


def scored_on(task: Task, data: str, options: Mapping[str, str]) -> Task | None:
    """The task of a trained encoder on all documents of another text; None for tasks of another type.

    Raises UserError for a label, which a text has not.
    """
    if not isinstance(task, TextTask):
        return None
    if "label" in options:
        raise UserError(f"{data}: is scored as unlabelled text, which has no label", "Leave label= out")
    column, encoding = options.get("text", ""), options.get("encoding", "")
    read = CorpusReader(path=Path(data), column=column, dev=data, encoding=encoding)
    return replace(task, name=data_name(data), read=read)


def own_text(task: Task) -> CorpusReader | None:
    """A task's reader, if it reads the user's unlabelled text."""
    read = task.reader
    return read if isinstance(read, CorpusReader) else None


def column_words(layout: Layout) -> str:
    """The column of texts, and that it was found if the user did not name it; empty for lines."""
    found = "" if "text" in layout.reasons else " (found; text=COLUMN names another)"
    return "".join(f"'{name}'{found}" for name in layout.text)


def reading_lines(read: CorpusReader) -> Iterator[str]:
    """`train corpus.txt: 5,000 documents, 1.2 MB; dev 100 of them`, how the first documents begin, and a note on a
    short text.
    """
    corpus, dev = read.documents, read.splits["dev"].rows
    of_them = f"dev {read.dev}: {so_many(len(dev), 'document')}" if read.dev else f"dev {len(dev):,} of them"
    size = size_words(corpus.survey.size)
    column = f", column {found}" if (found := column_words(read.layout)) else ""
    yield f"train {read.path}{column}: {so_many(len(corpus), 'document')}, {size} of text; {of_them}"
    for document in islice(iter(corpus), DOCUMENTS_SHOWN):
        more = f", and {so_many(len(document.lines) - 1, 'line')} more" if len(document.lines) > 1 else ""
        yield f"document {document.id}: {shown(document.lines[0], 60)}{more}"
    yield from (f"note: {note}" for note in little_text(corpus))
