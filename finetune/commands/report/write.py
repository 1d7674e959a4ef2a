"""`finetune report`: writes the page of some runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from finetune.analysis.pages.templates import require_jinja2, write_page
from finetune.commands.report.blocks import WordWeight
from finetune.commands.report.run_files import find_folders, read_run_files


def write_report(
    names: Sequence[str],
    output: Path,
    *,
    out: Path,
    weights: Mapping[tuple[str, str, str], Sequence[WordWeight]] | None = None,
) -> int:
    """Writes one HTML file about runs (folders, ids, or task names) and returns its size in bytes.

    `weights` has what each word of a row adds to its prediction, by the run's id, the split and the row's id. Raises
    UserError for a name without a run, for damaged files, and if the page cannot be written.
    """
    require_jinja2()
    from finetune.commands.report.page import render_report

    runs = [read_run_files(folder) for folder in find_folders(names, out)]
    return write_page(render_report(runs, weights), output)
