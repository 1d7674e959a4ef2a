"""Rows of a delimited file for a trained model: their delimiter and columns, as the labels of training tell them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from finetune.data.detect import BY_SUFFIX
from finetune.data.file_start import FileStart
from finetune.data.formats import delimited
from finetune.data.formats.dialect import DELIMITERS, Dialect, csv_reader
from finetune.data.records import column_names
from finetune.data.values import NUMBER
from finetune.data.words.lists import word_list
from finetune.task_types.column_names import EXACT, id_names, place_of

ROWS = 200  # that are inspected
REGULAR = 0.75  # share of the rows that are as wide as in training


@dataclass(frozen=True, kw_only=True)
class TrainedColumns:
    """The columns of a training file: all, those of the texts that are to be read, and of the label; known labels."""

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    layout: Any = None

    @property
    def unlabelled(self) -> tuple[str, ...]:
        """The columns of such a file without labels."""
        return tuple(name for name in self.columns if name not in self.label)


def dialect_for(start: FileStart, known: TrainedColumns) -> Dialect | None:
    """The dialect of training for rows below its header, or without one and as wide as in training."""
    like: Dialect = known.layout
    for skip in {like.skip: None, 0: None} if like.header else ():
        rows = rows_at(start.text, replace(like, skip=skip))
        names = column_names(["", *rows[0]] if like.indexed else rows[0]) if rows else []
        if rows and set(known.text) <= set(names):
            run_on = like.run_on if len(names) == like.width else None
            found = replace(like, skip=skip, run_on=run_on)
            return found if _are_regular(rows[1:], len(names), found) else None
    return _without_header(start, known)


def _without_header(start: FileStart, known: TrainedColumns) -> Dialect | None:
    """The dialect of training, or with another delimiter, for rows as wide as there with labels in their place.

    Numbers, which texts may end in, need the delimiter of training. Rows whose labels are missing or unknown need a
    training file without a header too.
    """
    like: Dialect = known.layout
    signs = DELIMITERS if like.delimiter else ()
    wide = [found for sign in signs if (found := _as_wide(start, known, known.columns, sign))]
    labelled = [found for found in wide if _are_labelled(rows_at(start.text, found), known)]
    others = [found.delimiter for found in wide if found in labelled or found.delimiter == "\t"]  # no text has tabs
    apart = [found for found in labelled if not _is_within(start, found, known, {*others} - {found.delimiter})]
    if len(apart) == 1 and (known.labels or apart[0].delimiter == like.delimiter):
        return apart[0]
    if labelled or like.header:
        return None
    bare = (_as_wide(start, known, names, like.delimiter) for names in (known.columns, known.unlabelled))
    return next((found for found in bare if found and _are_in_place(start, found, known)), None)


def _is_within(start: FileStart, found: Dialect, known: TrainedColumns, signs: Collection[str]) -> bool:
    """Whether most rows have one of the signs in a text."""
    places = [found.names.index(name) for name in known.text]
    rows = [row for row in rows_at(start.text, found) if len(row) == found.width]
    return any(sum(any(sign in row[at] for at in places) for row in rows) > 0.5 * len(rows) for sign in signs)


def _as_wide(start: FileStart, known: TrainedColumns, names: tuple[str, ...], delimiter: str) -> Dialect | None:
    """The dialect of training with this delimiter, where that gives rows of these columns."""
    like: Dialect = replace(known.layout, header=False, indexed=False, skip=0, delimiter=delimiter)
    whole = delimiter == known.layout.delimiter and names == known.columns
    found = replace(like, run_on=like.run_on if whole else None, width=len(names), names=names)
    rows = rows_at(start.text, found)
    return found if rows and _are_regular(rows, len(names), found) and set(known.text) <= {*names} else None


def _are_labelled(rows: Sequence[Sequence[str]], known: TrainedColumns) -> bool:
    """Whether the first row has a label where training rows have it, and thus is not a header, and most others too."""
    return _has_label(rows[0], known) and sum(_has_label(row, known) for row in rows) > 0.5 * len(rows)


def _are_in_place(start: FileStart, found: Dialect, known: TrainedColumns) -> bool:
    """Whether rows without known labels seem to have the columns of training: no text is a label, the first row is not
    a header, and no other delimiter is likelier.
    """
    rows = rows_at(start.text, found)
    if not found.delimiter:
        return is_plain_text(start) and not are_names(rows[0], known)
    if delimited.sniff(start).delimiter not in ("", found.delimiter) or are_names(rows[0], known):
        return False
    columns = dict(zip(found.names, _columns_of_labels(rows, found, known), strict=False))
    others = (replace(found, delimiter=sign) for sign in DELIMITERS if sign != found.delimiter)
    elsewhere = (_columns_of_labels(rows_at(start.text, other), other, known) for other in others)
    return not any(columns.get(name) for name in known.text) and not any(map(any, elsewhere))


def _columns_of_labels(rows: Sequence[Sequence[str]], dialect: Dialect, known: TrainedColumns) -> list[bool]:
    """Whether each column of rows holds labels; none does where there is one column, or rows are not regular."""
    width = len(rows[0])
    if width < 2 or not _are_regular(rows, width, dialect):
        return [False] * width
    whole = [row for row in rows if len(row) == width]
    return [sum(_is_label(row[at].strip(), known) for row in whole) > 0.5 * len(whole) for at in range(width)]


def is_plain_text(start: FileStart) -> bool:
    """Whether a file's suffix is none of a table or a document, so that its lines may be texts."""
    return start.suffix == ".txt" or start.suffix not in BY_SUFFIX


