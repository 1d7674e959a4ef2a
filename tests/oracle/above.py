"""Tables with something above their header, or with none."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import openpyxl

from .files import COMMAS, Dialect, put, put_table, table
from .layout import Layout, Row, Text, Written
from .words import one_of, opinions, told

COUNT = 150


def layouts() -> Iterator[Layout]:
    """Titles and comments above a header, a rule below it, and no header at all."""
    columns = {
        "No": [str(n + 1) for n in range(COUNT)],
        "Comment": opinions("en", COUNT, 1241),
        "Rating": one_of(["good", "poor", "fair"], COUNT, 1242),
    }
    body = [list(columns), *zip(*columns.values(), strict=True)]
    rows: list[Row] = [Text(text, None, label) for _, text, label in body[1:]]
    answers = {"text": "Comment", "label": "Rating"}

    def sheet(*titles: Sequence[str | None]) -> Callable[[Path], Written]:
        def write(folder: Path) -> Written:
            book = openpyxl.Workbook()
            for cells in (*titles, *body):
                book.active.append(cells)
            book.save(path := folder / "report.xlsx")
            return Written(path=path, rows=rows)

        return write

    def behind(above: str, file: str, dialect: Dialect = COMMAS) -> Callable[[Path], Written]:
        def write(folder: Path) -> Written:
            path = put_table(folder / file, columns, dialect)
            return Written(path=put(path, above + path.read_text(encoding="utf-8")), rows=rows)

        return write

    def markdown(folder: Path) -> Written:
        shown = ["| " + " | ".join(cells) + " |\n" for cells in body]
        return Written(path=put(folder / "t.md", "".join([shown[0], "|---|:---|---|\n", *shown[1:]])), rows=rows)

    semicolons = Dialect(delimiter=";", ends="\r\n")
    comments = "# Export of the survey\n# date: 2021-05-04, user: kim\n# columns: No, Comment, Rating\n"
    for name, kind, write in (
        ("a title above the header of a sheet", 8, sheet(["Customer feedback 2021"])),
        ("two titles above the header of a sheet", 8, sheet(["Customer feedback"], ["made in May"], [None])),
        ("a table in Markdown", 8, markdown),
        ("sep=; above the header", 6, behind("sep=;\r\n", "sep.csv", semicolons)),
        ("a title above the header", 6, behind("Customer feedback 2021;;\r\n", "report.csv", semicolons)),
        ("comments above the header", 6, behind(comments, "out.csv")),
    ):
        yield Layout(name=name, kind=kind, language="en", write=write, answers=answers)
    texts = list(dict.fromkeys(fact.text for fact in told("en", 60, 1243)))
    few = {"text": texts[:6], "label": ["up", "down"] * 3}
    yield table("six rows without a header", 0, "en", few, dialect=Dialect(header=False), least=6)
