"""A folder for each class and a file for each text: `train/pos/12_9.txt`, where the folder's name is the label."""

import re
from collections.abc import Callable
from pathlib import Path

FEWEST = 2  # classes
NO_CLASS = re.compile(r"[._].*|unsup(ervised)?|unlabell?ed", re.IGNORECASE)
SUFFIXES = ("", ".txt", ".text", ".story", ".review")


def class_folders(folder: Path) -> list[Path]:
    """The folders of the classes in a folder; none where it holds something else."""
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not NO_CLASS.fullmatch(path.name))
    classes = [path for path in inner if _texts(path)]
    return classes if len(classes) >= FEWEST and len(classes) == len(inner) else []


def texts_of(folder: Path, read: Callable[[Path], str]) -> dict[str, list[str]]:
    """Columns `text`, `label` and `file`, a row a file; `read` gives a file's text."""
    columns: dict[str, list[str]] = {"text": [], "label": [], "file": []}
    for path in class_folders(folder):
        for file in _texts(path):
            columns["text"].append(read(file).strip())
            columns["label"].append(path.name)
            columns["file"].append(f"{path.name}/{file.name}")
    return columns


def _texts(folder: Path) -> list[Path]:
    """The texts in a folder; none where it holds other things too."""
    inside = [path for path in folder.iterdir() if path.name[0] != "."]
    texts = sorted(path for path in inside if path.is_file() and _is_text(path))
    return texts if len(texts) == len(inside) else []


def _is_text(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES or path.suffix[1:].isdigit()
