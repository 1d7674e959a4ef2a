"""JSON: a list of objects or of lists, an object of columns, SQuAD's layout; and JSON Lines, an object a line."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats.dialect import is_header_of_texts
from finetune.data.formats.labelling_tools import is_label_studio, is_pair, label_studio_rows, plain_row
from finetune.data.issues import JSON, REJECTED, Finding
from finetune.data.open_files import SAMPLE_CHARS, FileStart, utf_8
from finetune.data.records import Record, column_names, whole
from finetune.data.values import as_json, as_text
from finetune.errors import UserError, first_line

SQUAD = "in SQuAD's layout"
QUESTION = ("id", "question", "answers", "context", "title")  # columns of a question
LONGEST_NAME = 40  # characters of a column's name
BEGINS = re.compile(r"""[\[{]\s*(["\[{\]}]|-?\d|true|false|null|$)""")
SPLIT = re.compile(r"(oos_)?(train(ing)?|dev(elopment)?|val(id(ation)?)?|test|eval(uation)?)", re.IGNORECASE)
LINES_SEEN = 50  # lines that are tried as JSON
TABLES = (".csv", ".tsv")  # are tables, even if a cell of each line is JSON
NO_OBJECT = "is not a JSON object with the columns' names"


def sniff(start: FileStart) -> bool | str:
    """Whether the text begins like JSON and is not JSON Lines, or SQUAD; a text may begin with `[urgent]`."""
    if start.suffix in TABLES:
        return False
    first = start.lines[0].lstrip()
    is_json = BEGINS.match(first) is not None or (start.suffix == ".json" and first[:1] in ("{", "["))
    return SQUAD if is_json and '"paragraphs"' in start.text and '"context"' in start.text else is_json


def sniff_lines(start: FileStart) -> bool:
    """Whether most lines are objects, or the suffix is JSON Lines' and some are."""
    if start.suffix in TABLES:
        return False
    lines = start.lines
    if len(start.text) >= SAMPLE_CHARS and len(lines) == 1 and start.text.lstrip().startswith("{"):
        lines = start.first_lines(2)
    objects = sum(map(_is_object, lines[:LINES_SEEN]))
    if 2 * objects >= len(lines[:LINES_SEEN]) and not (start.suffix == ".json" and len(lines) == 1):
        return True
    return start.suffix in (".jsonl", ".ndjson") and (objects > 0 or lines[0].lstrip()[:1] in ("{", "["))


def _is_object(line: str) -> bool:
    value = _parsed(line) if line.lstrip()[:1] in ("{", "[") else None
    return isinstance(value, dict) or is_pair(value)


def load_json(path: Path, form: FileFormat) -> Any:
    """The parsed content of a file. Raises UserError with the line where it is not JSON."""
    with form.open_text(path) as file:
        try:
            return json.load(file)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}:{error.lineno}: is not JSON ({error.msg})", "Fix that line") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: is not JSON ({first_line(error)})", "Fix that place") from error


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row of the content, in any known layout."""
    rows = rows_in(load_json(path, form), path)
    if _is_squad(rows):
        asked = [question for *_, question in questions(rows)]
        if not asked:
            raise UserError(f"{path}: is {SQUAD} and has no questions: all its lists 'qas' are empty", "Add some")
        rows = [_asked(question) if isinstance(question, dict) else Finding(JSON, question) for question in asked]
    yield from json_records(enumerate(rows, start=1))


def read_json_lines(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each line that is not blank."""
    yield from json_records((line, _parsed(text)) for _, line, text in form.filled_lines(path))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return Finding(JSON, f"is not JSON ({first_line(error)})")


def json_records(values: Iterable[tuple[int, Any]]) -> Iterator[Record]:
    """The records of (line, value), where a value is an object, what a labelling tool writes for one, or a fault."""
    coming = iter(values)
    rows: Iterable[tuple[int, Any]] = chain(first := list(islice(coming, 1)), coming)
    if any(is_label_studio(value) for _, value in first):
        numbers, tasks = zip(*rows, strict=True)
        rows = zip(numbers, label_studio_rows(tasks), strict=True)
    for row, (line, value) in enumerate(rows, start=1):
        plain, why = (value, "") if isinstance(value, Finding) else plain_row(value)
        if why or not isinstance(plain, dict):
            fault = Finding(REJECTED, why) if why else plain if isinstance(plain, Finding) else Finding(JSON, NO_OBJECT)
            yield Record(row=row, line=line, fault=fault)
            continue
        names = column_names(list(plain))
        yield whole(Record(row=row, line=line, values=dict(zip(names, plain.values(), strict=True))))


def _asked(question: dict[str, Any]) -> dict[str, Any]:
    """The columns of a question, which may have a `guid` for its id, and no list of answers where it is impossible."""
    fields: dict[str, Any] = {"id": question.get("guid"), "answers": [] if question.get("is_impossible") else None}
    return {name: fields.get(name) if question.get(name) is None else question[name] for name in QUESTION}


def _is_squad(content: Any) -> bool:
    return bool(content) and all(isinstance(article, dict) and "paragraphs" in article for article in content)


def questions(articles: Sequence[Any]) -> Iterator[tuple[str, str, dict[str, Any] | str]]:
    """(question's path, paragraph's path, question with `context` and `title`) for each question of SQuAD's layout.

    A path is `data[0].paragraphs[2].qas[1]`. Where a question is missing, its place in the tuple says what.
    """
    fault = "is not in SQuAD's JSON layout: {} {}".format
    for i, article in enumerate(articles):
        where = f"data[{i}]"
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            yield where, "", fault(where, "has no list 'paragraphs'")
            continue
        for j, paragraph in enumerate(paragraphs):
            place = f"{where}.paragraphs[{j}]"
            asked = paragraph.get("qas") if isinstance(paragraph, dict) else None
            if not isinstance(asked, list):
                yield place, place, fault(place, "has no list 'qas'")
                continue
            above = {"context": paragraph.get("context"), "title": article.get("title", "")}
            for k, question in enumerate(asked):
                inner = f"{place}.qas[{k}]"
                is_object = isinstance(question, dict)
                yield inner, place, question | above if is_object else fault(inner, "is not a JSON object")


def rows_in(content: Any, path: Path, *, kind: str = "JSON") -> list[Any]:
    """The rows, mostly objects. Raises UserError where the content has no list of rows."""
    rows = _rows_of(content) if isinstance(content, dict) else content
    if isinstance(rows, list):
        return rows if _is_squad(rows) or all(map(is_pair, rows)) else _named_cells(rows)
    what = f"{path}: is {kind} without a list of rows"
    lists = [name for name, cells in rows.items() if _holds(cells, dict | list)] if isinstance(rows, dict) else []
    if len(lists) < 2:
        raise UserError(what, "Give a list of objects, one a row")
    first = path.with_name(path.name.partition(".")[0]) / f"{lists[0]}.json"
    raise UserError(f"{what}; it holds the lists {', '.join(lists[:6])}", f"Write each into a file, such as {first}")


def _named_cells(content: list[Any]) -> list[Any]:
    """Rows that are lists of equal length, as objects: the first is the header if no other row has its values."""
    lists = [row for row in content if isinstance(row, list)]
    if len(lists) < len(content) or len({len(row) for row in lists}) != 1 or not lists[0]:
        return content
    first, rest = lists[0], lists[1:]
    named = all(isinstance(cell, str) and cell.strip() for cell in first)
    values = any(cell in [row[place] for row in rest] for place, cell in enumerate(first))
    named = named and (not values or is_header_of_texts(first, [[*map(as_text, row)] for row in rest]))
    named = named and max(map(len, first)) < LONGEST_NAME
    names = first if named else [f"column {number}" for number in range(1, len(first) + 1)]
    return [dict(zip(names, row, strict=True)) for row in (rest if named else lists)]


def _rows_of(content: dict[str, Any]) -> Any:
    """The list of rows in an object that holds one (`{"version": 1, "data": [...]}`), or their columns; else the object
    itself.
    """
    lists = [value for value in content.values() if isinstance(value, list)]
    if isinstance(rows := content.get("data"), list):
        columns = content.get("columns")
        named = isinstance(columns, list) and all(isinstance(row, list) and len(row) == len(columns) for row in rows)
        return [dict(zip(map(str, columns or ()), row, strict=True)) for row in rows] if named else rows
    if isinstance(pairs := content.get("annotations"), list) and any(map(is_pair, pairs)):
        return pairs
    if len(lists) == 1 and lists[0] and isinstance(lists[0][0], dict):
        return lists[0]
    if len(lists) < len(content) or len(set(map(len, lists))) != 1 or all(_holds(cells, dict) for cells in lists):
        return content
    splits = [SPLIT.fullmatch(str(name)) is not None for name in content]
    if all(splits) or any(split and _holds(cells, dict | list) for split, cells in zip(splits, lists, strict=True)):
        return content
    return [dict(zip(content, cells, strict=True)) for cells in zip(*lists, strict=True)]


def _holds(cells: Any, kind: Any) -> bool:
    return isinstance(cells, list) and bool(cells) and all(isinstance(cell, kind) for cell in cells)


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Writes a list of objects; of SQuAD the answers by id, as its scripts read them."""
    if output.like == SQUAD and "prediction" in output.names:
        answers = {str(row["id"]): row["prediction"] for row in rows if row.get("prediction") is not None}
        file.write(json.dumps(answers, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n")
        return 0
    between = "[\n"
    with utf_8(file) as text:
        for row in rows:
            text.write(between + as_json(row, output.names))
            between = ",\n"
        text.write("\n]\n" if between == ",\n" else "[]\n")
    return 0


def _write_lines(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    with utf_8(file) as text:
        text.writelines(as_json(row, output.names) + "\n" for row in rows)
    return 0


LINES = Format(
    name="json-lines",
    title="JSON Lines",
    suffixes=(".jsonl",),
    cells="lists",
    sniff=sniff_lines,
    read=read_json_lines,
    write=_write_lines,
)
FORMAT = Format(
    name="json", title="JSON", lines=False, suffixes=(".json",), cells="lists", sniff=sniff, read=read, write=_write
)