def rows_at(text: str, dialect: Dialect) -> list[list[str]]:
    """The first rows of a text that are not empty."""
    lines = text.splitlines(keepends=True)[dialect.skip :]
    cells = csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote)
    return [row for row, _ in zip((row for row in cells if row), range(ROWS + 1), strict=False)]


def _are_regular(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> bool:
    """Whether nearly all rows have so many cells, or more where a text holds the delimiter."""
    fitting = sum(len(row) == width or (dialect.run_on is not None and len(row) > width) for row in rows)
    return fitting >= REGULAR * len(rows)


def _has_label(cells: Sequence[str], known: TrainedColumns) -> bool:
    """Whether a row has a label where training rows have it: so that it cannot be a header."""
    place = next((known.columns.index(name) for name in known.label if name in known.columns), len(cells))
    return _is_label(cells[place].strip() if place < len(cells) else "", known)


def _is_label(cell: str, known: TrainedColumns) -> bool:
    """Whether a cell is a label of training, or several of them."""
    if not known.labels or len(known.label) > 1:  # numbers, or 0 and 1 for each label
        return NUMBER.fullmatch(cell) is not None
    return cell in known.labels or known.labels.issuperset(re.split(r"\s*[,;| ]\s*", cell))


def are_names(cells: Sequence[str], known: TrainedColumns) -> bool:
    """Whether cells are the names of columns: those of training, or usual ones."""
    given = {cell.strip() for cell in cells}
    if given & {*known.columns, *known.text}:
        return True
    if len(cells) > 1 and given & known.labels:
        return False  # `no` may be a label, and the name of a column of numbers
    usual = (*word_list("text"), *word_list("text_weak"))
    if len(cells) > 1:
        usual = (*usual, *word_list("label"), *word_list("label_subject"), *id_names())
    return any((place_of(cell, usual) or (0,))[0] == EXACT for cell in cells if cell.strip())


def is_above_texts(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of one column is a single word above texts of several words."""
    words = [" ".join(row).split() for row in rows]
    above = len(words) > 2 and len(words[0]) == 1 and re.fullmatch(r"\w+", words[0][0]) is not None
    return above and all(len(row) > 1 for row in words[1:])
