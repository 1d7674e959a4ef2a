"""Forms of other tools that rows are not read in: each is refused by its name, with how to convert it."""

import json
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

from finetune.data.column_types import ColumnFacts
from finetune.data.formats.labelling_tools import TACRED
from finetune.data.formats.spans import unknown_names
from finetune.data.messages import places, short
from finetune.data.nested_fields import parsed
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing, is_nested
from finetune.errors import UserError
from finetune.task_types.candidates import copied
from finetune.task_types.column_names import label_tier, name_words_of
from finetune.task_types.data_type import Evidence

ROWS_LOOKED_AT = 200
NEARLY_ALL = 0.9  # share of the objects, or of their texts that are in the row's
QUERIES = ("query", "question", "anchor")
TRIPLES = (QUERIES, ("positive", "positives", "pos"), ("negative", "negatives", "neg"))
SPEAKERS, SAYINGS = ("role", "from"), ("content", "value")
ENTITIES = ("entities", "entity", "ner", "spans", "annotations", "mentions", "slots", "relations")
SELDOM = 0.05  # share of the rows in which an object among labels is a mistake
OTHER = "or name another column: label=COLUMN"
NESTED = (
    'Write labels as ["a", "b"], and entities as [[start, end, label]] or [{"start": 0, "end": 3, "label": "PER"}], '
    f"by characters of the text; {OTHER}"
)
READERS = {  # of a file's rows, by its format
    "json-lines": 'map(json.loads, open(sys.argv[1], encoding="utf-8"))',
    "json": 'json.load(open(sys.argv[1], encoding="utf-8"))',
    "delimited": 'csv.DictReader(open(sys.argv[1], encoding="utf-8-sig"), delimiter={})',
}


def require_rows(evidence: Evidence) -> None:
    """Raises UserError for a table that is a known form of another tool, or that has objects for labels, with how to
    write its rows; only where the user named neither columns nor a type.
    """
    if evidence.shape is None and not {"text", "label"} & {*evidence.chosen}:
        _require_no_triples(evidence)
        _require_no_chats(evidence)
        if {*TACRED} <= {*evidence.columns}:
            _refuse(
                evidence.table,
                "relations in TACRED's columns",
                "",
                'subject and object as {"start": 0, "end": 3} of a text',
            )


def require_no_objects(table: Table, facts: Mapping[str, ColumnFacts]) -> None:
    """Raises UserError for a column that is called like labels, or like entities, and holds lists of objects."""
    for name in (name for name in facts if name not in table.derived):
        some = [cell for cell in map(parsed, islice(table.columns[name], ROWS_LOOKED_AT)) if not is_missing(cell)]
        items = [item for cell in some for item in (cell if isinstance(cell, list) else [cell])]
        objects = [item for item in items if isinstance(item, dict)]
        called = label_tier(name) is not None or not {*name_words_of(name)}.isdisjoint(ENTITIES)
        single = any(isinstance(cell, dict) and not any(map(_is_list, cell.values())) for cell in some)
        if called and objects and not single and len(objects) >= NEARLY_ALL * len(items):
            _refuse_entities(table, name, objects)
            require_plain([name], facts, table)


