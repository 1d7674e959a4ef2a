"""The Python reference, a page a class: each one that `import finetune` offers gets one, after that of functions."""

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import finetune

FUNCTIONS = "reference/python.md"  # which lists the classes at its end


def classes() -> list[str]:
    """Their names, in order."""
    return [name for name in finetune.__all__ if isinstance(getattr(finetune, name), type)]


def page_of(name: str) -> str:
    """Where the page of a class is."""
    return f"reference/python/{name}.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages below the functions in the navigation."""
    (reference,) = (item["Reference"] for item in config.nav or [] if "Reference" in item)
    (at,) = (at for at, item in enumerate(reference) if FUNCTIONS in item.values())
    reference[at] = {"Python": [{"Functions": FUNCTIONS}, *({name: page_of(name)} for name in classes())]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    for name in classes():
        files.append(File.generated(config, page_of(name), content=f"# {name}\n\n::: finetune.{name}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The list of classes at the end of the page of functions, with their first sentences."""
    if page.file.src_uri != FUNCTIONS:
        return markdown
    lines = [f"- [{name}](python/{name}.md): {_first_line(name)}" for name in classes()]
    return "\n".join([markdown, "", "## Classes", "", *lines, ""])


def _first_line(name: str) -> str:
    return (getattr(finetune, name).__doc__ or "").strip().splitlines()[0]
