"""The cells of `finetune table`, a row a model and task, and its files: Markdown, CSV, HTML."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.analysis.pages.templates import templates_of
from finetune.analysis.published import Anchor
from finetune.commands.table.paper_table import PaperTable, TableLine, rule
from finetune.data.messages import noun, so_many
from finetune.data.outputs import output_file
from finetune.metrics.metric import Metric
from finetune.runs.dev_choices import is_optimistic
from finetune.runs.lineage import SEEDS
from finetune.runs.recipe_diff import settings_of
from finetune.runs.seeds import Summary

HEADER = (
    *("", "metric", "model", "runs", "failed", "dev", "95 % interval", "published dev", "verdict"),
    *("test", "published test"),
)
COLUMNS = (
    *("row", "metric", "model", "settings_tried", "runs", "failed"),
    *("dev_mean", "dev_sd", "dev_low", "dev_high", "dev_best", "test_mean", "test_sd"),
    *("published_dev", "verdict", "published_test", "published_server", "sources", "run_ids"),
)
SUFFIXES = (".md", ".csv", ".html")
Cells = Sequence[object]  # of a row
More = Mapping[str, Sequence[str]]  # columns of a CSV file, a cell a line
NO_MORE: More = MappingProxyType({})
HIDDEN = "†"  # marks a published score on labels that a server hides


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

    def groups(self) -> list[tuple[str, list[Sequence[str]]]]:
        """(title, rows) of rows that belong together, without the cell that is their title; else all under no title."""
        if not self.grouped:
            return [("", list(self.rows))]
        return [(title, [row[1:] for row in some]) for title, some in groupby(self.rows, key=lambda row: row[0])]


def runs_form(table: PaperTable, lines: Sequence[TableLine]) -> Form:
    """A row for each model on each task, with the spread over seeds and the verdict."""
    return Form(
        title=table.title, header=HEADER, rows=_cells(lines), notes=_below(table, lines), behind=runs_behind(lines),
        left=3, option=" --form runs" * any(row.column for row in table.row),
    )  # fmt: skip


def as_markdown(name: str, form: Form) -> str:
    """A Markdown page, as in results/tables."""
    made = f"<!-- Generated: finetune table {name}{form.option} -o results/tables/{name}.md -->"
    below = "\n".join(f"- {text}" for text in (*form.notes, *form.behind))
    return f"{made}\n# {form.title}\n\n{markdown_rows(form)}\n\n{below}\n"


def markdown_rows(form: Form) -> str:
    """The headings and rows of a Markdown table."""
    return markdown_table(form.header, form.rows)


def markdown_table(head: Cells, rows: Sequence[Cells]) -> str:
    """A Markdown table; a cell may be any value."""
    first, *others = (" | ".join(str(cell).replace("|", "\\|") for cell in cells) for cells in (head, *rows))
    return "\n".join([f"| {first} |", f"{'|---' * len(head)}|", *(f"| {line} |" for line in others)])


def as_csv(lines: Sequence[TableLine], more: More = NO_MORE) -> str:
    """CSV with one number a column, in points; `more` columns come last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *more])
    for row, line in enumerate(lines):
        cells: list[Any] = [line.name, line.metric.name, line.model, line.choices, line.dev.n if line.dev else 0]
        cells.append(line.failed)
        cells += ["" if number is None else f"{line.metric.scaled(number):.3f}" for number in _numbers(line)]
        server = [anchor for anchor in line.published_test if _is_hidden(anchor)]
        test = [anchor for anchor in line.published_test if not _is_hidden(anchor)]
        dev, *others = (_points(some, line.metric) for some in (line.published_dev, test, server))
        cells += [dev, "; ".join(line.verdicts), *others]
        every = (*line.published_dev, *test, *server)
        sources = "; ".join(f"{anchor.source}{_version(anchor)}" for anchor in every)
        last = [column[row] for column in more.values()]
        writer.writerow([*cells, sources, "; ".join(run.id for run in line.runs), *last])
    return out.getvalue()


def as_html(form: Form) -> str:
    """A complete HTML page. Raises UserError without jinja2."""
    template = templates_of("finetune.commands.table").get_template("paper_table.html.j2")
    header, left = (form.header[1:], form.left - 1) if form.grouped else (form.header, form.left)
    return template.render(
        title=form.title, header=header, left=left, groups=form.groups(), notes=[*form.notes, *form.behind]
    )


def write_table(file: Path, name: str, form: Form, lines: Sequence[TableLine], more: More = NO_MORE) -> None:
    """Writes in the format of the file's suffix, one of SUFFIXES; CSV has the numbers of the lines, and `more` columns.

    Raises UserError if it cannot be written.
    """
    suffix = file.suffix
    text = as_csv(lines, more) if suffix == ".csv" else as_html(form) if suffix == ".html" else as_markdown(name, form)
    with output_file(file, remedy="Name another file") as scratch:
        scratch.write_text(text, encoding="utf-8")


