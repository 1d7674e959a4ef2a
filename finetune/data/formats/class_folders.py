"""One folder per class and one file per text: `train/pos/12_9.txt`, where the folder's name is the label."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from finetune.data.encodings import find_encoding
from finetune.data.file_format import FileFormat, Format
from finetune.data.open_files import FileStart, open_bytes
from finetune.data.paths import is_folder
from finetune.data.records import Record

FEWEST_CLASSES = 2
NO_CLASS = re.compile(r"[._].*|unsup(ervised)?|unlabell?ed", re.IGNORECASE)
TEXTS = ("", ".txt", ".text", ".story", ".review")  # suffixes of files that are texts


@dataclass(frozen=True, kw_only=True)
class ClassFolders:
    """The encoding that the user set for all texts; empty where it is detected for each."""

    encoding: str = ""

    def __str__(self) -> str:
        return "the folder's name is the label"


def class_folders(folder: Path) -> list[Path]:
    """The folders of the classes in a folder; none where it holds anything else."""
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not NO_CLASS.fullmatch(path.name))
    classes = [path for path in inner if _texts(path)]
    return classes if len(classes) >= FEWEST_CLASSES and len(classes) == len(inner) else []


def sniff(start: FileStart) -> ClassFolders | None:
    """Returns the layout if a path is a folder of class folders."""
    return ClassFolders(encoding=start.given) if is_folder(start.path) and class_folders(start.path) else None


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each text, with its label and the file's name."""
    files = ((folder, file) for folder in class_folders(path) for file in _texts(folder))
    for row, (folder, file) in enumerate(files, start=1):
        text = _text(file, form.layout.encoding).strip()
        yield Record(
            row=row, line=row, values={"text": text, "label": folder.name, "file": f"{folder.name}/{file.name}"}
        )


def _text(file: Path, encoding: str) -> str:
    opened = partial(open_bytes, file, compression="")
    with opened() as raw:
        content = raw.read()
    return content.decode(find_encoding(file, opened, encoding).name, errors="replace") if content.strip() else ""


def _texts(folder: Path) -> list[Path]:
    """The text files in a folder; none where it holds other files too."""
    inside = [path for path in folder.iterdir() if path.name[0] != "."]
    texts = sorted(path for path in inside if path.is_file() and _is_text(path))
    return texts if len(texts) == len(inside) else []


def _is_text(path: Path) -> bool:
    return path.suffix.lower() in TEXTS or path.suffix[1:].isdigit()


FORMAT = Format(name="folders", title="one file per text", text=False, names_columns=False, sniff=sniff, read=read)
