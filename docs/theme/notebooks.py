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
        text = relinked(as_markdown(notebook), dirname(uri), dirname(page))
        files.append(File.generated(config, page, content=f"{text}\n\n{link}\n"))
    return files


def language(uri: str) -> str:
    """The language of a notebook by its name."""
    return "ko" if uri.endswith(".ko.ipynb") else "en"


def page_of(uri: str) -> str:
    """Where the page of a notebook is."""
    return f"ko/{uri.removesuffix('.ko.ipynb')}.md" if language(uri) == "ko" else uri.removesuffix(".ipynb") + ".md"


def as_markdown(notebook: dict[str, Any]) -> str:
    """The cells of a notebook without outputs."""
    cells = [("".join(cell["source"]), cell["cell_type"]) for cell in notebook["cells"]]
    return "\n\n".join(f"```python\n{source}\n```" if kind == "code" else source for source, kind in cells if source)


def relinked(text: str, old: str, new: str) -> str:
    """A text that was moved from one folder to another, with its relative links adapted."""
    return re.sub(r"\]\((?!\w+:|#)([^)#]+)", lambda link: f"]({relpath(join(old, link[1]), new)}", text)
