"""Which rows are for training and which for dev: files of splits in a folder, or a dev split that is drawn here."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.errors import UserError

SHARE = 0.1  # of the rows that go to dev where no dev file is given
MOST = 10_000  # rows that dev gets at most
NAMES = {"train": r"train(ing)?", "dev": r"dev|valid(ation)?|val|eval", "test": r"test"}
SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".xlsx", ".conll", ".iob", ".bio", ".gz")


def split_files(path: Path, *, dev: str = "", test: str = "") -> dict[str, Path]:
    """The files of the splits: a file is train, in a folder they go by their names; `dev` and `test` may be given.

    Raises UserError where a folder has no file for training, or two that could be one split.
    """
    files = _in_folder(path) if path.is_dir() else {"train": path}
    for name, given in (("dev", dev), ("test", test)):
        if given:
            files[name] = Path(given)
    for name, file in files.items():
        if not file.is_file():
            raise UserError(f"{file}: no such file ({name})", "Check its name")
    return files


def _in_folder(folder: Path) -> dict[str, Path]:
    there = sorted(f for f in folder.iterdir() if f.is_file() and f.suffix.lower() in SUFFIXES and f.name[0] != ".")
    files: dict[str, Path] = {}
    for name, words in NAMES.items():
        found = [
            f for f in there if re.search(rf"(?<![a-z])({words})|({words})(?![a-z])", f.name.lower().split(".gz")[0])
        ]
        if len(found) > 1:
            both = " and ".join(str(file) for file in found[:3])
            raise UserError(
                f"{folder}: {both} could both be the {name} file", "Name the files: FILE dev=FILE test=FILE"
            )
        if found:
            files[name] = found[0]
    if len(there) == 1:
        return {"train": there[0]}
    if "train" not in files:
        listed = ", ".join(file.name for file in there[:5]) or "none that is read"
        raise UserError(
            f"{folder}: has no file for training (its files: {listed})",
            "Name one of them train.csv, or name the file itself",
        )
    return files


def dev_rows(
    texts: Sequence[str], strata: Sequence[Any], groups: Sequence[Any] | None = None, *, share: float = SHARE
) -> set[int]:
    """Numbers of the rows that go to dev: `share` of each stratum, the same for the same rows whatever their order.

    Rows with one text, and rows of one group, stay on one side. At least one row is for training.
    """
    units = _units(texts, groups)
    by_stratum: defaultdict[str, list[tuple[str, list[int]]]] = defaultdict(list)
    for rows in units:
        key = min(texts[row] if groups is None else f"{groups[row]}" for row in rows)
        order = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        by_stratum[str(strata[rows[0]])].append((order, rows))
    share = min(share, MOST / max(1, len(texts)))
    chosen: set[int] = set()
    for members in by_stratum.values():
        wanted = round(share * sum(len(rows) for _, rows in members))
        wanted = max(wanted, 1) if len(members) > 1 else 0
        taken = 0
        for _, rows in sorted(members)[: len(members) - 1]:
            if taken >= wanted:
                break
            if taken and taken + len(rows) > 1.5 * wanted + 1:
                continue
            chosen.update(rows)
            taken += len(rows)
    return chosen


def number_strata(values: Sequence[float]) -> list[int]:
    """The tenth that each number is in."""
    ranks = {value: rank for rank, value in enumerate(sorted(values))}
    return [10 * ranks[value] // max(1, len(values)) for value in values]


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
