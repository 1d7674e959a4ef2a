"""Whether a path is data, and which file of a folder is which split."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from finetune.data.formats.class_folders import class_folders
from finetune.data.formats.parquet import is_saved
from finetune.data.formats.refused import require_read
from finetune.data.label_names import FILES as LABEL_FILES
from finetune.data.messages import first_of
from finetune.data.open_files import FileStart
from finetune.data.paths import (
    exists,
    is_folder,
    is_pattern,
    paths_in,
    require_file,
    require_here,
    require_utf_8,
)
from finetune.errors import UserError

NAMES = {
    "train": r"train(ing)?(set|data)?",
    "dev": r"dev(el|elopment)?(set|data)?|valid(ation)?(set|data)?|val|eval(uation)?",
    "test": r"test(ing)?(set|data)?",
}
PART = re.compile(r"-\d{5}-of-(\d{5})")
WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")  # words of a file's name: between other signs, or from a capital on
NO_DATA = re.compile(
    r"(readme|licen[cs]e|changelog|citation|notice|authors)\b.*"
    r"|.*\.(md|rst|pdf|html?|py|sh|ipynb|toml|ya?ml|zip|tar|png|jpe?g|svg|log|lock|bin|pt|pkl|safetensors|model|xml"
    r"|docx?|pyc|cfg|ini|bib|tex)",
    re.IGNORECASE,
)


def split_files(path: Path, *, dev: str = "", test: str = "") -> dict[str, Path]:
    """Finds the files of the splits: a file is train, in a folder names decide; `dev` and `test` may be given.

    Raises UserError where a folder has no file for training, or two that could be one split, and for a pattern.
    """
    if is_pattern(path):
        raise UserError(
            f"{path}: names several files, and data with labels is one file or a folder",
            "Name the file, or add shape=text to read unlabelled text",
        )
    try:
        files = _in_folder(path) if is_folder(path) else {"train": path}
    except OSError as error:
        raise UserError(
            f"{error.filename}: cannot be read ({error.strerror})", "Name a file or another folder"
        ) from error
    for name, typed in (("dev", dev), ("test", test)):
        if typed:
            files[name] = Path(typed)
    for name, file in ((name, part) for name, several in files.items() for part in paths_in(several)):
        require_here(file)
        if not exists(file):
            raise UserError(f"{file}: no such file ({name})", "Check its name")
        require_utf_8(file)
        require_read(FileStart(file), by=["name"])
        if not (is_folder(file) and (class_folders(file) or is_saved(file))):
            require_file(file)
    return files


def _in_folder(folder: Path) -> dict[str, Path]:
    """The files, or folders of classes or saved splits, of a folder that are splits; or of the only folder in it that
    has files of data, as in the Hub's layout.
    """
    if class_folders(folder) or is_saved(folder):
        return {"train": folder}
    folders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    for path in (folder, *folders):
        require_read(FileStart(path), by=["name"])
    inner = [path for path in folders if class_folders(path) or is_saved(path)]
    splits = _named(folder, inner, lambda path, words: re.fullmatch(words, path.name.lower()))
    if "train" in splits:
        return splits
    files_here = _data_files(folder)
    deeper = [path for path in folders if path.name[0] != "." and _data_files(path)]
    if deeper and not files_here:
        if len(deeper) == 1:
            return _in_folder(deeper[0])
        names = ", ".join(path.name for path in deeper[:5])
        raise UserError(f"{folder}: has several folders with data: {names}", f"Name one: {deeper[0]}")
    files = _named(folder, files_here, _says)
    for name, file in files.items():
        first = next(other for other in files if files[other] == file)
        if first != name:
            raise UserError(f"{file}: its name says {name} and {first}", "Name the files: FILE dev=FILE test=FILE")
    if len(files_here) == 1:
        return {"train": files_here[0]}
    if "train" in files:
        return files
    left = [file.name for file in files_here if file not in files.values()]
    what = f"any of {first_of(left, 5)} could be the train file"
    if len(left) < 2:
        names = ", ".join(file.name for file in files_here[:5]) or "none of a supported format"
        what = f"has no file for training (its files: {names})"
    raise UserError(
        f"{folder}: {what}",
        "Name one of them train.csv, or name the file itself: finetune run FILE dev=FILE; a folder of text without "
        "labels is read with shape=text",
    )


def _data_files(folder: Path) -> list[Path]:
    """The files that may have rows; the parts of one, such as `train-00000-of-00002.parquet`, as one name with commas.

    Raises UserError where a part is missing.
    """
    files = sorted(f for f in folder.iterdir() if f.is_file() and f.name[0] != "." and _may_be_data(f))
    wholes: dict[str, list[Path]] = {}
    for file in files:
        if not LABEL_FILES.fullmatch(file.name):
            wholes.setdefault(PART.sub(r"-of-\1", file.name), []).append(file)
    for parts in wholes.values():
        if (numbered := PART.search(parts[0].name)) and int(numbered[1]) != len(parts):
            count = f"{len(parts)} of {int(numbered[1])} parts"
            raise UserError(f"{folder}: has {count} of {parts[0].name}", "Download the others")
    return [Path(",".join(map(str, parts))) for parts in wholes.values()]


def _named(folder: Path, paths: Sequence[Path], says: Callable[[Path, str], object]) -> dict[str, Path]:
    """The paths that are named like splits. Raises UserError for two that could be one split."""
    splits: dict[str, Path] = {}
    for name, words in NAMES.items():
        matches = [path for path in paths if says(path, words)]
        if len(matches) > 1:
            both = " and ".join(map(str, matches[:3]))
            raise UserError(
                f"{folder}: {both} could both be the {name} file", "Name the files: FILE dev=FILE test=FILE"
            )
        if matches:
            splits[name] = matches[0]
    return splits


def split_named(name: str) -> str:
    """The split that a word in a name says: `validation` is dev; empty where none does."""
    return next((split for split, words in NAMES.items() if _says(Path(name), words)), "")


def _says(file: Path, words: str) -> bool:
    return any(re.fullmatch(words, word.lower()) for word in WORD.findall(file.name))


def _may_be_data(file: Path) -> bool:
    if file.suffix.lower() in (".xml", ".yaml", ".yml"):
        return any(_says(file, words) for words in NAMES.values())
    return not NO_DATA.fullmatch(file.name)