def score_words(summary: Summary | None, metric: Metric) -> str:
    """Mean in points, ± standard deviation for several runs; empty for None."""
    if summary is None:
        return ""
    return metric.shown(summary.mean) + ("" if summary.sd is None else f" ± {metric.shown(summary.sd)}")


def _cells(lines: Sequence[TableLine]) -> list[list[str]]:
    numbers = sources(lines)
    return [
        [
            line.name,
            line.metric.name,
            line.model,
            _runs(line),
            "" if line.failed is None else str(line.failed),
            score_words(line.dev, line.metric),
            " to ".join(map(line.metric.shown, (line.dev and line.dev.interval) or ())),
            _published(line.published_dev, line.metric, numbers),
            "; ".join(line.verdicts),
            score_words(line.test, line.metric),
            _published(line.published_test, line.metric, numbers),
        ]
        for line in lines
    ]


def _runs(line: TableLine) -> str:
    if line.dev is None:
        return "no run"
    return str(line.dev.n) if line.choices == 1 else f"{line.dev.n}, best of {line.choices} settings on {line.split}"


def _published(some: Sequence[Anchor], metric: Metric, numbers: dict[str, int]) -> str:
    marked = ((anchor, HIDDEN * _is_hidden(anchor)) for anchor in some)
    return "; ".join(
        f"{metric.shown(anchor.score)}{mark}{_version(anchor)} [{numbers[anchor.source]}]" for anchor, mark in marked
    )


def _version(anchor: Anchor) -> str:
    """The number of rows of a score on an older version of the data set; else empty."""
    if not anchor.outdated:
        return ""
    return f" ({so_many(anchor.rows)})" if anchor.rows else " (first version)"


def _is_hidden(anchor: Anchor) -> bool:
    return anchor.split.startswith("server")


def _points(some: Sequence[Anchor], metric: Metric) -> str:
    return "; ".join(f"{metric.scaled(anchor.score):.2f}" for anchor in some)


def _numbers(line: TableLine) -> list[float | None]:
    low, high = (line.dev and line.dev.interval) or (None, None)
    dev = [None] * 2 if line.dev is None else [line.dev.mean, line.dev.sd]
    test = [None] * 2 if line.test is None else [line.test.mean, line.test.sd]
    return [*dev, low, high, line.dev and line.dev.best, *test]


def sources(lines: Sequence[TableLine]) -> dict[str, int]:
    """The sources, numbered by first appearance."""
    """The sources of published scores, with their numbers in notes."""
    every = [anchor.source for line in lines for anchor in (*line.published_dev, *line.published_test)]
    return {source: number for number, source in enumerate(dict.fromkeys(every), start=1)}


def _below(table: PaperTable, lines: Sequence[TableLine]) -> list[str]:
    """Notes below a table: the rule of the verdict, the marks, the sources."""
    over = "folds, which share most of their training rows" if any(row.over for row in table.row) else "seeds"
    notes = [
        f"Scores in points; dev and test: mean ± standard deviation of our runs over {over}.",
        "Failed: number of runs no better than the majority class.",
        rule(table),
        *about_runs(lines),
    ]
    if any(line.published_test for line in lines):
        notes.append(f"{HIDDEN} scored by a server on hidden labels; not comparable with dev.")
    if any(anchor.outdated for line in lines for anchor in (*line.published_dev, *line.published_test)):
        notes.append("(rows) or (first version) after a score: it is of an older version of the data set.")
    return notes + [f"[{number}] {source}" for source, number in sources(lines).items()]


def about_runs(lines: Sequence[TableLine]) -> Iterator[str]:
    """Caveats on our scores, with the lines they apply to."""
    if any(line.dev is not None and line.dev.n > 1 and line.dev.interval is None for line in lines):
        yield "Several runs with equal scores have no interval: another seed may score differently."
    names = [f"{line.name} {line.metric.name}, {line.model}" for line in lines]
    optimistic = [name for name, line in zip(names, lines, strict=True) if any(map(is_optimistic, line.runs))]
    if optimistic:
        yield f"Epoch or threshold chosen on dev, so these dev scores are optimistic: {'; '.join(optimistic)}."
    fitted = [name for name, line in zip(names, lines, strict=True) if any(run.cross_fitted for run in line.runs)]
    if fitted:
        yield f"Cross-fitted: scored on dev with thresholds chosen on other rows of dev: {'; '.join(fitted)}."


def runs_behind(lines: Sequence[TableLine]) -> list[str]:
    """The runs of each line and their settings that differ from the defaults, except seeds."""
    found = []
    for line in filter(lambda line: line.runs, lines):
        changed = [one for one in settings_of(line.runs) if one.changed and one.key not in (*SEEDS, "model")]
        settings = ", ".join(f"{one.key} {' or '.join(dict.fromkeys(map(str, one.values)))}" for one in changed)
        runs = ", ".join(run.id for run in line.runs)
        found.append(f"{line.name}, {line.model}: {settings or 'defaults'}; {noun(len(line.runs), 'run')} {runs}")
    return list(dict.fromkeys(found))  # two metrics of the same runs are one line
