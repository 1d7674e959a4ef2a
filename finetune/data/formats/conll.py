"""Files with a word and its tags per line: detects and reads any variant by its content, writes CoNLL columns."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import IO, Any

from finetune.data.column_types import counts_up
from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats.word_lines import (
    DOCUMENT,
    JOINED,
    PREFIX,
    SPACES,
    TagForm,
    WordLines,
    are_chunks,
    fields_of,
    form_of,
    is_blank,
    is_comment,
    sentences,
)
from finetune.data.open_files import FileStart, numbered_lines, utf_8
from finetune.data.records import Record, column_names
from finetune.data.values import as_number, tags_of
from finetune.errors import UserError
from finetune.metrics.entities import to_iob2

TAG = re.compile(r"O|[BIESLU]-.+")


LINES = 3_000  # that are inspected
DELIMITERS = ("\t", ",", ";", SPACES)
REGULAR = 0.75  # share of the lines with the usual number of columns
FEWEST_WORDS = 3  # mean words per sentence
KNOWN = frozenset(
    {"word", "words", "token", "tokens", "form", "text", "tag", "tags", "ner", "label", "ner_tags", "bio"}
)
SPACED = re.compile(r"\S\s+\S")
LINE_ENDS = re.compile(r"\r\n|\n|\r")


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each sentence, with a list for each column."""
    with form.open_text(path) as file:
        yield from sentences(enumerate(file, start=1), form.layout)


def read_tagged(path: Path, *, types: Collection[str]) -> Iterator[tuple[int, list[str], list[str]]]:
    """(number of the document, words, tags in IOB2) of every sentence of a UTF-8 file: its first and last column.

    Columns are separated by tabs where the first line has one, else by spaces; documents count from 1 (0: none was
    marked). Raises UserError with file and line for a fault, for a tag of no known scheme, and for one of another type
    than `types`.
    """
    lines = [(number, line.rstrip(" ")) for number, line in numbered_lines(path)]
    first = next((line for _, line in lines if line.split(None, 1)[:1] not in ([], [DOCUMENT])), "")
    delimiter = "\t" if "\t" in first else SPACES
    between = map(str, range(2, len(fields_of(first, delimiter, quoted=False))))
    form = WordLines(delimiter=delimiter, names=("words", *between, "tags"))
    for record in sentences(lines, form, blanks=False):
        if record.fault:
            raise UserError(
                f"{path}:{record.line}: {record.fault.what}",
                "A line is a word, its columns and a tag, with tabs or spaces between; fix that line",
            )
        tags = record.values["tags"]
        for number, tag in enumerate(tags, start=record.line):
            if not TAG.fullmatch(tag) or tag[2:] not in ("", *types):
                what = f"{path}:{number}: '{tag}' is not a tag of one of the types {', '.join(types)}"
                raise UserError(what, "Tags are O, or B, I, E, S, L or U, a hyphen and a type; fix that line")
        yield int(record.values.get("document", 0)), record.values["words"], to_iob2(tags)


def _fits(path: Path, output: OutputFormat, _: int) -> None:
    needed = {"prediction"} if isinstance(output.like, WordLines) else {"words", "prediction"}
    if not needed <= {*output.names}:
        raise UserError(
            f"{path}: CoNLL columns hold words and tags alone, in columns `words` and `prediction`",
            "Choose another format",
        )


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    """Writes the columns of words, and the prediction last, tab-separated; its tags are O where there is none."""
    names = output.like.names if isinstance(output.like, WordLines) else ("words", "tags")
    prediction = next(name for name in ("predicted prediction", "prediction") if name in output.names)
    with utf_8(file) as text:
        for row in rows:
            words = _words(row) if "words" in row else _column(row.get(names[0]))
            columns = [words if name == "words" else _column(row.get(name)) for name in names]
            lists = [cells for cells in columns if len(cells) == len(words)] + _predicted(
                row.get(prediction), len(words)
            )
            text.writelines("\t".join(cells) + "\n" for cells in zip(*lists, strict=True))
            text.write("\n")
    return 0


