"""Words, tags and a label in files of a line per row, as for ATIS: `seq.in`, `seq.out` and `label`, in a folder or with
a split's name before them (`train.seq.in`).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from finetune.data.bounds import LONGEST_TEXT
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.paths import is_folder, read_small_text
from finetune.data.records import Record
from finetune.errors import UserError

WORDS, TAGS, LABEL = "seq.in", "seq.out", "label"  # the names of columns too
NAME = re.compile(rf"(.*?)({re.escape(WORDS)}|{re.escape(TAGS)}|{LABEL})")


def slot_files(path: Path) -> dict[str, Path]:
    """The files in a folder, or those next to one of them, by column; empty without words and their tags."""
    match = NAME.fullmatch(path.name)
    if is_folder(path):
        found = {name: path / name for name in (WORDS, TAGS, LABEL)}
    elif match:
        found = {name: path.with_name(match[1] + name) for name in (WORDS, TAGS, LABEL)}
    else:
        return {}
    found = {name: file for name, file in found.items() if file.is_file()}
    return found if {WORDS, TAGS} <= {*found} else {}


def is_next_to_words(path: Path) -> bool:
    """Whether a file holds the tags or the labels of words in a file next to it."""
    return slot_files(path).get(WORDS, path) != path


def sniff(start: FileStart) -> str:
    """The files, if a path is one of them or a folder of them."""
    return ", ".join(file.name for file in slot_files(start.path).values())


def read(path: Path, _: FileFormat) -> Iterator[Record]:
    """Yields a record for each line, the tags as a list. Raises UserError where a file has another number of lines."""
    files = slot_files(path)
    lines = {name: _lines(file) for name, file in files.items()}
    if len({*map(len, lines.values())}) > 1:
        counted = ", ".join(f"{files[name].name} {len(some):,}" for name, some in lines.items())
        raise UserError(f"{path}: its files differ in their numbers of lines ({counted})", "Give each row one in each")
    for row, cells in enumerate(zip(*lines.values(), strict=True), start=1):
        values = zip(lines, cells, strict=True)
        yield Record(row=row, line=row, values={n: cell.split() if n == TAGS else cell for n, cell in values})


def _lines(file: Path) -> list[str]:
    lines = re.split(r"\r\n|\n|\r", read_small_text(file, most=LONGEST_TEXT, encoding="utf-8-sig"))
    return lines if lines[-1] else lines[:-1]


FORMAT = Format(name="slot-files", title="words, tags and labels by line", text=False, sniff=sniff, read=read)
