"""Checks of a file as such: its encoding and header, rows that cannot be read or used, odd cells, ids."""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence

from finetune.checks.finding import MANY, MOSTLY, Finding, Severity
from finetune.checks.split_data import Part
from finetune.data.column_types import as_text, is_missing
from finetune.data.encodings.detect import spelled
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.messages import shown
from finetune.data.records import Record
from finetune.task_types.guess import ID_NAMES

AROUND = " \t\r\n\ufeff\0"  # what may stand around a name
FEW_LOST, MOST_LOST = 3, 0.1  # rows that may be unreadable, and the share of them
MANY_LINES = 50  # of one cell, in a column whose cells have one
MARKS = ("=", "+", "-", "@", "#")
FORMULA = re.compile(r"(=[A-Za-z]+[\d(]|=[-+]?\d|[-+@][A-Za-z]+\(|#(REF!|NAME\?|VALUE!|DIV/0!|N/A|NUM!|NULL!))")
UNREAD = {  # the fault's words, the code, what to do about it
    "cells where": ("cells", "Quote cells that hold the delimiter, or add what is missing"),
    "quote": ("quote", "Close the quote, or double those that belong to the text"),
    "JSON": ("json", "Write one JSON object with the columns' names in each line"),
    "another encoding": ("bytes", "Save the file in one encoding, UTF-8 best"),
}
UNUSED = {
    "has no text": ("missing-text", "Fill them in; such rows are left out, and `--fix` drops them"),
    "no words": ("missing-text", "Fill them in; such rows are left out, and `--fix` drops them"),
    "no number": ("no-number", "Mend the number; such rows are left out"),
    "0 or 1": ("no-mark", "Write 0 or 1; such rows are left out"),
    "empty word": ("empty-word", "Take the word and its tag out; such rows are left out"),
    "words and": ("words-tags", "Give every word one tag; such rows are left out"),
    "has the tag": ("no-tag", "Mend the tag; such rows are left out"),
    "none of its": ("label-range", "Labels are the number, the letter or the text of a choice; such rows are left out"),
    "fewer than two": ("few-choices", "Give each row at least two choices; such rows are left out"),
}


def encoding(part: Part) -> Iterator[Finding]:
    """A byte-order mark, and encodings other than UTF-8."""
    form = part.table.form
    if not form.format.text:
        return
    if form.encoding == "utf-8-sig":
        remedy = "Nothing need be done here, but other programs take it for text; `--fix` removes it"
        yield part.found("note", "byte-order-mark", "the file begins with a byte-order mark", remedy)
    elif form.encoding != "utf-8":
        such = f", such as {form.sample}" if form.sample else ""
        remedy = "See that it reads right, else set encoding=NAME; `--fix` writes UTF-8"
        yield part.found("note", "encoding", f"the file is read as {spelled(form.encoding)}{such}", remedy)


def header_names(part: Part) -> Iterator[Finding]:
    """Names of columns that are empty, doubled, or have spaces or marks around them."""
    form = part.table.form
    raw = first_cells(part.table.path, form)
    if not dialect_of(form).header:
        remedy = "Put a line with the columns' names at the top"
        yield part.found("note", "no-header", "the first line names no columns, so it is read as a row", remedy)
        return
    plain = [name.strip(AROUND) for name in raw]
    if loose := [name for name, stripped in zip(raw, plain, strict=True) if stripped not in ("", name)]:
        what = f"spaces or marks around names in the header: {', '.join(map(shown, loose[:5]))}"
        remedy = "Nothing need be done here, where they are overlooked; `--fix` removes them"
        yield part.found("note", "header-spaces", what, remedy)
    if empty := [number for number, name in enumerate(plain, start=1) if not name]:
        what = f"columns without a name: {', '.join(f'number {number}' for number in empty[:5])}"
        remedy = f"Name them; here they are called 'column {empty[0]}' and so on, which `--fix` writes"
        yield part.found("warning", "header-empty", what, remedy)
    if double := [name for name, count in Counter(plain).items() if name and count > 1]:
        what = f"columns with the same name: {', '.join(map(shown, double[:5]))}"
        second = next(number for number, name in enumerate(plain, start=1) if name in plain[: number - 1] and name)
        remedy = f"Rename one; here the second is called '{plain[second - 1]} {second}', which `--fix` writes"
        yield part.found("warning", "header-double", what, remedy)


