"""XML with an element a row, and YAML with a list of objects, read as records by defusedxml and PyYAML."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.formats.json_document import json_records, rows_in
from finetune.data.records import Record
from finetune.errors import UserError, first_line

PLACES = ("from", "to", "start", "end", "begin", "start_offset", "end_offset")  # attributes that are numbers


def _is_xml(start: FileStart) -> bool:
    first = start.lines[0].lstrip("\ufeff \t").lower()
    return first.startswith("<?xml") or (start.suffix == ".xml" and first.startswith("<"))


def _read_xml(path: Path, form: FileFormat) -> Iterator[Record]:
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, parse
    except ImportError as error:
        way = "Install it: pip install 'bert-finetune[xml]', or save the rows as CSV"
        raise UserError(f"{path}: reading XML needs a package that is not installed", way) from error
    with form.open_bytes(path) as file:
        try:
            found = [_value(row) for row in _rows(parse(file).getroot())]
        except DefusedXmlException as error:
            raise UserError(f"{path}: is XML with entities of its own, which are not read", "Write them out") from error
        except (ParseError, ValueError, LookupError, RecursionError) as error:
            raise UserError(f"{path}: is not valid XML ({first_line(error)})", "Fix that place") from error
    if not found:
        way = "Give each row an element, all with one name"
        raise UserError(f"{path}: is XML without an element for each row", way)
    rows = [row if isinstance(row, dict) else {"text": row} for row in found]
    lists = {name for row in rows for name, cell in row.items() if isinstance(cell, list)}
    for row in rows:
        single = {name: row.get(name) for name in lists if not isinstance(row.get(name), list)}
        row.update({name: [] if cell is None else [cell] for name, cell in single.items()})
    yield from json_records(enumerate(rows, start=1))


def _rows(root: Any) -> list[Any]:
    """The outermost repeated elements with a text of several words: their own, an attribute, or of a child."""
    level = [root]
    while names := Counter(child.tag for one in level for child in one):
        most = names.most_common(1)[0][0]
        level = [child for one in level for child in one if child.tag == most]
        texts = (text for row in level for text in (row.text, *row.attrib.values(), *(child.text for child in row)))
        if len(level) > 1 and any(len((text or "").split()) > 1 for text in texts):
            return level
    return []


def _value(element: Any) -> Any:
    """An element's text, or an object of its attributes and children; repeated ones are a list."""
    own = {_name(name): int(v) if name in PLACES and v.isdigit() else v for name, v in element.attrib.items()}
    if not len(element) or any(part and part.strip() for part in (element.text, *(child.tail for child in element))):
        text = " ".join("".join(element.itertext()).split()) or None  # of all, where words in it are marked
        return own | {"text": text} if own and text else own or text
    children: dict[str, Any] = {}
    names = Counter(child.tag for child in element)
    for child in element:
        name, inner = _name(child.tag), {_name(one.tag) for one in child}
        if names[child.tag] > 1:
            children.setdefault(name, []).append(_value(child))
        elif len(inner) == 1 and (len(child) > 1 or name.startswith(min(inner)[:-1])):  # `aspectTerms` of `aspectTerm`
            children[name] = [_value(one) for one in child]
        else:
            children[name] = _value(child)
    return own | children


def _name(tag: str) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]


def _is_yaml(start: FileStart) -> bool:
    return start.suffix in (".yaml", ".yml")


def _read_yaml(path: Path, form: FileFormat) -> Iterator[Record]:
    import yaml

    with form.open_text(path) as file:
        text = file.read()
    try:  # an alias, by which a small file can be endless, is refused; dates stay texts
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader)):
            raise UserError(f"{path}: is YAML with aliases (*NAME), which are not read", "Write them out")
        rows = rows_in(yaml.load(text, Loader=yaml.CSafeLoader), path, kind="YAML")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = path if mark is None else f"{path}:{mark.line + 1}"
        raise UserError(f"{where}: is not YAML ({first_line(error)})", "Fix that place") from error
    yield from json_records(enumerate(rows, start=1))


XML = Format(name="xml", title="XML", lines=False, sniff=_is_xml, read=_read_xml)
YAML = Format(name="yaml", title="YAML", lines=False, sniff=_is_yaml, read=_read_yaml)
