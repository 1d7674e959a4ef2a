"""brat's standoff annotations: the entities of `a.txt` in `a.ann`, in a folder of such files or for one of them."""

import re
from collections.abc import Iterator
from pathlib import Path

from finetune.data.bounds import LONGEST_TEXT
from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.paths import is_folder, read_small_text
from finetune.data.records import Record

TEXT, ANNOTATIONS = ".txt", ".ann"
ENTITY = re.compile(r"T\d+\t(\S+) (\d+) (?:\d+;\d+ )*(\d+)\t")  # of several pieces from the first to the last
LINE_END = re.compile(r"\r\n|\n|\r")


def annotated(path: Path) -> list[Path]:
    """The annotated texts in a folder, or that of a file of texts or annotations; none where there are others."""
    if is_folder(path):
        found = [file.with_suffix(TEXT) for file in sorted(path.glob(f"*{ANNOTATIONS}"))]
    else:
        found = [path.with_suffix(TEXT)] if path.suffix in (TEXT, ANNOTATIONS) else []
    return [file for file in found if file.is_file() and file.with_suffix(ANNOTATIONS).is_file()]


def sniff(start: FileStart) -> str:
    """What holds the entities, if a path is a text with annotations or a folder of them."""
    return "entities in .ann files" if annotated(start.path) else ""


def read(path: Path, _: FileFormat) -> Iterator[Record]:
    """Yields a record for each line of a text; an entity that spans lines keeps them together."""
    row = 0
    for file in annotated(path):
        text = read_small_text(file, most=LONGEST_TEXT, encoding="utf-8")
        lines = read_small_text(file.with_suffix(ANNOTATIONS), most=LONGEST_TEXT, encoding="utf-8")
        found = [match for line in LINE_END.split(lines) if (match := ENTITY.match(line))]
        spans = sorted((int(match[2]), int(match[3]), match[1]) for match in found)
        for start, end in _pieces(text, spans):
            inside = [[a - start, b - start, kind] for a, b, kind in spans if start <= a < b <= end]
            row += 1
            yield Record(row=row, line=row, values={"text": text[start:end], "entities": inside, "file": file.name})


def _pieces(text: str, spans: list[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """(start, end) of each line that is not blank, or of several that an entity spans."""
    start = 0
    for match in [*LINE_END.finditer(text), None]:
        end = len(text) if match is None else match.start()
        if match is not None and any(a < match.end() and b > match.start() for a, b, _ in spans):
            continue
        if text[start:end].strip():
            yield start, end
        start = end if match is None else match.end()


FORMAT = Format(name="brat", title="texts of brat", text=False, names_columns=False, sniff=sniff, read=read)