def _predicted(cell: Any, length: int) -> list[list[str]]:
    """The columns of a prediction: tags, then its other parts, such as an intent; a text is repeated for each word."""
    parts = sorted(cell.values(), key=lambda part: isinstance(part, str)) if isinstance(cell, dict) else [cell]
    columns = [[part] * length if isinstance(part, str) and len(parts) > 1 else _column(part) for part in parts]
    return [column if len(column) == length else ["O"] * length for column in columns]


def _words(row: FileRow) -> list[str]:
    """The words of a row; of a raw text those that were found in it."""
    cell, characters = row.get("words"), row.get("characters")
    return _column([cell[start:end] for start, end in characters] if isinstance(cell, str) and characters else cell)


def _column(cell: Any) -> list[str]:
    """Words or tags, without characters that would end their column or line."""
    return [re.sub(r"[\t\r\n]", " ", item).strip() or "_" for item in tags_of(cell)]


def sniff(start: FileStart) -> WordLines | None:
    """Detects the layout of a text with one word per line; None where it is something else.

    Raises UserError where there are words and tags, but neither empty lines nor a column of sentence numbers.
    """
    lines = LINE_ENDS.split(start.text)[:LINES]
    layouts = (_read_by(lines, delimiter, start.path) for delimiter in DELIMITERS)
    return next(filter(None, layouts), None) or _bare_words(lines)


def _read_by(lines: Sequence[str], delimiter: str, path: Path) -> WordLines | None:
    """The layout of the lines if this delimiter separates columns with one of words."""
    nonblank = [line for line in lines if line.strip()]
    if sum(delimiter in line for line in nonblank[:200]) < 0.5 * len(nonblank[:200]):
        return None
    quoted = delimiter in ",;" or _quotes_words(nonblank, delimiter)
    cells = [(line, fields_of(line, delimiter, quoted=quoted)) for line in lines]
    blank = [is_blank(line, row) for line, row in cells]
    filled = [(line, row) for line, row in cells if not is_blank(line, row) and row[:1] != [DOCUMENT]]
    if not filled:
        return None
    width = Counter(len(row) for _, row in filled).most_common(1)[0][0]
    words = [row for line, row in filled if not is_comment(line, row, width)]
    rows = [row for row in words if len(row) == width]
    if width < 2 or len(rows) < max(2, REGULAR * len(words)):
        return None
    columns = [[row[place] for row in rows[1:]] or [rows[0][place]] for place in range(width)]
    tag_forms = {place: form_of(Counter(map(str.strip, column))) for place, column in enumerate(columns)}
    forms = {place: form for place, form in tag_forms.items() if form is not None}
    word = _word_column(columns, forms)
    if word is None:
        return None
    first, gaps = [cell.strip() for cell in rows[0]], _gaps(blank)
    header = _names_columns(first, columns, forms, word)
    names = tuple(column_names(first)) if header else _names(word, [*forms], columns)
    numbers = "" if gaps else _sentence_column(columns, names, {word, *forms})
    if not all(_single(column) for name, column in zip(names, columns, strict=True) if name != numbers):
        return None
    if forms and not gaps and not numbers:
        if any(form.form == "bare" for form in forms.values()):
            return None
        raise UserError(
            f"{path}: has a word and its tag in each line, but neither empty lines nor a column of sentence numbers",
            "Put an empty line between sentences, or add a column such as `sentence` with their numbers",
        )
    if not forms and (gaps < 3 or len(words) < FEWEST_WORDS * gaps):
        return None
    return WordLines(
        delimiter=delimiter,
        names=names,
        header=header,
        quoted=quoted,
        sentence=numbers,
        characters=are_characters(columns[word]),
    )


def are_characters(words: Sequence[str]) -> bool:
    """Whether words are the single characters of a text, blanks perhaps among them."""
    return len(words) > 1 and sum(len(word) <= 1 for word in words) >= 0.9 * len(words)


