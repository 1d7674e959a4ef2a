"""Runs notebooks, and keeps what their cells show for the pages of the site.

python docs/generate/notebook_outputs.py docs/tutorials/notebook.ipynb  # that in Korean needs an encoder from the Hub

The notebooks themselves stay without outputs. A page shows an output below the code that it is of.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

LONGEST = 30_000  # characters of an output that a page shows: a report is longer, and a file of its own
SECONDS = 1800  # that a cell may take


def main() -> None:
    """Runs those that are named, and writes the outputs of each next to it."""
    for file in map(Path, sys.argv[1:]):
        cells = [cell for cell in executed(file)["cells"] if cell["cell_type"] == "code"]
        kept = {"".join(cell["source"]): output for cell in cells if (output := shown(cell))}
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        file.with_suffix(".outputs.json").write_text(text, encoding="utf-8")
        print(f"{file.name}: {len(kept)} outputs", file=sys.stderr)


def executed(file: Path) -> Any:
    """A notebook with the outputs of its cells, run in an empty folder."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    return notebook


def shown(cell: Any) -> str:
    """What a cell shows as HTML without blank lines, which would end it within a page; empty for nothing."""
    found = [output.get("data", {}) for output in cell["outputs"]]
    pages = ["".join(data.get("text/html") or _preformatted("".join(data.get("text/plain", "")))) for data in found]
    plain = [re.sub(r"<style scoped>.*?</style>\s*", "", page, flags=re.DOTALL) for page in pages]
    short = [re.sub(r"\n\s*\n", "\n", page).strip() for page in plain if len(page) <= LONGEST]
    return "\n".join(filter(None, short))


def _preformatted(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f"<pre>{escaped}</pre>" if text else ""


if __name__ == "__main__":
    main()
