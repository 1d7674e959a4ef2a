"""Notebooks as pages of the site: `tutorials/x.ipynb`, and `tutorials/x.ko.ipynb` as `x` of the Korean tutorials."""

import json
import re
from pathlib import Path
from posixpath import dirname, join, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOWNLOAD = {"en": "The notebook itself", "ko": "노트북 파일"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each notebook, which stays as a file to download."""
    for uri in [file.src_uri for file in files if file.src_uri.endswith(".ipynb")]:
        notebook = json.loads((Path(config.docs_dir) / uri).read_text(encoding="utf-8"))
        page = page_of(uri)
        link = f"{DOWNLOAD[language(uri)]}: [{Path(uri).name}]({relpath(uri, dirname(page))})"
        text = relinked(as_markdown(notebook, outputs_of(Path(config.docs_dir) / uri)), dirname(uri), dirname(page))
        files.append(File.generated(config, page, content=f"{text}\n\n{link}\n"))
    return files


def language(uri: str) -> str:
    """The language of a notebook by its name."""
    return "ko" if uri.endswith(".ko.ipynb") else "en"


def page_of(uri: str) -> str:
    """Where the page of a notebook is."""
    return f"ko/{uri.removesuffix('.ko.ipynb')}.md" if language(uri) == "ko" else uri.removesuffix(".ipynb") + ".md"


def outputs_of(notebook: Path) -> dict[str, str]:
    """What its cells show, by their code; nothing unless `docs/generate/notebook_outputs.py` has run it."""
    file = notebook.with_suffix(".outputs.json")
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def as_markdown(notebook: dict[str, Any], outputs: dict[str, str]) -> str:
    """The cells of a notebook, each with what it shows."""
    parts = list[str]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if not source:
            continue
        code = cell["cell_type"] == "code"
        parts.append(f"```python\n{source}\n```" if code else source)
        if code and source in outputs:
            parts.append(f'<div class="output">\n{outputs[source]}\n</div>')
    return "\n\n".join(parts)


def relinked(text: str, old: str, new: str) -> str:
    """A text that was moved from one folder to another, with its relative links adapted."""
    return re.sub(r"\]\((?!\w+:|#)([^)#]+)", lambda link: f"]({relpath(join(old, link[1]), new)}", text)
