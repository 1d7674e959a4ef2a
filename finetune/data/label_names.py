"""Names of labels that are numbers in the data: from a file (`labels=labels.txt`), a recipe, or the data itself."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from finetune.data.paths import paths_in, read_small_text
from finetune.data.records import LONGEST_TEXT
from finetune.data.values import as_text
from finetune.errors import UserError, first_line

FILES = re.compile(
    r"(labels?|class(es)?|mapping|label_?map(ping)?|(class|label)_?names|id2label|categories)\.(txt|json|tsv|csv|names)",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"(-?\d+)[\t,;:= ]+(.+)")


def names_given(value: Any) -> dict[str, str]:
    """Names by number: from a file (one name per line, number and name, or JSON), a table, a list, or `0=bad,1=good`.

    Raises UserError for a file that cannot be read, and for a value without names.
    """
    if isinstance(value, Mapping | list | tuple):
        return _names(value)
    text = str(value)
    if re.fullmatch(r"[^=,]+=[^=]*(,[^=,]+=[^=]*)*", text):
        return dict(tuple(map(str.strip, pair.split("=", 1))) for pair in text.split(","))  # type: ignore[misc]
    return read_label_names(Path(text))


def read_label_names(path: Path) -> dict[str, str]:
    """The names in a file. Raises UserError where it cannot be read or has none."""
    way = "Give labels=FILE with one name per line, the first for the label 0, or labels=0=bad,1=good"
    try:
        content = read_small_text(path, most=LONGEST_TEXT, encoding="utf-8-sig")
        lines = [line.strip() for line in content.splitlines() if line.strip()]
        pairs = [NUMBERED.fullmatch(line) for line in lines]
        if path.suffix.lower() == ".json":
            names = _names(json.loads(content))
        else:
            names = {pair[1]: pair[2].strip('"') for pair in pairs if pair} if all(pairs) else _names(lines)
    except UserError as error:
        raise UserError(f"the names of labels cannot be read: {error.what}", way) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON ({first_line(error)})", "Fix that place") from error
    if not names:
        raise UserError(f"{path}: has no names of labels", way)
    return names


def names_nearby(path: Path, numbers: Collection[str]) -> tuple[dict[str, str], Path | None]:
    """The names in a file such as labels.txt next to the data, where they fit its labels one to one; else none.

    A file without numbers is counted from 0, or from 1 where no label is 0.
    """
    data = paths_in(path)[0]
    folder = data if data.is_dir() else data.parent
    nearby = sorted(folder.iterdir()) if numbers and all(number.isdigit() for number in numbers) else []
    for file in nearby:
        if not FILES.fullmatch(file.name) or file.resolve() == data.resolve():
            continue
        try:
            names = read_label_names(file)
        except UserError:
            continue
        shifted = {str(int(number) + 1): name for number, name in names.items() if number.isdigit()}
        for candidate in (names, shifted):
            if set(numbers) <= set(candidate) and len(candidate) <= len(set(numbers)) + 2:
                return candidate, file
    return {}, None


def _names(table: Any) -> dict[str, str]:
    """Names by number, of a list or a table, which may be the other way round: `{"bad": 0}`."""
    if isinstance(table, list | tuple):
        return {str(number): as_text(name) for number, name in enumerate(table)}
    pairs = table.items() if isinstance(table, Mapping) else ()
    if all(isinstance(value, int) and not isinstance(value, bool) for _, value in pairs):
        return {str(number): str(name) for name, number in pairs}
    return {str(number): as_text(name) for number, name in pairs}
