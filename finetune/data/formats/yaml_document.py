"""YAML: a list of objects, and Rasa's examples of intents with entities in their text."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat, Format
from finetune.data.file_start import FileStart
from finetune.data.formats.json_document import rows_in
from finetune.data.formats.json_lines import of_object
from finetune.data.records import Record
from finetune.errors import UserError, first_line

SUFFIXES = (".yaml", ".yml")
ENTITY = re.compile(r"\[(?P<text>[^\[\]]+)\](?:\((?P<short>[^()]+)\)|(?P<long>\{[^{}]+\}))")
LONG = re.compile(r"""["']?entity["']?\s*:\s*["']([^"']+)["']""")


def sniff(start: FileStart) -> bool:
    """Whether the file is named as YAML; nothing else tells it from a text."""
    return start.suffix in SUFFIXES


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row, or example. Raises UserError for a file that is not YAML, or has no rows."""
    content = _load(path, form)
    nlu = content.get("nlu") if isinstance(content, dict) else None
    try:
        rows = _examples(nlu) if isinstance(nlu, list) else rows_in(content, path)
    except UserError as error:
        raise UserError(f"{path}: is YAML without a list of rows", "Give a list of objects, one a row") from error
    for row, value in enumerate(rows, start=1):
        yield of_object(value, row=row, line=row)


def _load(path: Path, form: FileFormat) -> Any:
    """The content; times and dates stay texts. An alias is refused, by which a small file can be endless."""
    import yaml

    with form.open_text(path) as file:
        text = file.read()
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader)):
            raise UserError(f"{path}: is YAML with aliases (*NAME), which are not read", "Write them out")
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = path if mark is None else f"{path}:{mark.line + 1}"
        raise UserError(f"{where}: is not YAML ({first_line(error)})", "Fix that place") from error


def _examples(nlu: list[Any]) -> list[dict[str, Any]]:
    """Rasa's examples of all intents: the text without marks, the intent, and the entities if there are any."""
    found = []
    for block in nlu:
        if not isinstance(block, dict) or "intent" not in block:
            continue  # synonyms, lookup tables and regular expressions
        given = block.get("examples", ())
        lines = given.splitlines() if isinstance(given, str) else given if isinstance(given, list) else ()
        for line in lines:
            text = str(line.get("text", "") if isinstance(line, dict) else line).strip()
            if text := re.sub(r"^[-*+]\s*", "", text).strip():
                found.append(_example(text, str(block["intent"])))
    some = any(row["entities"] for row in found)
    return found if some else [{key: row[key] for key in ("text", "intent")} for row in found]


def _example(marked: str, intent: str) -> dict[str, Any]:
    """A text with `[Berlin](city)` or `[Berlin]{"entity": "city"}` as text, intent and spans."""
    text, spans, place = "", list[list[Any]](), 0
    for match in ENTITY.finditer(marked):
        long = LONG.search(match["long"] or "")
        name = match["short"] or (long[1] if long else "")
        if not name:
            continue
        text += marked[place : match.start()]
        spans.append([len(text), len(text) + len(match["text"]), name.partition(":")[0]])
        text += match["text"]
        place = match.end()
    return {"text": text + marked[place:], "intent": intent, "entities": spans}


FORMAT = Format(name="yaml", title="YAML", lines=False, sniff=sniff, read=read)
