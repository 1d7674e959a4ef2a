"""`finetune check DATA --fix OUT`: a copy of a file with everything fixed that needs no decision."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from finetune.checks.split_data import SplitFile, labelled
from finetune.data.atomic import require_replaceable_output
from finetune.data.characters import cleaned, is_mojibake, unified, without_controls
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.paths import is_folder
from finetune.data.values import as_text, is_missing
from finetune.data.writing import keeps_mark, write_rows, written_format
from finetune.errors import UserError
from finetune.task_types.columns import EMPTY_WORD, MISSING_TEXT, Layout, NoRow

DROPPED = {MISSING_TEXT: "without a text", EMPTY_WORD: "with an empty word"}
CHANGES: Mapping[str, Callable[[str], str]] = {
    "cells without their control characters": without_controls,
    "cells normalised to NFC": partial(unicodedata.normalize, "NFC"),
    "cells without their outer spaces": str.strip,
}


def require_place_for_copy(to: Path, target: str, *, force: bool) -> None:
    """Raises UserError where no fixed copy of the target may be written to that file."""
    if is_folder(target):
        raise UserError(f"`fix` writes one file, and {target} is a folder", "Check its files one by one")
    written_format(to)
    require_replaceable_output(to, reads=[target], force=force)


def write_fixed(part: SplitFile, to: Path) -> dict[str, int]:
    """Writes the fixed copy and returns how often each fix was applied. Raises UserError if it cannot be written."""
    table, form, holds = part.table, part.table.form, written_format(to).cells
    if holds != "lists" and any(isinstance(cell, list | dict) for cells in table.columns.values() for cell in cells):
        raise UserError(f"{to}: cells of {part.file} hold lists", "Name a file that ends with .jsonl")
    header = first_cells(table.path, form) if dialect_of(form).header else []
    counts = Counter(
        {
            "byte-order mark removed": int(form.encoding == "utf-8-sig" and not keeps_mark(to, form)),
            "file written in UTF-8": int(form.format.text and not form.encoding.startswith("utf-8")),
            "column names fixed": sum(old != new for old, new in zip(header, table.columns, strict=False)),
            "rows dropped that could not be read": len(table.faults),
        }
    )
    rows = list(_rows(part, counts))  # some writers iterate twice
    if holds == "texts":
        rows = [{name: _as_cell(cell) for name, cell in row.items()} for row in rows]
    names = [name for name in table.columns if name not in table.derived]
    write_rows(to, rows, names, like=form)
    return dict(+counts)


def _as_cell(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if is_missing(cell) else as_text(cell)


def _rows(part: SplitFile, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """The rows that are not dropped, texts cleaned and labels in their most frequent spelling; counts each fix."""
    layout, kind = part.layout, part.kind
    spellings = unified(part.label_counts) if kind.closed_labels and kind.labels_rows else {}
    has_labels, seen = labelled(part), set[tuple[int, Any]]()
    for record, key in zip(part.table.records(), part.keys.tolist(), strict=True):
        done: list[str] = []
        values = _cleaned(layout, dict(record.values), done)
        for name in layout.label if spellings else ():
            spelled = _spelled(values.get(name), layout.separator, spellings)
            done += ["labels spelled as most rows have them"] * (spelled != values.get(name))
            values[name] = spelled
        gold, lacks = None, ""
        try:
            gold = kind.row(layout, values, "").gold
            lacks = "without a label" if has_labels and gold is None else ""
        except NoRow as why:
            lacks = DROPPED.get(why.fault.issue, "")
        if lacks:
            counts[f"rows dropped {lacks}"] += 1
        elif key and (key, gold) in seen:
            counts["rows dropped that repeat an earlier one"] += 1
        else:
            seen.add((key, gold))
            counts.update(done)
            yield values


def _cleaned(layout: Layout, values: dict[str, Any], done: list[str]) -> dict[str, Any]:
    """A record with its texts and labels cleaned; texts stay as they are where labels are places in them."""
    parts = [*values, *map(values.get, layout.label)]
    placed = bool(layout.spans or layout.span_ends or layout.characters)
    placed = placed or any("answer_start" in str(part) for part in parts)
    for name in () if placed else (*layout.text, *layout.label):
        cell = values.get(name)
        if isinstance(cell, str):
            values[name] = _clean(cell, done)
        elif isinstance(cell, list):
            values[name] = [_clean(item, done) if isinstance(item, str) else item for item in cell]
    return values


def _clean(text: str, done: list[str]) -> str:
    """The text without control characters and outer spaces, in NFC; mojibake stays as it is, since any of its
    characters may be needed to repair it.
    """
    if is_mojibake(text):
        done += ["cells kept as they are: mojibake"]
        return text
    for what, change in CHANGES.items():
        changed = change(text)
        done += [what] * (changed != text)
        text = changed
    return text


def _spelled(cell: Any, separator: str, spellings: Mapping[str, str]) -> Any:
    if isinstance(cell, list):
        return [_spelled(item, "", spellings) for item in cell]
    if not isinstance(cell, str):
        return cell
    parts = cell.split(separator) if separator else [cell]
    named = [cleaned(spellings[name]) if (name := part.strip()) in spellings else part for part in parts]
    return cell if named == parts else separator.join(named)
