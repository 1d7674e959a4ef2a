"""Checks of a file and its cells: encoding, header, rows that cannot be read or used, ids, split names, odd texts."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from finetune.checks.split_data import SplitFile
from finetune.data.characters import CONTROL, is_mojibake
from finetune.data.formats.delimited import dialect_of, first_cells
from finetune.data.issues import REJECTED, Finding, Issue
from finetune.data.messages import shown
from finetune.data.values import as_text, is_missing
from finetune.task_types.findings import MOST_OF_ROWS
from finetune.task_types.first_rows import split_columns

AROUND = " \t\r\n\ufeff\0"  # stripped from column names
FEW_LOST, MOST_LOST = 3, 0.1  # number and share of unreadable rows from which they are an error
MOST_NAMED = 5  # labels or columns in a message
ENCODING = Issue(
    "encoding", "note", "the file is not UTF-8", "If the text is garbled, set encoding=NAME; `fix` writes UTF-8"
)
NO_HEADER = Issue(
    "no-header",
    "note",
    "no header: the first line is read as a row",
    "Add a line with the column names at the top",
)
HEADER_EMPTY = Issue(
    "header-empty",
    "warning",
    "columns without a name",
    "Name them; they are read as '{name}' and so on, which `fix` writes",
)
HEADER_DOUBLE = Issue(
    "header-double",
    "warning",
    "duplicate column names",
    "Rename one; the second is read as '{name}', which `fix` writes",
)
DOUBLE_ID = Issue("double-id", "warning", "duplicate ids in the column that `id` names", "Give every row a unique id")
SPLIT_COLUMN = Issue(
    "split-column",
    "warning",
    "a column of split names, which is ignored",
    "Name it if it says train and dev: split=COLUMN; else write each split into a file: FILE dev=FILE test=FILE",
)
BLANK = frozenset(("nan", "null", "none", "n/a", "na", "nil", "?", "<na>", "#n/a", "undefined"))
HTML = re.compile(
    r"</?(a|b|i|u|p|br|hr|em|ul|ol|li|td|tr|div|span|strong|table|img|font|h[1-6])\b[^<>]*>"
    r"|&(amp|lt|gt|quot|nbsp|apos|#\d+);"
)
SINGLE = re.compile("[ㄱ-ㅣﾡ-ￜ]")  # a cheap test before SPELLED
# Korean syllables written as single letters (but not laughter and tears: ㅋㅋㅠㅠ), or in letters of half width
SPELLED = re.compile("[ㄱ-ㅎ][ㅏ-ㅛㅝ-ㅟㅢㅣ][ㄱ-ㅎ]?[ㄱ-ㅎ][ㅏ-ㅣ]|[ﾡ-ￜ]")
ODD_TEXTS: Mapping[Issue, Callable[[str], object]] = {
    Issue(
        "blank-word", "warning", "placeholder texts (nan, null)", "Leave the cell empty where there is no text"
    ): lambda text: len(text) < 12 and text.strip().casefold() in BLANK,
    Issue("html", "note", "HTML tags or entities in the text", "Replace them with plain text"): lambda text: (
        ("<" in text or "&" in text) and HTML.search(text)
    ),
    Issue(
        "mojibake",
        "warning",
        "mojibake: texts decoded in the wrong encoding (such as Ã© for é, or 移쒓뎄 for 친구)",
        "Export the data again as UTF-8",
    ): is_mojibake,
    Issue(
        "not-nfc",
        "warning",
        "texts that are not in NFC (such as é or 한 as several characters, or compatibility letters)",
        "Normalise to NFC, as `fix` does; a tokenizer has other pieces for such letters",
    ): lambda text: not unicodedata.is_normalized("NFC", text),
    Issue(
        "jamo",
        "warning",
        "Korean syllables written as single letters (jamo: ㅎㅏㄴ), or half-width letters",
        "Write whole syllables; NFC does not compose these",
    ): lambda text: not text.isascii() and SINGLE.search(text) and SPELLED.search(text),
    Issue(
        "control",
        "note",
        "control or invisible characters (NUL, zero-width space)",
        "Remove them, as `fix` does",
    ): lambda text: not (text.isascii() and text.isprintable()) and CONTROL.search(text),
    Issue(
        "replacement", "warning", "replacement characters U+FFFD: letters were lost", "Export the data again as UTF-8"
    ): lambda text: "\ufffd" in text,
}


def encoding(part: SplitFile) -> Iterator[Finding]:
    """An encoding other than UTF-8."""
    form = part.table.form
    if form.format.text and form.encoding not in ("utf-8", "utf-8-sig"):
        such = f", such as {form.sample}" if form.sample else ""
        yield Finding(ENCODING, f"the file is read as {form.encoding.upper()}{such}")


def header_names(part: SplitFile) -> Iterator[Finding]:
    """Column names that are empty or duplicate."""
    form = part.table.form
    if not dialect_of(form).header:
        yield Finding(NO_HEADER)
        return
    names = [name.strip(AROUND) for name in first_cells(part.table.path, form)]
    if empty := [number for number, name in enumerate(names, start=1) if not name]:
        what = f"{HEADER_EMPTY.meaning}: {', '.join(f'number {number}' for number in empty[:MOST_NAMED])}"
        yield Finding(HEADER_EMPTY, what, remedy=HEADER_EMPTY.remedy.format(name=f"column {empty[0]}"))
    if again := repeats(names):
        what = f"{HEADER_DOUBLE.meaning}: {first_quoted(dict.fromkeys(names[index] for index in again))}"
        read_as = f"{names[again[0]]} {again[0] + 1}"
        yield Finding(HEADER_DOUBLE, what, remedy=HEADER_DOUBLE.remedy.format(name=read_as))


def lost_rows(part: SplitFile) -> Iterator[Finding]:
    """Rows that cannot be read or used, by reason; errors where most are lost, since the file is then misread."""
    unread = len(part.table)  # the index of the first record that could not be read
    faults = [(unread + place, record.fault) for place, record in enumerate(part.table.faults) if record.fault]
    by_issue = defaultdict[Issue, list[tuple[int, str]]](list)
    for index, fault in (*faults, *part.unusable):
        by_issue[fault.issue].append((index, fault.what))
    for issue, lost in by_issue.items():
        (first, why), most = lost[0], MOST_OF_ROWS * part.size
        what = f"rows that cannot be used; the first {why}"
        if first >= unread:
            most = max(FEW_LOST, MOST_LOST * part.size)
            rows = "rows that are not used" if issue is REJECTED else f"rows that cannot be read ({part.table.form})"
            what = f"{rows}; of the first: {why}"
        yield Finding(issue, what, [index for index, _ in lost], worst=len(lost) > most)


def double_ids(part: SplitFile) -> Iterator[Finding]:
    """Duplicate ids in the column that the user named."""
    cells = part.table.columns.get(part.layout.id, ())
    if again := repeats("" if is_missing(cell) else as_text(cell).strip() for cell in cells):
        what = f"duplicate ids in the column '{part.layout.id}', such as {shown(as_text(cells[again[0]]))}"
        yield Finding(DOUBLE_ID, what, again)


def named_splits(part: SplitFile) -> Iterator[Finding]:
    """A column of split names, which is ignored."""
    for name in split_columns(part.layout, part.table, used=part.by_column) if part.trains else ():
        yield Finding(
            SPLIT_COLUMN, f"the column {shown(name)} has split names, but all rows are used for training and dev"
        )


def odd_texts(part: SplitFile) -> Iterator[Finding]:
    """Texts of each kind that is odd."""
    for issue, holds in ODD_TEXTS.items():
        if indexes := [index for index, text in enumerate(part.texts) if text and holds(text)]:
            yield Finding(issue, indexes=indexes)


def repeats(values: Iterable[Hashable]) -> list[int]:
    """The indexes of the values that an earlier one equals; empty ones are not compared."""
    first: dict[Hashable, int] = {}
    return [index for index, value in enumerate(values) if value and first.setdefault(value, index) != index]


def first_quoted(names: Iterable[str]) -> str:
    """The first names in quotes, with commas."""
    return ", ".join(list(map(shown, names))[:MOST_NAMED])
