"""XML with an element a row, and YAML with a list of objects, read as records by defusedxml and PyYAML."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat, Format
from finetune.data.formats.json_document import json_records, rows_in
from finetune.data.formats.spans import PLACES as SPAN_PLACES
from finetune.data.records import Record
from finetune.errors import UserError, first_line

PLACES = {name for place in SPAN_PLACES for name in place}  # attributes that are numbers


def _read_xml(path: Path, form: FileFormat) -> Iterator[Record]:
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, parse

        with form.open_bytes(path) as file:
            root = parse(file).getroot()
    except ImportError as error:
        way = "Install it: pip install 'bert-finetune[xml]', or save the rows as CSV"
        raise UserError(f"{path}: reading XML needs a package that is not installed", way) from error
    except DefusedXmlException as error:
        raise UserError(f"{path}: is XML with entities of its own, which are not read", "Write them out") from error
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        raise UserError(f"{path}: is not valid XML ({first_line(error)})", "Fix that place") from error
    for element in root.iter():  # names without their namespaces
        element.tag = str(element.tag).rpartition("}")[2]
        names = {name.rpartition("}")[2]: cell for name, cell in element.attrib.items()}
        element.attrib = {n: int(cell) if n in PLACES and cell.isdigit() else cell for n, cell in names.items()}
    rows = [row if isinstance(row, dict) else {"text": row} for row in map(_value, _rows(root))]
    if not rows:
        raise UserError(f"{path}: is XML without an element for each row", "Give each row one, all with one name")
    for name in {name for row in rows for name, cell in row.items() if isinstance(cell, list)}:
        for row in rows:  # what is a list in one row is one in all
            cell = row.get(name)
            row[name] = cell if isinstance(cell, list) else [] if cell is None else [cell]
    yield from json_records(enumerate(rows, start=1))


def _rows(root: Any) -> list[Any]:
    """The outermost repeated elements with a text of several words, or else those with attributes or children."""
    level, plain = [root], list[Any]()
    while names := Counter(child.tag for parent in level for child in parent):
        most = names.most_common(1)[0][0]
        level = [child for parent in level for child in parent if child.tag == most]
        texts = (text for row in level for text in (row.text, *row.attrib.values(), *(child.text for child in row)))
        if len(level) > 1 and any(len(str(text or "").split()) > 1 for text in texts):
            return level
        plain = plain or (level if len(level) > 1 and all(len(row) or row.attrib for row in level) else [])
    return plain


def _value(element: Any) -> Any:
    """An element's text, or an object of its attributes and children; repeated ones are a list."""
    attributes = dict(element.attrib)
    if not len(element) or any(part and part.strip() for part in (element.text, *(child.tail for child in element))):
        text = " ".join("".join(element.itertext()).split()) or None  # of all, where words in it are marked
        return attributes | {"text": text} if attributes and text else attributes or text
    for tag, count in Counter(child.tag for child in element).items():
        same = [child for child in element if child.tag == tag]
        inner = {part.tag for part in same[0]}
        wrapper = len(inner) == 1 and (len(same[0]) > 1 or tag.startswith(min(inner)[:-1]))  # `Terms` of `Term`
        values = [_value(part) for part in (same[0] if wrapper and count == 1 else same)]
        attributes[tag] = values if count > 1 or wrapper else values[0]
    return attributes


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


XML_BEGINS = re.compile(r"[\ufeff\s]*<(\?xml)?", re.IGNORECASE)
XML = Format(
    name="xml", title="XML", lines=False, read=_read_xml,
    sniff=lambda start: (begins := XML_BEGINS.match(start.text)) and (begins[1] or start.suffix == ".xml"),
)  # fmt: skip
YAML = Format(
    name="yaml", title="YAML", lines=False, read=_read_yaml,
    sniff=lambda start: start.suffix in (".yaml", ".yml"),
)  # fmt: skip
