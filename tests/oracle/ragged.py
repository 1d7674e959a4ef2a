"""Rows with more fields than the header: an unnamed index, and texts that run on because nothing quotes them."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from .files import COMMAS, put, put_table, table
from .layout import Layout, Text, Written
from .words import one_of, opinions


def layouts() -> Iterator[Layout]:
    """Indexes without a name, nameless columns, commas that nothing quotes."""
    count = 110
    unnamed = {
        "": [str(n) for n in range(count)],
        "text": opinions("en", count, 501),
        "label": one_of(["up", "down"], count, 502),
    }
    yield table("an index with an empty name", 6, "en", unnamed)
    yield table(
        "an index with an empty name, and other columns",
        6,
        "es",
        {
            "": [str(3 * n) for n in range(count)],
            "voto": one_of(["a favor", "en contra"], count, 503),
            "frase": opinions("es", count, 504),
        },
        text="frase",
        label="voto",
    )
    yield _short_header("a header one cell short", "de", "\t")
    yield _short_header("a header one cell short, quoted", "fr", ",")
    yield from _empty_columns()
    yield from _running_on()


def _short_header(name: str, language: str, delimiter: str) -> Layout:
    found, labels = opinions(language, 100, 511), one_of(["A", "B", "C"], 100, 512)

    def write(folder: Path) -> Written:
        quote: Callable[[str], str] = (lambda cell: f'"{cell}"') if delimiter == "," else str
        body = [
            delimiter.join([quote(str(n)), quote(t), quote(y)])
            for n, (t, y) in enumerate(zip(found, labels, strict=True), 1)
        ]
        path = put(folder / "frame.csv", "\n".join([delimiter.join(map(quote, ["text", "class"])), *body]) + "\n")
        with path.open(newline="", encoding="utf-8") as file:
            again = [Text(row[1], None, row[2]) for row in list(csv.reader(file, delimiter=delimiter))[1:]]
        return Written(path=path, rows=[Text(t, None, y) for t, y in zip(found, labels, strict=True)], reread=again)

    return Layout(name=name, kind=6, language=language, write=write, answers={"text": "text", "label": "class"})


def _empty_columns() -> Iterator[Layout]:
    count = 120
    found, labels = opinions("en", count, 521), one_of(["ham", "spam"], count, 522)
    empty = {"v1": labels, "v2": found, "": [""] * count, " ": [""] * count, "  ": [""] * count}

    def clean(folder: Path) -> Written:
        path = put_table(folder / "spam.csv", {**empty}, COMMAS)
        return Written(path=path, rows=[Text(t, None, y) for t, y in zip(found, labels, strict=True)])

    yield Layout(
        name="three nameless columns that are empty",
        kind=6,
        language="en",
        write=clean,
        answers={"text": "v2", "label": "v1"},
    )

    def filled(folder: Path) -> Written:
        cells = [
            [y, *t.split(", ", 2)] if n % 4 == 0 else [y, t] for n, (t, y) in enumerate(zip(found, labels, strict=True))
        ]
        text = "v1,v2,,,\n" + "".join(_line(row) for row in cells)
        path = put(folder / "spam.csv", text)
        # A careful person joins what ran on, or leaves those rows out.
        rows = [Text(t, None, y) for t, y in zip(found, labels, strict=True)]
        narrow = [Text(row[1], None, row[0]) for row in cells if len(row) == 2]
        return Written(path=path, rows=rows, or_rows=[narrow])

    yield Layout(
        name="texts that run on into nameless columns",
        kind=6,
        language="en",
        write=filled,
        answers={"text": "v2", "label": "v1"},
    )


def _line(cells: list[str]) -> str:
    """Five fields, quoted where it is needed; a part that ran on keeps the blank in front of it."""
    spelled = [cells[0], cells[1], *(f" {cell}" for cell in cells[2:])]
    quoted = [f'"{cell}"' if "," in cell else cell for cell in spelled]
    return ",".join([*quoted, *[""] * (5 - len(quoted))]) + "\n"


def _running_on() -> Iterator[Layout]:
    def layout(name: str, language: str, *, label_first: bool, header: bool) -> Layout:
        found, labels = opinions(language, 160, 531), one_of(["neg", "pos"], 160, 532)

        def write(folder: Path) -> Written:
            body = [f"{y},{t}" if label_first else f"{t},{y}" for t, y in zip(found, labels, strict=True)]
            head = ["label,text" if label_first else "text,label"] if header else []
            path = put(folder / "data.csv", "\n".join([*head, *body]) + "\n")
            rows = [Text(t, None, y) for t, y in zip(found, labels, strict=True)]
            lines = path.read_text(encoding="utf-8").splitlines()[len(head) :]
            parted = [line.split(",", 1)[::-1] if label_first else line.rsplit(",", 1) for line in lines]
            return Written(path=path, rows=rows, reread=[Text(t, None, y) for t, y in parted])

        answers = {"text": "text", "label": "label"} if header else {"text": "column 2", "label": "column 1"}
        return Layout(name=name, kind=6, language=language, write=write, answers=answers)

    yield layout("commas in the text that nothing quotes, at the end", "en", label_first=True, header=True)
    yield layout("commas in the text that nothing quotes, in front", "de", label_first=False, header=True)
    yield layout("commas in the text that nothing quotes, no header", "es", label_first=True, header=False)
