"""Runs notebooks, and keeps what their cells show for the pages of the site; the notebooks stay without outputs.

python docs/generate/notebook_outputs.py docs/tutorials/notebook.ipynb  # that in Korean needs an encoder from the Hub
"""

import json
import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

LONGEST = 30_000  # characters of an output that a page shows: a report is longer, and a file of its own
SECONDS = 1800  # that a cell may take


def write_outputs(file: Path) -> None:
    """Runs a notebook in an empty folder, and writes what its cells show next to it."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    shown = {cell["source"]: shown_html(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"}
    text = json.dumps({source: html for source, html in shown.items() if html}, indent=1, ensure_ascii=False)
    file.with_suffix(".outputs.json").write_text(f"{text}\n", encoding="utf-8")


def shown_html(cell: Any) -> str:
    """What a cell shows as HTML without blank lines, which would end it within a page; empty for nothing."""
    parts = list[str]()
    for output in cell["outputs"]:
        data = output.get("data", {})
        plain = "".join(data.get("text/plain", ""))
        page = "".join(data.get("text/html", "")) or (f"<pre>{escape(plain, quote=False)}</pre>" if plain else "")
        page = re.sub(r"<style scoped>.*?</style>\s*", "", page, flags=re.DOTALL)
        if page and len(page) <= LONGEST:
            parts.append(re.sub(r"\n\s*\n", "\n", page).strip())
    return "\n".join(parts)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name))
