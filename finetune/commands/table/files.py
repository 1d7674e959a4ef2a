"""The files of `finetune table`: Markdown, as in results/tables, and CSV: a number a column, in points."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType

from finetune.analysis.form import Form, markdown_page
from finetune.analysis.published import Anchor
from finetune.commands.table.columns import Cell, Columns, cost_cell, half_of_difference, version_words
from finetune.commands.table.lines import TableLine
from finetune.data.outputs import output_file
from finetune.runs.record_parts import Cost
from finetune.runs.seeds import Summary

NO_MORE: Columns = MappingProxyType({})


def as_markdown(name: str, form: Form) -> str:
    """A Markdown page, as in results/tables."""
    return markdown_page(form, made=f"finetune table {name}{form.option} -o results/tables/{name}.md")


def write_table(file: Path, name: str, form: Form, lines: Sequence[TableLine], more: Columns = NO_MORE) -> None:
    """Writes CSV with the numbers of the lines and `more` columns, or Markdown, by the file's suffix.

    Raises UserError if it cannot be written.
    """
    text = as_csv(lines, more) if file.suffix.lower() == ".csv" else as_markdown(name, form)
    with output_file(file, remedy="Name another file") as scratch:
        scratch.write_text(text, encoding="utf-8")


def as_csv(lines: Sequence[TableLine], more: Columns = NO_MORE) -> str:
    """CSV with the columns of every table; `more` columns come last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = {**NUMBERS, **more}
    writer.writerow(columns)
    writer.writerows([cell(line) for cell in columns.values()] for line in lines)
    return out.getvalue()


def _points(number: Callable[[TableLine], float | None]) -> Cell:
    """A score or a difference in points; empty for None."""

    def cell(line: TableLine) -> str:
        value = number(line)
        return "" if value is None else f"{line.metric.scaled(value):.3f}"

    return cell


def _low(summary: Summary | None) -> float | None:
    return summary.interval[0] if summary and summary.interval else None


def _high(summary: Summary | None) -> float | None:
    return summary.interval[1] if summary and summary.interval else None


def _published(line: TableLine, some: Sequence[Anchor]) -> str:
    return "; ".join(f"{line.metric.scaled(anchor.score):.2f}" for anchor in some)


def _on_test(line: TableLine, *, hidden: bool) -> list[Anchor]:
    return [anchor for anchor in line.published_test if anchor.hidden is hidden]


def _sources(line: TableLine) -> str:
    every = (*line.published_dev, *_on_test(line, hidden=False), *_on_test(line, hidden=True))
    return "; ".join(f"{anchor.source}{version_words(anchor)}" for anchor in every)


NUMBERS: Columns = {
    "row": lambda line: line.name,
    "metric": lambda line: line.metric.name,
    "model": lambda line: line.model,
    "settings_tried": lambda line: str(line.choices),
    "runs": lambda line: str(len(line.runs)),
    "failed": lambda line: "" if line.failed is None else str(line.failed),
    "dev_mean": _points(lambda line: line.dev.mean if line.dev else None),
    "dev_sd": _points(lambda line: line.dev.sd if line.dev else None),
    "dev_low": _points(lambda line: _low(line.dev)),
    "dev_high": _points(lambda line: _high(line.dev)),
    "dev_best": _points(lambda line: line.dev.best if line.dev else None),
    "test_mean": _points(lambda line: line.test.mean if line.test else None),
    "test_sd": _points(lambda line: line.test.sd if line.test else None),
    "published_dev": lambda line: _published(line, line.published_dev),
    "verdict": lambda line: "; ".join(line.verdicts),
    "published_test": lambda line: _published(line, _on_test(line, hidden=False)),
    "published_server": lambda line: _published(line, _on_test(line, hidden=True)),
    "sources": _sources,
    "run_ids": lambda line: "; ".join(run.id for run in line.runs),
}
PAIRED_NUMBERS: Columns = {
    "pairs": lambda line: str(line.difference.n) if line.difference else "",
    "difference": _points(lambda line: line.difference.mean if line.difference else None),
    "difference_low": _points(lambda line: _low(line.difference)),
    "difference_high": _points(lambda line: _high(line.difference)),
    "detects": _points(half_of_difference),
    "from_control": _points(lambda line: line.from_control.mean if line.from_control else None),
    "from_control_low": _points(lambda line: _low(line.from_control)),
    "from_control_high": _points(lambda line: _high(line.from_control)),
    "paper": lambda line: "" if line.paper is None else f"{line.paper:g}",
}
COST_NUMBERS: Columns = {name: cost_cell(name, "{:.12g}".format) for name in Cost.model_fields}  # seconds, bytes
