"""A table as it is printed, and written as a page or as LaTeX."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from finetune.analysis.pages.templates import templates_of
from finetune.task_types.marked_text import clean

if TYPE_CHECKING:
    from markupsafe import Markup

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "†": r"\textdagger{}",
    "±": r"$\pm$", "−": "$-$", "–": "--", "<": r"\textless{}", ">": r"\textgreater{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Form:
    """A table as it is printed: headings, cells, notes below it, and for files the runs `behind` it.

    `option` is that of the command that chooses this form. The first `left` columns are not numbers; with `grouped`,
    rows with the same first cell belong together.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    behind: Sequence[str]
    left: int
    option: str = ""
    grouped: bool = False

    @property
    def headings(self) -> Sequence[str]:
        """The headings without that of the groups' titles."""
        return self.header[1:] if self.grouped else self.header

    @property
    def words(self) -> int:
        """How many of `headings` are not of numbers."""
        return self.left - 1 if self.grouped else self.left

    def groups(self) -> list[tuple[str, list[Sequence[str]]]]:
        """(title, rows) of rows that belong together, without the cell that is their title; else all under no title."""
        if not self.grouped:
            return [("", list(self.rows))]
        return [(title, [row[1:] for row in some]) for title, some in groupby(self.rows, key=lambda row: row[0])]


def as_html(form: Form, charts: Sequence[tuple[str, "Markup"]] = ()) -> str:
    """A complete HTML page, with charts (title, picture) above the table. Raises UserError without jinja2."""
    template = templates_of(__package__).get_template("table.html.j2")
    return template.render(
        title=form.title, header=form.headings, left=form.words, groups=form.groups(),
        notes=[*form.notes, *form.behind], charts=charts,
    )  # fmt: skip


def as_latex(form: Form, *, made: str) -> str:
    """A `table` for a paper, with the command that `made` it in a comment; it needs booktabs, and nothing else."""
    table = "\n".join(_table(form))
    letters = (
        []
        if table.isascii()
        else ["% It has letters that pdfLaTeX may lack: use XeLaTeX or LuaLaTeX with a font for them."]
    )
    return "\n".join([f"% {_comment(made)}", r"% \usepackage{booktabs}", *letters, table]) + "\n"


def _table(form: Form) -> Iterator[str]:
    columns = "l" * form.words + "r" * (len(form.headings) - form.words)
    yield from (r"\begin{table}", r"\centering", r"\small", f"\\caption{{{in_latex(form.title)}}}")
    yield from (f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule", _line(form.headings), r"\midrule")
    for number, (title, rows) in enumerate(form.groups()):
        if title:
            yield from [r"\addlinespace"] * bool(number)
            yield f"\\multicolumn{{{len(form.headings)}}}{{@{{}}l}}{{\\emph{{{in_latex(title)}}}}} \\\\"
        yield from map(_line, rows)
    yield from (r"\bottomrule", r"\end{tabular}")
    if form.notes:
        yield from (r"\par\medskip", r"\begin{minipage}{\linewidth}\footnotesize")
        yield from (f"{in_latex(note)}\\par" for note in form.notes)
        yield r"\end{minipage}"
    yield r"\end{table}"


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(in_latex, cells))} \\\\"


def in_latex(text: str) -> str:
    """A text with every sign that LaTeX would obey escaped, on one line."""
    escaped = "".join(LATEX.get(sign, sign) for sign in " ".join(clean(text).split()))
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped  # which \\ before it would read


def _comment(text: str) -> str:
    return " ".join(text.split())
