"""`finetune report`: writes the page of some runs."""

from collections.abc import Sequence
from pathlib import Path

from finetune.analysis.report.run_files import find_folders, read_run_files
from finetune.data.atomic import write_atomically
from finetune.errors import UserError


def write_report(names: Sequence[str], output: Path, *, out: Path) -> int:
    """Writes one HTML file about runs (folders, ids, or task names) and returns its size in bytes.

    Raises UserError for a name without a run, for damaged files, and if the page cannot be written.
    """
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"a report needs a package that is not installed ({error.name})",
            "Install it: pip install 'bert-finetune[report]'",
        ) from error
    if output.is_dir():
        raise UserError(f"{output}: is a folder", "Name a file: -o report.html")
    from finetune.analysis.report.page import render

    page = render([read_run_files(folder) for folder in find_folders(names, out)])
    try:
        write_atomically(output, page)
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror})", "Name another file with -o") from error
    return len(page.encode())
