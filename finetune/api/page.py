"""Writes HTML pages, and shows them in a notebook."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from finetune.analysis.report.blocks import WordWeight
from finetune.analysis.report.run_files import find_folders
from finetune.analysis.report.write import write_report
from finetune.api.progress import in_notebook
from finetune.api.quiet import quiet
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.errors import UserError, shown
from finetune.runs.record_files import load_record

HEIGHT = 600  # pixels of a page in a notebook
MOST_EXPLAINED = 50  # errors of a run

Weights = dict[tuple[str, str, str], Sequence[WordWeight]]


def write_page(names: Sequence[str], file: Path, *, out: Path, explain: int = 0, force: bool = False) -> Path:
    """Writes the report of these runs and returns its path; with `explain` it shows what words add.

    Raises UserError as `write_report` does, and for a number of explanations that is not 0 to MOST_EXPLAINED.
    """
    if not 0 <= explain <= MOST_EXPLAINED:
        raise UserError(f"explain is {shown(explain)}", f"Give the number of errors, 0 to {MOST_EXPLAINED}")
    require_replaceable_output(file, endings=PAGE, reads=names, force=force)
    write_report(names, file, out=out, weights=_weights(names, explain, out) if explain else None)
    show_page(file)
    return file


def show_page(file: Path) -> None:
    """Shows a page, in a notebook."""
    if not in_notebook():
        return
    from IPython.display import display

    page = escape(file.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{page}" width="100%" height="{HEIGHT}" style="border:1px solid #ccc"></iframe>'
    display({"text/html": frame, "text/plain": str(file)}, raw=True)


def _weights(names: Sequence[str], count: int, out: Path) -> Weights:
    """What words add, by the run's id, the split and the row's id."""
    from finetune.analysis.explain.word_weights import word_weights

    found: Weights = {}
    with quiet():
        from finetune.inference.explain.gradients import require_captum
        from finetune.inference.explain.of_run import explained_rows
        from finetune.inference.predictor import load

        require_captum()
        for folder in find_folders(names, out):
            run = load_record(folder.record_file).id
            rows = explained_rows(load(folder.path, out=out), folder, count)
            found |= {(run, split, name): word_weights(row) for split, name, row in rows}
    return found