def require_plain(label: Sequence[str], facts: Mapping[str, ColumnFacts], table: Table) -> None:
    """Raises UserError where labels are objects, with their fields, or lists of lists or objects.

    Few such cells are faults of their rows.
    """
    for name in label:
        fields = [other for other in facts if other.startswith(f"{name}.")]
        if facts[name].kind == "object" and fields:
            raise UserError(
                f"{table.path}: the column '{name}' holds objects, not labels",
                f"Choose a field: {', '.join(copied(f'label={field}') for field in fields[:6])}",
            )
        nested = [index for index, cell in enumerate(table.columns[name]) if is_nested(cell)]
        if len(nested) > max(1, SELDOM * len(table)):
            if offsets := unknown_names(table.columns[name][:1000]):
                raise UserError(
                    f"{table.path}: the column '{name}' has offsets by unknown names: {', '.join(offsets)}",
                    f"Call them start and end (after the last character), and the label label; {OTHER}",
                )
            cell, place = short(table.columns[name][nested[0]]), [(table.rows[nested[0]], table.lines[nested[0]])]
            raise UserError(f"{table.path}: {places(place, most=1)}: '{name}' holds {cell}, not labels", NESTED)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _refuse_entities(table: Table, name: str, objects: Sequence[Mapping[str, Any]]) -> None:
    """Raises UserError where objects are entities by what they say, which a text has, without their places."""
    plain = [one for one in table.columns if one != name and isinstance(table.columns[one][0], str)]
    for text in (one for one in plain if one not in table.derived):
        texts = table.columns[text]
        rows = [(as_text(cell), parsed(own) or ()) for cell, own in zip(texts, table.columns[name], strict=True)]
        said = [(cell, one) for cell, own in rows[:ROWS_LOOKED_AT] for one in own if isinstance(one, dict)]
        for word in objects[0]:
            there = sum(isinstance(one.get(word), str) and one[word] in cell != one[word] for cell, one in said)
            kinds = [key for key in objects[0] if key != word]
            if said and there >= NEARLY_ALL * len(said) and kinds:
                kind = min(kinds, key=lambda key: len({str(one.get(key)) for one in objects}))
                first = "" if isinstance(objects[0][kind], str) else "[0]"
                own, said_word, of_text = (json.dumps(one) for one in (name, word, text))
                script = (
                    f"[print(json.dumps(dict(text=row[{of_text}], entities=sorted([m.start(), m.end(), "
                    f"one[{json.dumps(kind)}]{first}] for one in row[{own}] for m in "
                    f"re.finditer(re.escape(one[{said_word}]), row[{of_text}]))))) for row in ROWS]"
                )
                what = f"entities by their words alone, as GLiNER's synthetic data ('{name}': {word}, {kind})"
                _refuse(table, what, script, f'the places of each entity: "{text}", "entities": [[0, 3, "PER"]]')


def _require_no_triples(evidence: Evidence) -> None:
    """Queries with a passage that answers them and others that do not, as sentence-transformers has them."""
    parts: list[list[str]] = []
    for words in TRIPLES:
        called = [name for name in evidence.facts if not {*name_words_of(name)}.isdisjoint(words)]
        parts.append([n for n in called if evidence.facts[n].kind in ("list", "text", "id", "category")])
    query, right, wrong = parts
    if len(query) == 1 and right and wrong and not any(evidence.facts[name].marks for name in (*right, *wrong)):
        first, good, bad = map(json.dumps, (query[0], right, wrong))
        script = (
            "many = lambda cell: cell if isinstance(cell, list) else [cell]; "
            f"[print(json.dumps(dict(query=row[{first}], passage=text, relevance=grade))) for row in ROWS "
            f"for names, grade in (({good}, 1), ({bad}, 0)) for name in names for text in many(row[name])]"
        )
        columns = ", ".join((*query, *right, *wrong))
        way = "a row for each passage: query, passage, relevance (1 or 0), which shape=ranking reads"
        _refuse(evidence.table, f"queries with passages in columns ({columns})", script, way)


def _require_no_chats(evidence: Evidence) -> None:
    """Messages of a chat, without a label."""
    for name in evidence.columns if all(label_tier(name) not in (0, 1) for name in evidence.facts) else ():
        speaker, saying = (
            next((key for key in keys if f"{name}.{key}" in evidence.columns), "") for keys in (SPEAKERS, SAYINGS)
        )
        if speaker and saying and any(_names(cell) for cell in evidence.columns[f"{name}.{speaker}"][:ROWS_LOOKED_AT]):
            last = f"row[{json.dumps(name)}][{{}}][{json.dumps(saying)}]"
            script = f"[print(json.dumps(dict(text={last.format(-2)}, label={last.format(-1)}))) for row in ROWS]"
            way = "a text and its label a row, such as what was asked last and what was answered"
            _refuse(evidence.table, f"messages of chats (the column '{name}')", script, way)


def _names(cell: Any) -> bool:
    """Whether a cell has a text, or a list of texts: speakers, not places."""
    return any(isinstance(one, str) and not one.isdecimal() for one in (cell if isinstance(cell, list) else [cell]))


def _refuse(table: Table, what: str, script: str, way: str) -> NoReturn:
    """Raises UserError; where a format's rows are read in a few words, with a command that converts them."""
    reader = READERS.get(table.form.format.name, "")
    how = f"Write {way}"
    if script and reader and not table.form.compression:
        reader = reader.format(json.dumps(getattr(table.form.layout, "delimiter", ",")))
        code = f"import csv, json, re, sys; {script.replace('ROWS', reader)}"
        how += f"; or convert it: python -c {shlex.quote(code)} {shlex.quote(str(table.path))} > rows.jsonl"
    raise UserError(f"{table.path}: has {what}, which are not read", how)
