"""Texts in one file and their labels in another, line by line: `train_text.txt` and `train_labels.txt`."""

import re
from array import array
from pathlib import Path

from finetune.data.file_format import FileFormat
from finetune.data.file_start import WITHIN
from finetune.data.formats.delimited import FORMAT
from finetune.data.formats.dialect import Dialect
from finetune.data.open_files import open_bytes
from finetune.data.table import Table
from finetune.errors import UserError

WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
TEXTS = re.compile(r"texts?|sentences?|inputs?|x", re.IGNORECASE)
ONE_COLUMN = Dialect(delimiter="", quoted=False, header=False)
LABELS = re.compile(r"labels?|tags?|targets?|scores?|ratings?|golds?|gs|y", re.IGNORECASE)
PLAIN = ("", ".txt", ".text")  # suffixes of files with a text a line
OF_LABELS = (".label", ".labels", ".lab", ".score", ".scores", ".gs", ".y")


def labels_of_texts(path: Path) -> Path | None:
    """The file with the labels of a file of texts, found next to it by name; None where there is none.

    `train_text.txt` has `train_labels.txt`, and `train.txt` has `train.labels`.
    """
    own = (path.with_suffix(suffix) for suffix in OF_LABELS if path.suffix.lower() in PLAIN)
    words = _without(path, TEXTS)
    named = (other for other in sorted(path.parent.glob(f"*{path.suffix}")) if words == _without(other, LABELS))
    return next((file for file in own if file.is_file()), None) or (next(named, None) if words else None)


def is_label_file(path: Path) -> bool:
    """Whether a file holds the labels of a file of texts next to it."""
    named = any(map(LABELS.fullmatch, WORD.findall(path.stem)))
    pattern = f"{path.stem}*" if path.suffix.lower() in OF_LABELS else f"*{path.suffix}" if named else ""
    others = path.parent.glob(pattern) if pattern else ()
    return any(labels_of_texts(other) == path for other in others if other != path)


def _without(path: Path, pattern: re.Pattern[str]) -> list[str]:
    """The words of a file's name, without the one that fits a pattern; none where several fit, or none does."""
    words = ["" if pattern.fullmatch(word) else word.lower() for word in WORD.findall(path.stem)]
    return words if words.count("") == 1 else []


def read_pair(texts: Path, labels: Path, encoding: str) -> Table:
    """The columns `text` and `label`, one row per line; two texts with a tab between are `sentence1` and `sentence2`.

    Raises UserError where the numbers of lines differ.
    """
    some, others = _lines(texts, encoding), _lines(labels, "utf-8-sig")
    if len(some) != len(others):
        raise UserError(
            f"{texts}: has {len(some):,} lines, and {labels.name}, which seems to hold their labels, {len(others):,}",
            "Give each text one line of labels, or rename the file of labels",
        )
    rows = array("q", range(1, len(some) + 1))
    form = FileFormat(format=FORMAT, encoding=encoding, layout=ONE_COLUMN)
    return Table(path=texts, form=form, columns={**_texts(some), "label": others}, rows=rows, lines=rows, faults=[])


def _texts(lines: list[str]) -> dict[str, list[str]]:
    """The column of texts, or two of them where each line has one tab."""
    if not lines or any(line.count("\t") != 1 for line in lines):
        return {"text": lines}
    first, second = zip(*(line.split("\t") for line in lines), strict=True)
    return {"sentence1": [*first], "sentence2": [*second]}


def _lines(path: Path, encoding: str) -> list[str]:
    with open_bytes(path, compression="") as file:
        text = file.read().decode(encoding, "replace")
    ends = r"\r?\n" if text.count("\n") > len(WITHIN.findall(text)) else r"\r\n|\n|\r"
    lines = re.split(ends, text)
    return lines[:-1] if lines and not lines[-1] else lines
