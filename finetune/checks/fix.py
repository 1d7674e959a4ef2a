"""`finetune check DATA --fix OUT`: a copy of a file with what can be mended without asking."""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from finetune.checks.spellings import unified
from finetune.checks.split_data import Part, labelled
from finetune.data.characters import cleaned, without_controls
from finetune.data.column_types import as_number, as_text, is_missing
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.writing import ESCAPED, write_rows, written_format
from finetune.errors import UserError
from finetune.task_types.columns import Layout


def require_place(to: Path, target: str) -> None:
    """Raises UserError where a copy of the target cannot be written to that file."""
    if Path(target).is_dir():
        raise UserError(f"--fix writes one file, and {target} is a folder", "Check its files one by one")
    written_format(to)
    if to.exists():
        raise UserError(f"{to} is already there, and --fix replaces no file", "Name another one")


def write_mended(part: Part, to: Path, *, escape: bool = False) -> dict[str, int]:
    """Writes the mended copy; how often each mend was made. Raises UserError where the file cannot be written.

    With `escape`, cells that a spreadsheet would run get an apostrophe.
    """
    holds = written_format(to).cells
    if holds != "lists" and any(
        isinstance(cell, list | dict) for cells in part.table.columns.values() for cell in cells
    ):
        raise UserError(f"{to}: cells of {part.file} hold lists", "Name a file that ends with .jsonl")
    counts = Counter(_of_file(part))
    rows = _rows(part, counts)
    if holds == "texts":
        rows = ({name: _as_cell(cell) for name, cell in row.items()} for row in rows)
    names = [name for name in part.table.columns if name not in part.table.derived]
    escaped = write_rows(to, rows, names, escaped=names if escape else ())
    return dict(+counts) | ({f"cells {ESCAPED}": escaped} if escaped else {})


def _as_cell(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if is_missing(cell) else as_text(cell)


def _of_file(part: Part) -> dict[str, int]:
    """Mends of the file as such."""
    form = part.table.form
    raw = first_cells(part.table.path, form) if dialect_of(form).header else []
    return {
        "byte-order mark removed": int(form.encoding == "utf-8-sig"),
        "file written in UTF-8": int(form.format.text and not form.encoding.startswith("utf-8")),
        "names of columns mended": sum(old != new for old, new in zip(raw, part.table.columns, strict=False)),
        "rows dropped that could not be read": len(part.table.faults),
    }


def _rows(part: Part, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """The rows that stay, mended; counts what was done."""
    layout = part.layout
    spellings = unified(part.label_counts) if part.kind.respelled else {}
    needed = layout.text[:1] if layout.shape == "choice" else layout.text
    some_labelled = labelled(part)
    unlabelled = _unlabelled(part) if some_labelled else set()
    seen: set[tuple[int, Any]] = set()
    keys = part.keys.tolist()
    for index, record in enumerate(part.table.records()):
        done: list[str] = []
        values = _mended(layout, record.values, spellings, done)
        same = (keys[index], _gold(part.golds[index], spellings))
        if any(is_missing(values.get(name)) for name in needed):
            counts["rows dropped without a text"] += 1
        elif _has_empty_word(layout, values):
            counts["rows dropped with an empty word"] += 1
        elif index in unlabelled or (some_labelled and _lost_label(layout, values)):
            counts["rows dropped without a label"] += 1
        elif keys[index] and same in seen:
            counts["rows dropped that repeat an earlier one"] += 1
        else:
            seen.add(same)
            counts.update(done)
            yield values


def _has_empty_word(layout: Layout, values: Mapping[str, Any]) -> bool:
    words = layout.shape == "tagging" and not layout.spans and not layout.characters
    return words and not all(_words(values[layout.text[0]]))


def _unlabelled(part: Part) -> set[int]:
    unusable = {index for index, _ in part.unusable}
    return {index for index, gold in enumerate(part.golds) if gold is None and index not in unusable}


def _lost_label(layout: Layout, values: Mapping[str, Any]) -> bool:
    """Whether the label was nothing but control characters."""
    cells = [values.get(name) for name in layout.label]
    return layout.shape != "span" and all(cell is None or (isinstance(cell, str) and not cell) for cell in cells)


def _gold(gold: Any, spellings: Mapping[str, str]) -> Any:
    """The gold once its labels are spelled alike."""
    if isinstance(gold, tuple):
        return tuple(dict.fromkeys(spellings.get(label, label) for label in gold))
    return spellings.get(gold, gold)


def _mended(layout: Layout, values: Mapping[str, Any], spellings: Mapping[str, str], done: list[str]) -> dict[str, Any]:
    """The cells of one row with clean texts, and labels in one spelling; adds what was done to `done`."""
    new = dict(values)
    if layout.shape == "span" and len(layout.text) == 2:
        return _mended_span(layout, new, done)
    if layout.spans or layout.characters:  # whose places would no longer be right
        return new
    for name in (*layout.text, *layout.label):
        cell = new.get(name)
        if isinstance(cell, str) and layout.shape == "tagging":
            new[name] = " ".join(_clean(word, done) for word in cell.split())
        elif isinstance(cell, str):
            new[name] = _clean(cell, done)
        elif isinstance(cell, list):
            new[name] = [_clean(item, done) if isinstance(item, str) else item for item in cell]
    for name in layout.label if spellings else ():
        spelled = _spelled(new.get(name), layout.separator, spellings)
        done += ["labels spelled as most rows have them"] * (spelled != new.get(name))
        new[name] = spelled
    return new


def _words(cell: Any) -> list[str]:
    return [as_text(word) for word in cell] if isinstance(cell, list) else as_text(cell).split(" ")


def _clean(text: str, done: list[str]) -> str:
    """The text without control characters and outer spaces, in NFC."""
    if not (text.isascii() and text.isprintable()):
        for what, change in CHANGES.items():
            changed = change(text)
            done += [what] * (changed != text)
            text = changed
    stripped = text.strip()
    done += ["cells without their outer spaces"] * (stripped != text)
    return stripped


CHANGES: Mapping[str, Callable[[str], str]] = {
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
    named = [cleaned(spellings.get(part.strip(), part)) for part in parts]
    return cell if named == parts else separator.join(named)


def _mended_span(layout: Layout, values: dict[str, Any], done: list[str]) -> dict[str, Any]:
    """Question, context and answers; where characters of a context go, the answers' places move with them."""
    question, context = layout.text
    if isinstance(values.get(question), str):
        values[question] = _clean(values[question], done)
    before = as_text(values.get(context))
    after = cleaned(before)
    if after != before:
        done.append("contexts in NFC and without control characters")
        values[context] = after
        for name in (*layout.label, "answer_start"):
            if name in values:
                values[name] = _moved(values[name], before, is_place=name == "answer_start")
    return values


def _moved(cell: Any, context: str, *, is_place: bool = False) -> Any:
    """Answers, and the places where they begin, as they are in the cleaned context."""
    if isinstance(cell, dict):
        return {key: _moved(inner, context, is_place=key == "answer_start") for key, inner in cell.items()}
    if isinstance(cell, list):
        return [_moved(inner, context, is_place=is_place) for inner in cell]
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return json.dumps(_moved(json.loads(cell), context), ensure_ascii=False)
    place = as_number(cell) if is_place else None
    if place is not None:
        return len(cleaned(context[: int(place)]))
    return cleaned(cell) if isinstance(cell, str) else cell
