"""Writes a report, and shows it in a notebook."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from finetune.analysis.report.write import write_report
from finetune.api.progress import in_notebook

HEIGHT = 600  # pixels of a report in a notebook


def write_page(names: Sequence[str], file: Path, *, out: Path) -> Path:
    """Writes the report of these runs and returns its path. Raises UserError as `write_report` does."""
    write_report(names, file, out=out)
    if in_notebook():
        _show(file)
    return file


def _show(file: Path) -> None:
    from IPython.display import display

    page = escape(file.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{page}" width="100%" height="{HEIGHT}" style="border:1px solid #ccc"></iframe>'
    display({"text/html": frame, "text/plain": str(file)}, raw=True)
