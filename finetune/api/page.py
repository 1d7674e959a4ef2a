"""Shows HTML pages in a notebook."""

from html import escape
from pathlib import Path

from finetune.api.progress import in_notebook

HEIGHT = 600  # pixels of a page in a notebook


def show_page(file: Path) -> None:
    """Shows a page, in a notebook."""
    if not in_notebook():
        return
    from IPython.display import display

    page = escape(file.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{page}" width="100%" height="{HEIGHT}" style="border:1px solid #ccc"></iframe>'
    display({"text/html": frame, "text/plain": str(file)}, raw=True)
