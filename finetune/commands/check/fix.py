"""`finetune check DATA --fix OUT`: a copy of a file with everything fixed that needs no decision."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from finetune.checks.split_data import SplitFile, labelled
from finetune.data.characters import cleaned, without_controls
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.mojibake import is_mojibake, repaired
from finetune.data.outputs import require_replaceable_output
from finetune.data.paths import is_folder
from finetune.data.spellings import unified
from finetune.data.values import as_text, is_missing
from finetune.data.writing import ESCAPED, keeps_mark, write_rows, written_format
from finetune.errors import UserError


def require_place_for_copy(to: Path, target: str, *, force: bool) -> None:
    """Raises UserError where no fixed copy of the target may be written to that file."""
    if is_folder(target):
        raise UserError(f"`fix` writes one file, and {target} is a folder", "Check its files one by one")
    written_format(to)
    require_replaceable_output(to, reads=[target], force=force)


def write_fixed(part: SplitFile, to: Path, *, escape: bool = False) -> dict[str, int]:
    """Writes the fixed copy and returns how often each fix was applied. Raises UserError if it cannot be written.

    With `escape`, cells that a spreadsheet would run as formulas get an apostrophe.
    """
    holds = written_format(to).cells
    if holds != "lists" and any(
        isinstance(cell, list | dict) for cells in part.table.columns.values() for cell in cells
    ):
        raise UserError(f"{to}: cells of {part.file} hold lists", "Name a file that ends with .jsonl")
    counts = Counter(_of_file(part, to))
    rows = list(_rows(part, counts))  # some writers iterate twice
    if holds == "texts":
        rows = [{name: _as_cell(cell) for name, cell in row.items()} for row in rows]
    names = [name for name in part.table.columns if name not in part.table.derived]
    escaped = write_rows(to, rows, names, escaped=names if escape else (), like=part.table.form)
    return dict(+counts) | ({f"cells {ESCAPED}": escaped} if escaped else {})


def _as_cell(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if is_missing(cell) else as_text(cell)


def _of_file(part: SplitFile, to: Path) -> dict[str, int]:
    """Fixes of the file's format."""
    form = part.table.form
    raw = first_cells(part.table.path, form) if dialect_of(form).header else []
    return {
        "byte-order mark removed": int(form.encoding == "utf-8-sig" and not keeps_mark(to, form)),
        "file written in UTF-8": int(form.format.text and not form.encoding.startswith("utf-8")),
        "column names fixed": sum(old != new for old, new in zip(raw, part.table.columns, strict=False)),
        "rows dropped that could not be read": len(part.table.faults),
    }


def _rows(part: SplitFile, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """The rows that are kept, fixed; adds each fix to `counts`."""
    layout = part.layout
    spellings = unified(part.label_counts) if part.kind.respelled else {}
    needed = part.kind.needed(layout)
    some_labelled = labelled(part)
    unlabelled = _unlabelled(part) if some_labelled else set()
    seen: set[tuple[int, Any]] = set()
    keys = part.keys.tolist()
    for index, record in enumerate(part.table.records()):
        done: list[str] = []
        values = _fixed_row(part, record.values, spellings, done)
        same = (keys[index], _gold(part.golds[index], spellings))
        if any(is_missing(values.get(name)) for name in needed):
            counts["rows dropped without a text"] += 1
        elif spoiled := part.kind.spoiled(layout, values):
            counts[f"rows dropped {spoiled}"] += 1
        elif index in unlabelled or (some_labelled and _lost_label(part, values)):
            counts["rows dropped without a label"] += 1
        elif keys[index] and same in seen:
            counts["rows dropped that repeat an earlier one"] += 1
        else:
            seen.add(same)
            counts.update(done)
            yield values


def _unlabelled(part: SplitFile) -> set[int]:
    unusable = {index for index, _ in part.unusable}
    return {index for index, gold in enumerate(part.golds) if gold is None and index not in unusable}


def _lost_label(part: SplitFile, values: Mapping[str, Any]) -> bool:
    """Whether the label consisted of control characters only."""
    cells = [values.get(name) for name in part.layout.label]
    return not part.kind.empty_is_label and all(cell is None or (isinstance(cell, str) and not cell) for cell in cells)


def _gold(gold: Any, spellings: Mapping[str, str]) -> Any:
    """The label with its most frequent spelling."""
    if not spellings:
        return gold
    if isinstance(gold, tuple):
        return tuple(dict.fromkeys(spellings.get(label, label) for label in gold))
    return spellings.get(gold, gold)


def _fixed_row(
    part: SplitFile, values: Mapping[str, Any], spellings: Mapping[str, str], done: list[str]
) -> dict[str, Any]:
    """The cells of one row, texts cleaned and labels in their most frequent spelling; adds each fix to `done`."""
    layout = part.layout
    new = part.kind.fixed(layout, dict(values), partial(_clean, done=done), done)
    for name in layout.label if spellings else ():
        spelled = _spelled(new.get(name), layout.separator, spellings)
        done += ["labels spelled as most rows have them"] * (spelled != new.get(name))
        new[name] = spelled
    return new


def _clean(text: str, done: list[str]) -> str:
    """The text decoded correctly, without control characters and outer spaces, in NFC; mojibake that cannot be
    repaired stays as it is, since any of its characters may be needed to repair it.
    """
    if not (text.isascii() and text.isprintable()):
        if is_mojibake(repaired(text)):
            done += [KEPT]
            return text
        for what, change in CHANGES.items():
            changed = change(text)
            done += [what] * (changed != text)
            text = changed
    stripped = text.strip()
    done += ["cells without their outer spaces"] * (stripped != text)
    return stripped


KEPT = "cells kept as they are: mojibake that cannot be repaired"
CHANGES: Mapping[str, Callable[[str], str]] = {
    "cells decoded in the right encoding": repaired,
    "cells without their control characters": without_controls,
    "cells normalised to NFC": partial(unicodedata.normalize, "NFC"),
}


def _spelled(cell: Any, separator: str, spellings: Mapping[str, str]) -> Any:
    """A cell of one label or several, each in its most frequent spelling."""
    if isinstance(cell, list):
        return [_spelled(item, "", spellings) for item in cell]
    if not isinstance(cell, str):
        return cell
    parts = cell.split(separator) if separator else [cell]
    named = [cleaned(spellings[name]) if (name := part.strip()) in spellings else part for part in parts]
    return cell if named == parts else separator.join(named)