def _bare_words(lines: Sequence[str]) -> WordLines | None:
    """The layout of words without tags, as for prediction: many short sentences of one word per line."""
    words, gaps = [line for line in lines if line.strip()], _gaps([not line.strip() for line in lines])
    if gaps < 2 or len(words) < FEWEST_WORDS * gaps or any(len(line.split()) > 1 or "," in line[1:] for line in words):
        return None
    return WordLines(delimiter="\t", names=("words",))


def _gaps(blank: Sequence[bool]) -> int:
    last = max((i for i, empty in enumerate(blank) if not empty), default=0)
    return sum(empty and not before for before, empty in pairwise(blank[:last]))


def _word_column(columns: Sequence[Sequence[str]], tags: Container[int]) -> int | None:
    """The column of words: single words with letters, not a counter, and the most distinct values."""
    most, best = 0.0, None
    for place, cells in enumerate(columns):
        letters = sum(any(map(str.isalpha, cell)) for cell in cells) >= 0.3 * len(cells)  # numbers have none
        if place not in tags and letters and _single(cells) and not _is_running_number(cells):
            distinct = len(set(cells))
            if distinct > most:
                most, best = 1.5 * distinct, place
    return best


def _is_running_number(cells: Sequence[str]) -> bool:
    """Whether cells number the words of a sentence, or of the file: 1, 2, 3 (and 4-5, 5.1 as in CoNLL-U)."""
    numbers = [as_number(cell) for cell in cells if not JOINED.fullmatch(cell.strip())]
    whole = [number for number in numbers if number is not None]
    if not whole or len(whole) < 0.98 * len(numbers):
        return False
    rising = sum(after == before + 1 or after <= 1 for before, after in pairwise(whole))
    return rising >= 0.9 * max(1, len(whole) - 1) or counts_up(whole)


def _names_columns(
    first: Sequence[str], columns: Sequence[Sequence[str]], forms: Mapping[int, TagForm], word: int
) -> bool:
    """Whether the first row is a header: it has a known name, or no tag where the other rows have one."""
    if any(first[place].lower() in KNOWN for place in (word, *forms)):
        return True
    return bool(forms) and not any(
        first[place] in columns[place] or form.standard(first[place]) != first[place] or PREFIX.fullmatch(first[place])
        for place, form in forms.items()
    )


def _names(word: int, tags: Sequence[int], columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """`words` and `tags` where it is clear which column holds them, else `column 3`, counted from 1."""
    names = [f"column {place}" for place in range(1, len(columns) + 1)]
    names[word] = "words"
    entities = [place for place in tags if not are_chunks(columns[place])]
    if len(entities) == 1:
        names[entities[0]] = "tags"
    return tuple(names)


def _sentence_column(columns: Sequence[Sequence[str]], names: Sequence[str], taken: set[int]) -> str:
    """The column that numbers the sentences: one value for each run of rows, or only in its first row."""
    candidates: list[tuple[bool, int, str]] = []
    for place, cells in enumerate(columns):
        values = [cell.strip() for cell in cells]
        filled = [value for value in values if value]
        if place in taken or len(filled) < 2:
            continue
        runs = [value for value, _ in groupby(filled)]
        if len(set(runs)) == len(runs) and 2 <= len(runs) <= 0.5 * len(values):
            candidates.append(("sent" in names[place].lower(), len(runs), names[place]))
    return max(candidates)[2] if candidates else ""


def _single(cells: Sequence[str]) -> bool:
    return sum(bool(SPACED.search(cell)) for cell in cells) <= 0.02 * len(cells)


def _quotes_words(lines: Sequence[str], delimiter: str) -> bool:
    """Whether cells are quoted: a quote in a word is doubled and enclosed, as CSV writers do."""
    cells = [cell for line in lines for cell in line.split(delimiter) if '"' in cell]
    whole = [len(cell) > 2 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "") for cell in cells]
    return bool(cells) and all(whole) and any(cell.count('"') > 2 for cell in cells)


FORMAT = Format(
    name="word-lines",
    names_columns=False,
    title="one word per line",
    suffixes=(".conll",),
    sniff=sniff,
    read=read,
    fits=_fits,
    write=_write,
)
