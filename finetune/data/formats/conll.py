"""Files with a word and its tags per line: reads any variant, writes CoNLL columns."""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats.find_words import sniff
from finetune.data.formats.word_lines import DOCUMENT, SPACES, WordLines, fields_of, sentences
from finetune.data.open_files import numbered_lines, utf_8
from finetune.data.records import Record
from finetune.data.values import tags_of
from finetune.errors import UserError
from finetune.metrics.entities import to_iob2

TAG = re.compile(r"O|[BIESLU]-.+")


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each sentence, with a list for each column."""
    with form.open_text(path) as file:
        yield from sentences(enumerate(file, start=1), form.layout)


def read_tagged(path: Path, *, types: Collection[str]) -> Iterator[tuple[int, list[str], list[str]]]:
    """(number of the document, words, tags in IOB2) of every sentence of a UTF-8 file: its first and last column.

    Columns are separated by tabs where the first line has one, else by spaces; documents count from 1 (0: none was
    marked). Raises UserError with file and line for a fault, for a tag of no known scheme, and for one of another type
    than `types`.
    """
    lines = [(number, line.rstrip(" ")) for number, line in numbered_lines(path)]
    first = next((line for _, line in lines if line.split(None, 1)[:1] not in ([], [DOCUMENT])), "")
    delimiter = "\t" if "\t" in first else SPACES
    between = map(str, range(2, len(fields_of(first, delimiter, quoted=False))))
    form = WordLines(delimiter=delimiter, names=("words", *between, "tags"))
    for record in sentences(lines, form, blanks=False):
        if record.fault:
            raise UserError(
                f"{path}:{record.line}: {record.fault.what}",
                "A line is a word, its columns and a tag, with tabs or spaces between; fix that line",
            )
        tags = record.values["tags"]
        for number, tag in enumerate(tags, start=record.line):
            if not TAG.fullmatch(tag) or tag[2:] not in ("", *types):
                what = f"{path}:{number}: '{tag}' is not a tag of one of the types {', '.join(types)}"
                raise UserError(what, "Tags are O, or B, I, E, S, L or U, a hyphen and a type; fix that line")
        yield int(record.values.get("document", 0)), record.values["words"], to_iob2(tags)


def _fits(path: Path, output: OutputFormat, _: int) -> None:
    needed = {"prediction"} if isinstance(output.like, WordLines) else {"words", "prediction"}
    if not needed <= {*output.names}:
        raise UserError(
            f"{path}: CoNLL columns hold words and tags alone, in columns `words` and `prediction`",
            "Choose another format",
        )


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Writes the columns of words, and the prediction last, tab-separated; its tags are O where there is none."""
    names = output.like.names if isinstance(output.like, WordLines) else ("words", "tags")
    prediction = next(name for name in ("predicted prediction", "prediction") if name in output.names)
    with utf_8(file) as text:
        for row in rows:
            words = _words(row) if "words" in row else _column(row.get(names[0]))
            given = [words if name == "words" else _column(row.get(name)) for name in names]
            lists = [cells for cells in given if len(cells) == len(words)] + _predicted(row.get(prediction), len(words))
            text.writelines("\t".join(cells) + "\n" for cells in zip(*lists, strict=True))
            text.write("\n")
    return 0


def _predicted(cell: Any, length: int) -> list[list[str]]:
    """The columns of a prediction: tags, then its other parts, such as an intent; a text is that of all words."""
    parts = sorted(cell.values(), key=lambda part: isinstance(part, str)) if isinstance(cell, dict) else [cell]
    columns = [[part] * length if isinstance(part, str) and len(parts) > 1 else _column(part) for part in parts]
    return [column if len(column) == length else ["O"] * length for column in columns]


def _words(row: FileRow) -> list[str]:
    """The words of a row; of a raw text those that were found in it."""
    cell, found = row.get("words"), row.get("characters")
    return _column([cell[start:end] for start, end in found] if isinstance(cell, str) and found else cell)


def _column(cell: Any) -> list[str]:
    """Words or tags, without characters that would end their column or line."""
    return [re.sub(r"[\t\r\n]", " ", item).strip() or "_" for item in tags_of(cell)]


FORMAT = Format(
    name="word-lines",
    names_columns=False,
    title="one word per line",
    suffixes=(".conll",),
    sniff=sniff,
    read=read,
    fits=_fits,
    write=_write,
)
