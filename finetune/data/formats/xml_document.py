"""XML with one element a row: its attributes and the elements in it are the columns.

Repeated elements in a row are one column, a list of objects, such as the aspect terms of SemEval's reviews.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.records import Record, column_names, whole
from finetune.errors import UserError, first_line

DEEPEST_ELEMENTS = 8  # elements within elements
ROWS_SEEN = 20  # rows in which a text is looked for
PLACES = ("from", "to", "start", "end", "begin", "start_offset", "end_offset")  # attributes that are numbers


def sniff(start: FileStart) -> bool:
    """Whether the text begins like XML."""
    first = start.lines[0].lstrip("\ufeff \t").lower()
    named = start.suffix == ".xml" and first.startswith("<")
    return named or first.startswith("<?xml")


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row. Raises UserError for a file that is not valid XML, or has no repeated element."""
    rows = _rows(_root(path, form))
    if not rows:
        raise UserError(
            f"{path}: is XML without an element for each row", "Give each row an element, all with one name"
        )
    found = [_cells(row) for row in rows]
    lists = {name for cells in found for name, cell in cells.items() if isinstance(cell, list)}
    for number, cells in enumerate(found, start=1):
        cells = {name: _as_list(cell) if name in lists else cell for name, cell in cells.items()}
        cells |= {name: [] for name in lists - cells.keys()}
        named = dict(zip(column_names(list(cells)), cells.values(), strict=True))
        yield whole(Record(row=number, line=number, values=named))


def _root(path: Path, form: FileFormat) -> Any:
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, parse
    except ImportError as error:
        raise UserError(
            f"{path}: reading XML needs a package that is not installed",
            "Install it: pip install 'bert-finetune[xml]', or save the rows as CSV",
        ) from error
    with form.open_bytes(path) as file:
        try:
            return parse(file).getroot()
        except DefusedXmlException as error:
            raise UserError(f"{path}: is XML with entities of its own, which are not read", "Write them out") from error
        except (ParseError, ValueError, LookupError, RecursionError) as error:
            raise UserError(f"{path}: is not valid XML ({first_line(error)})", "Fix that place") from error


def _rows(root: Any) -> Sequence[Any]:
    """The elements that are rows: the outermost repeated ones that hold a text themselves."""
    level = [root]
    for _ in range(DEEPEST_ELEMENTS):
        children = [child for one in level for child in one]
        names = Counter(child.tag for child in children)
        if not names:
            return []
        most = names.most_common(1)[0][0]
        level = [child for child in children if child.tag == most]
        if len(level) > 1 and any(map(_has_text, islice(level, ROWS_SEEN))):
            return level
    return []


def _has_text(row: Any) -> bool:
    """Whether an element has a text of several words: its own, an attribute, or that of an element right in it."""
    texts = [row.text or "", *row.attrib.values(), *(child.text or "" for child in row if not len(child))]
    return any(len(text.split()) > 1 for text in texts)


def _cells(element: Any, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """The columns of an element: attributes, texts, and lists of what is repeated in it."""
    cells: dict[str, Any] = {f"{prefix}{_name(name)}": value for name, value in element.attrib.items()}
    names = Counter(child.tag for child in element)
    within = [element.text, *(child.tail for child in element)]
    if any(part and part.strip() for part in within):  # a text, perhaps with marked words in it
        free = f"{prefix}text" if f"{prefix}text" not in cells else f"{prefix}{_name(element.tag)}"
        return cells | {free: " ".join("".join(element.itertext()).split())}
    for child in element:
        name = f"{prefix}{_name(child.tag)}"
        inner = [*child]
        if names[child.tag] > 1 or (inner and len({one.tag for one in inner}) == 1 and _is_plural(child, inner[0])):
            items = [child] if names[child.tag] > 1 else inner
            cells.setdefault(name, []).extend(_item(one) for one in items)
        elif inner and depth < DEEPEST_ELEMENTS:
            cells |= _cells(child, f"{name}.", depth + 1)
        else:
            cells[name] = (child.text or "").strip() or None
            cells |= {f"{name}.{_name(key)}": value for key, value in child.attrib.items()}
    return cells


def _is_plural(outer: Any, inner: Any) -> bool:
    """Whether an element is a list by its name: `aspectTerms` of `aspectTerm`, `Opinions` of `Opinion`."""
    one, several = _name(inner.tag).lower(), _name(outer.tag).lower()
    return several in (f"{one}s", f"{one}es", f"{one[:-1]}ies", f"{one}list", f"{one}_list") or len([*outer]) > 1


def _item(element: Any) -> Any:
    """A repeated element: an object with numbers as places, or its text."""
    cells = _cells(element)
    if set(cells) <= {"text"}:
        return cells.get("text")
    return {name: int(v) if name in PLACES and str(v).isdigit() else v for name, v in cells.items()}


def _as_list(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [] if cell is None else [cell]


def _name(tag: str) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]


FORMAT = Format(name="xml", title="XML", lines=False, sniff=sniff, read=read)
