"""Which rows are for training and which for dev: files of splits in a folder, or a dev split that is drawn here."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.data.characters import same_text
from finetune.data.formats.class_folders import class_folders
from finetune.data.formats.companions import is_companion
from finetune.data.label_names import FILES as LABEL_FILES
from finetune.errors import UserError
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.columns import Layout
from finetune.task_types.row_builder import gold_of, input_of
from finetune.task_types.span.task import SpanRow
from finetune.task_types.tagging.task import TaggingRow
from finetune.task_types.task import Row

SHARE = 0.1  # of the rows that go to dev where no dev file is given
MOST = 10_000  # rows that dev gets at most
NAMES = {
    "train": r"train(ing)?(set|data)?",
    "dev": r"dev(el|elopment)?(set|data)?|valid(ation)?(set|data)?|val|eval(uation)?",
    "test": r"test(ing)?(set|data)?",
}
WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")  # of a file's name: what stands between other signs, or begins with a capital
NO_DATA = re.compile(
    r"(readme|licen[cs]e|changelog|citation|notice|authors)\b.*"
    r"|.*\.(md|rst|pdf|html?|py|sh|ipynb|toml|ya?ml|zip|tar|png|jpe?g|svg|log|lock|bin|pt|pkl|safetensors|model|xml"
    r"|docx?|pyc|cfg|ini|bib|tex)",
    re.IGNORECASE,
)


def split_files(path: Path, *, dev: str = "", test: str = "") -> dict[str, Path]:
    """The files of the splits: a file is train, in a folder they go by their names; `dev` and `test` may be given.

    Raises UserError where a folder has no file for training, or two that could be one split.
    """
    files = _in_folder(path) if path.is_dir() else {"train": path}
    for name, given in (("dev", dev), ("test", test)):
        if given:
            files[name] = Path(given)
    for name, file in files.items():
        if not file.is_file() and not (file.is_dir() and class_folders(file)):
            raise UserError(f"{file}: no such file ({name})", "Check its name")
    return files


def _in_folder(folder: Path) -> dict[str, Path]:
    if class_folders(folder):
        return {"train": folder}
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and class_folders(path)]
    splits = {name: path for name, words in NAMES.items() for path in inner if re.fullmatch(words, path.name.lower())}
    if "train" in splits:
        return splits
    there = sorted(f for f in folder.iterdir() if f.is_file() and f.name[0] != "." and not NO_DATA.fullmatch(f.name))
    there = [file for file in there if not LABEL_FILES.fullmatch(file.name) and not is_companion(file)]
    files: dict[str, Path] = {}
    for name, words in NAMES.items():
        found = [f for f in there if any(re.fullmatch(words, word.lower()) for word in WORD.findall(f.name))]
        if len(found) > 1:
            both = " and ".join(str(file) for file in found[:3])
            raise UserError(
                f"{folder}: {both} could both be the {name} file", "Name the files: FILE dev=FILE test=FILE"
            )
        if found and found[0] in files.values():
            both = f"{name} and {next(other for other, file in files.items() if file == found[0])}"
            raise UserError(f"{found[0]}: its name says {both}", "Name the files: FILE dev=FILE test=FILE")
        if found:
            files[name] = found[0]
    if len(there) == 1:
        return {"train": there[0]}
    if "train" not in files:
        listed = ", ".join(file.name for file in there[:5]) or "none that is read"
        raise UserError(
            f"{folder}: has no file for training (its files: {listed})",
            "Name one of them train.csv, or name the file itself: finetune run FILE dev=FILE",
        )
    return files


def drawn_for_dev(layout: Layout, rows: Sequence[Row], groups: Sequence[Any] | None = None) -> set[int]:
    """Which of the rows are dev: stratified by label, by group where there is one, equal texts on one side."""
    texts = [unit_text(row) for row in rows]
    if groups is None and len(set(texts)) < 2:  # one document, or one context: then its sentences, or its questions
        texts = [same_text(input_of(row)) for row in rows]
    return dev_rows(texts, _strata(layout, rows), groups)


def unit_text(row: Row) -> str:
    """What rows that must stay together have in common: their text, context, words or document."""
    if isinstance(row, TaggingRow) and row.document:
        return row.document
    return same_text(row.context if isinstance(row, SpanRow | ChoiceRow) else input_of(row))


def dev_rows(
    texts: Sequence[str], strata: Sequence[Any], groups: Sequence[Any] | None = None, *, share: float = SHARE
) -> set[int]:
    """Numbers of the rows that go to dev: `share` of each stratum, the same for the same rows whatever their order.

    Rows with one text, and rows of one group, stay on one side: they are a unit. Strata of which that would be less
    than a row or a unit give one, as long as dev has no more than twice the share.
    """
    share = min(share, MOST / max(1, len(texts)))
    chosen: set[int] = set()
    spare: list[Unit] = []
    every: list[Unit] = []
    for members in _by_stratum(texts, strata, groups).values():
        drawn = _drawn(members, share)
        chosen.update(drawn)
        every += members if groups is not None or len(members) > 1 else []
        spare += [min(members, key=_by_size)] if not drawn and len(members) > 1 else []
    room = max(2, round(2 * share * len(texts))) - len(chosen)
    for unit in sorted(spare, key=_by_size):
        if len(unit[1]) <= room:
            chosen.update(unit[1])
            room -= len(unit[1])
    return chosen if chosen or len(every) < 2 else set(min(every, key=_by_size)[1])


def number_strata(values: Sequence[float]) -> list[int]:
    """The tenth that each number is in; of few numbers a larger part, so that each part has two."""
    ranks = {value: rank for rank, value in enumerate(sorted(values))}
    parts = max(1, min(10, len(values) // 2))
    return [parts * ranks[value] // max(1, len(values)) for value in values]


Unit = tuple[str, list[int]]  # what it is sorted by, and the numbers of its rows


def _by_size(unit: Unit) -> tuple[int, str]:
    return len(unit[1]), unit[0]


def _by_stratum(texts: Sequence[str], strata: Sequence[Any], groups: Sequence[Any] | None) -> Mapping[str, list[Unit]]:
    """The units of each stratum, which is that of most of their rows, in an order that looks like chance."""
    by_stratum: defaultdict[str, list[Unit]] = defaultdict(list)
    for rows in _units(texts, groups):
        key = min(texts[row] if groups is None else f"{groups[row]}" for row in rows)
        order = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        counts = Counter(str(strata[row]) for row in rows)
        by_stratum[max(counts, key=lambda name: (counts[name], name))].append((order, rows))
    return {name: sorted(units) for name, units in by_stratum.items()}


def _drawn(members: Sequence[Unit], share: float) -> list[int]:
    """The rows of the first units that are `share` of them all together, without those that are too large for that."""
    wanted = round(share * sum(len(rows) for _, rows in members))
    taken: list[int] = []
    for _, rows in members[: len(members) - 1]:
        if len(taken) < wanted and len(taken) + len(rows) <= 1.5 * wanted + 1:
            taken += rows
    return taken


def _strata(layout: Layout, rows: Sequence[Row]) -> list[Any]:
    """What each of the two sides should have alike: labels, but for sets that come once, or tenths of the numbers."""
    golds = [gold_of(row) for row in rows]
    if layout.shape == "regression":
        return number_strata(golds)
    if layout.shape == "multi-label":
        counts = Counter(golds)
        return [gold if counts[gold] > 1 else "" for gold in golds]
    return golds if layout.shape == "classification" else [""] * len(rows)


def _units(texts: Sequence[str], groups: Sequence[Any] | None) -> list[list[int]]:
    """Rows that must stay together: connected by an equal text or an equal group."""
    parent = list(range(len(texts)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[tuple[int, Any], int] = {}
    keys: list[Mapping[int, Any] | Sequence[Any]] = [texts, *([groups] if groups is not None else [])]
    for kind, column in enumerate(keys):
        for row in range(len(texts)):
            other = first.setdefault((kind, column[row]), row)
            parent[root(row)] = root(other)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for row in range(len(texts)):
        members[root(row)].append(row)
    return list(members.values())