def unreadable(part: Part) -> Iterator[Finding]:
    """Rows that could not be read, by what is wrong with them."""
    by_code: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in part.unread:
        known = (found for words, found in UNREAD.items() if words in record.fault)
        by_code[next(known, ("unreadable", "Mend them"))].append(record)
    for (code, remedy), records in by_code.items():
        what = f"rows that cannot be read ({part.table.form}); of the first: {records[0].fault}"
        severity: Severity = "error" if len(records) > max(FEW_LOST, MOST_LOST * part.size) else "warning"
        yield part.found_in(records, severity, code, what, f"{remedy}; such rows are left out, `--fix` drops them")
    if part.rejected:
        what = f"rows that are not used; of the first: {part.rejected[0].fault}"
        yield part.found_in(part.rejected, "note", "rejected", what, "Nothing need be done if that is meant")


def unusable(part: Part) -> Iterator[Finding]:
    """Rows that make no row of the task, by the reason."""
    by_code: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for index, why in part.unusable:
        known = (found for words, found in UNUSED.items() if words in why)
        by_code[next(known, ("unusable", "Mend them; such rows are left out"))].append((index, why))
    for (code, remedy), rows in by_code.items():
        what = f"rows that cannot be used; the first {rows[0][1]}"
        yield part.found(_of_lost(part, len(rows)), code, what, remedy, [index for index, _ in rows])


def _of_lost(part: Part, rows: int) -> Severity:
    """Of rows that are left out: an error where most are, since then the file is not what it was taken for."""
    return "error" if rows > MOSTLY * part.size else "warning"


def swallowed_rows(part: Part) -> Iterator[Finding]:
    """Cells that hold other rows, since a quote opens or closes in the wrong place; or that seem to."""
    dialect, width = dialect_of(part.table.form), len(part.table.columns)
    swallowed, long = set(), set()
    for cells in part.table.columns.values() if dialect.delimiter and dialect.quoted else ():
        several = {index: cell.split("\n") for index, cell in enumerate(cells) if type(cell) is str and "\n" in cell}
        for index, lines in several.items():
            if any(_is_row(line, dialect.delimiter, width, part.label_counts) for line in lines[:-1]):
                swallowed.add(index)
            elif len(several) <= MANY * len(cells) and _like_rows(lines, dialect.delimiter, width):
                long.add(index)
    if swallowed:
        what = "cells of several lines that hold other rows: a quote opens or closes in the wrong place"
        yield part.found("warning", "swallowed-rows", what, "Double the quotes within texts", sorted(swallowed))
    if long:
        what = f"cells of {MANY_LINES} lines and more that look like rows"
        yield part.found("warning", "long-cell", what, "See whether a quote is not closed in them", sorted(long))


def formulas(part: Part) -> Iterator[Finding]:
    """Cells that a spreadsheet takes for formulas, or that it made of them."""
    found = set()
    for name, cells in part.table.columns.items():
        if name not in part.layout.label:
            texts = ((index, cell) for index, cell in enumerate(cells) if type(cell) is str)
            found |= {index for index, cell in texts if cell[:1] in MARKS and FORMULA.match(cell)}
    if found:
        what = "cells that a spreadsheet takes for formulas, or that it made of them"
        remedy = "Nothing need be done here; do not save the file from a spreadsheet"
        yield part.found("note", "formula", what, remedy, sorted(found))


def double_ids(part: Part) -> Iterator[Finding]:
    """Ids that several rows have."""
    columns = part.table.columns
    taken = (*part.layout.text, *part.layout.label)
    name = part.layout.id or next((name for name in columns if name.lower() in ID_NAMES and name not in taken), "")
    if not part.has([name]):
        return
    ids = [as_text(cell).strip() for cell in columns[name] if not is_missing(cell)]
    counts = Counter(ids)
    if len(counts) == len(ids) or (not part.layout.id and len(counts) < 0.5 * len(ids)):
        return
    seen: set[str] = set()
    again = []
    for index, cell in enumerate(columns[name]):
        given = as_text(cell).strip()
        if given in seen:
            again.append(index)
        elif given:
            seen.add(given)
    what = f"ids in the column '{name}' that an earlier row has too, such as {shown(as_text(columns[name][again[0]]))}"
    severity: Severity = "warning" if part.layout.id else "note"
    yield part.found(severity, "double-id", what, "Give every row an id of its own", again)


def _like_rows(lines: Sequence[str], delimiter: str, width: int) -> bool:
    """Whether very many lines are mostly as rows are, but for their label."""
    alike = sum(line.count(delimiter) == width - 1 for line in lines)
    return len(lines) >= MANY_LINES and width > 1 and alike > MOSTLY * len(lines)


def _is_row(line: str, delimiter: str, width: int, labels: Container[str]) -> bool:
    """Whether a line has as many cells as a row, and one of them is a label."""
    if line.count(delimiter) != width - 1:
        return False
    return any(cell.strip() in labels for cell in line.split(delimiter))
