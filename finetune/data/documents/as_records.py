"""A file of lines of text as a file of rows, so that each document can be predicted: one column, `text`."""

from collections.abc import Iterator
from pathlib import Path

from finetune.data.documents.columns import USUAL
from finetune.data.documents.corpus_file import corpus_files
from finetune.data.documents.document import read_documents
from finetune.data.file_format import FileFormat, Format
from finetune.data.records import Record


def form_of_lines(path: Path, encoding: str = "") -> FileFormat:
    """How a file of lines is read, in the encoding that is given or detected. Raises UserError as `corpus_files`."""
    (file,) = corpus_files(path, encoding)
    return FileFormat(format=FORMAT, compression=file.compression, encoding=file.encoding)


def _read(path: Path, form: FileFormat) -> Iterator[Record]:
    for number, document in enumerate(read_documents(path, encoding=form.encoding), start=1):
        yield Record(row=number, line=number, values={USUAL: document.text})


FORMAT = Format(
    name="documents", title="lines of text", sniff=lambda _: None, read=_read, lines=False, names_columns=False
)
