"""Checks of a file's format: encoding, header, rows that cannot be read or used, ids, split names."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from typing import TypeVar

from finetune.checks.finding import MOST_OF_ROWS, FileFinding
from finetune.checks.split_data import Check, SplitFile, in_each
from finetune.data.encodings.detect import spelled
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.issues import READING, REJECTED, Finding, Issue
from finetune.data.messages import shown
from finetune.data.values import as_text, is_missing
from finetune.task_types.column_names import id_names
from finetune.task_types.first_rows import split_columns
from finetune.task_types.row_issues import SHARED
from finetune.task_types.types import OWN

T = TypeVar("T")
ROW_ISSUES = (*SHARED, *(issue for kind in OWN for issue in kind.row_issues))
AROUND = " \t\r\n\ufeff\0"  # stripped from column names
FEW_LOST, MOST_LOST = 3, 0.1  # number and share of unreadable rows from which they are an error
ENCODING = Issue(
    code="encoding",
    severity="note",
    meaning="the file is not UTF-8",
    remedy="If the text is garbled, set encoding=NAME; `fix` writes UTF-8",
)
NO_HEADER = Issue(
    code="no-header",
    severity="note",
    meaning="no header: the first line is read as a row",
    remedy="Add a line with the column names at the top",
)
HEADER_EMPTY = Issue(
    code="header-empty",
    severity="warning",
    meaning="columns without a name",
    remedy="Name them; they are read as '{name}' and so on, which `fix` writes",
)
HEADER_DOUBLE = Issue(
    code="header-double",
    severity="warning",
    meaning="duplicate column names",
    remedy="Rename one; the second is read as '{name}', which `fix` writes",
)
SWALLOWED_ROWS = Issue(
    code="swallowed-rows",
    severity="warning",
    meaning="cells that contain other rows, because of an unescaped quote",
    remedy="Double the quotes inside texts",
)
DOUBLE_ID = Issue(
    code="double-id",
    severity="note",
    worst="warning",
    meaning="duplicate ids",
    remedy="Give every row a unique id",
)
SPLIT_COLUMN = Issue(
    code="split-column",
    severity="warning",
    meaning="a column of split names, which is ignored",
    remedy="Name it if it says train and dev: split=COLUMN; else write each split into a file: FILE dev=FILE test=FILE",
)


def encoding(part: SplitFile) -> Iterator[FileFinding]:
    """An encoding other than UTF-8."""
    form = part.table.form
    if form.format.text and form.encoding not in ("utf-8", "utf-8-sig"):
        such = f", such as {form.sample}" if form.sample else ""
        yield part.found(ENCODING, what=f"the file is read as {spelled(form.encoding)}{such}")


def header_names(part: SplitFile) -> Iterator[FileFinding]:
    """Column names that are empty or duplicate."""
    form = part.table.form
    if not dialect_of(form).header:
        yield part.found(NO_HEADER)
        return
    plain = [name.strip(AROUND) for name in first_cells(part.table.path, form)]
    if empty := [number for number, name in enumerate(plain, start=1) if not name]:
        what = f"{HEADER_EMPTY.meaning}: {', '.join(f'number {number}' for number in empty[:5])}"
        yield part.found(HEADER_EMPTY, what=what, remedy=HEADER_EMPTY.remedy.format(name=f"column {empty[0]}"))
    if double := [name for name, count in Counter(plain).items() if name and count > 1]:
        what = f"{HEADER_DOUBLE.meaning}: {', '.join(map(shown, double[:5]))}"
        second = next(number for number, name in enumerate(plain, start=1) if name in plain[: number - 1] and name)
        remedy = HEADER_DOUBLE.remedy.format(name=f"{plain[second - 1]} {second}")
        yield part.found(HEADER_DOUBLE, what=what, remedy=remedy)


def unreadable(part: SplitFile) -> Iterator[FileFinding]:
    """Rows that could not be read, by reason."""
    for issue, found in _by_issue((record, record.fault) for record in part.table.faults if record.fault):
        rows = "rows that are not used" if issue is REJECTED else f"rows that cannot be read ({part.table.form})"
        worst = len(found) > max(FEW_LOST, MOST_LOST * part.size)
        yield part.found_in([record for record, _ in found], issue, f"{rows}; of the first: {found[0][1]}", worst=worst)


def unusable_rows(part: SplitFile) -> Iterator[FileFinding]:
    """Rows that the task cannot use, by reason; an error where most rows are, since the columns are then wrong."""
    for issue, found in _by_issue(part.unusable):
        what = f"rows that cannot be used; the first {found[0][1]}"
        yield part.found(issue, [index for index, _ in found], what=what, worst=len(found) > MOST_OF_ROWS * part.size)


def _by_issue(faults: Iterable[tuple[T, Finding]]) -> Iterable[tuple[Issue, list[tuple[T, str]]]]:
    """The rows of each issue, with what is wrong with each."""
    found: defaultdict[Issue, list[tuple[T, str]]] = defaultdict(list)
    for row, fault in faults:
        found[fault.issue].append((row, fault.what))
    return found.items()


def swallowed_rows(part: SplitFile) -> Iterator[FileFinding]:
    """Cells that contain other rows because of an unescaped quote."""
    dialect, width = dialect_of(part.table.form), len(part.table.columns)
    found = set()
    for cells in part.table.columns.values() if dialect.delimiter and dialect.quoted else ():
        for index, cell in enumerate(cells):
            lines = cell.split("\n")[:-1] if type(cell) is str else []
            if any(_is_row(line, dialect.delimiter, width, part.label_counts) for line in lines):
                found.add(index)
    if found:
        yield part.found(SWALLOWED_ROWS, sorted(found))


def double_ids(part: SplitFile) -> Iterator[FileFinding]:
    """Duplicate ids."""
    columns = part.table.columns
    taken = (*part.layout.text, *part.layout.label)
    name = part.layout.id or next((name for name in columns if name.lower() in id_names() and name not in taken), "")
    if not part.has([name]):
        return
    ids = ["" if is_missing(cell) else as_text(cell).strip() for cell in columns[name]]
    counts = Counter(filter(None, ids))
    if not part.layout.id and len(counts) < 0.5 * counts.total():
        return
    first = {given: index for index, given in reversed([*enumerate(ids)])}
    if again := [index for index, given in enumerate(ids) if given and first[given] != index]:
        what = f"duplicate ids in the column '{name}', such as {shown(as_text(columns[name][again[0]]))}"
        yield part.found(DOUBLE_ID, again, what=what, worst=bool(part.layout.id))


def named_splits(part: SplitFile) -> Iterator[FileFinding]:
    """A column of split names, which is ignored."""
    for name in split_columns(part.layout, part.table, used=part.by_column) if part.trains else ():
        what = f"the column {shown(name)} has split names, but all rows are used for training and dev"
        yield part.found(SPLIT_COLUMN, what=what)


def _is_row(line: str, delimiter: str, width: int, labels: Container[str]) -> bool:
    """Whether a line has as many cells as a row, one of them a label."""
    if line.count(delimiter) != width - 1:
        return False
    return any(cell.strip() in labels for cell in line.split(delimiter))


CHECKS = (
    Check(find=in_each(encoding), issues=(ENCODING,), noted=True),
    Check(find=in_each(header_names), issues=(NO_HEADER, HEADER_EMPTY, HEADER_DOUBLE)),
    Check(find=in_each(unreadable), issues=READING, refuses=True, noted=True),
    Check(find=in_each(unusable_rows), issues=ROW_ISSUES, refuses=True, noted=True),
    Check(find=in_each(swallowed_rows), issues=(SWALLOWED_ROWS,)),
    Check(find=in_each(double_ids), issues=(DOUBLE_ID,)),
    Check(find=in_each(named_splits), issues=(SPLIT_COLUMN,)),
)
