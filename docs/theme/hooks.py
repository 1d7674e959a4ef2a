"""What the site adds to mkdocs: notebooks and classes as pages, two languages, search in the reader's, and keyboards.

A Korean page is below `ko/`. Search reads the index below a page's base, so that Korean pages have an index of their
own: of Korean pages, and with less weight of English ones that have no Korean page.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

import finetune

KOREAN = "ko/"
FUNCTIONS = "reference/python.md"  # which lists the classes at its end
DOWNLOAD = {"en": "The notebook itself", "ko": "노트북 파일"}
SEARCH, SEARCH_NAMES = 'data-md-component="search" role="dialog"', {"en": "Search", "ko": "검색"}
BASE = re.compile(r'(<script id="__config" type="application/json">.*?"base": ")([./]+)"')
AFTER_PLUGINS = -200  # the priority of a hook that reads what the plugin of search wrote
ENGLISH_WEIGHT = 0.1  # of an English page among Korean ones
# Of pages in either language: what solves problems is looked for more than its words say, decisions less.
WEIGHTS = {"how-to/troubleshooting.html": 5.0, "decisions.html": 0.1}


def language(place: str) -> str:
    """The language of a page, or of a notebook by its name."""
    return "ko" if place.startswith(KOREAN) or place.endswith(".ko.ipynb") else "en"


def classes() -> list[str]:
    """The classes that `import finetune` offers, which have a page each."""
    return [name for name in finetune.__all__ if isinstance(getattr(finetune, name), type)]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages of classes below that of functions in the navigation."""
    (reference,) = (item["Reference"] for item in config.nav or [] if "Reference" in item)
    (at,) = (at for at, item in enumerate(reference) if FUNCTIONS in item.values())
    pages = [{name: f"reference/python/{name}.md"} for name in classes()]
    reference[at] = {"Python": [{"Functions": FUNCTIONS}, *pages]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each class and each notebook, which stays as a file to download."""
    for name in classes():
        text = f"# {name}\n\n::: finetune.{name}\n"
        files.append(File.generated(config, f"reference/python/{name}.md", content=text))
    for uri in [file.src_uri for file in files if file.src_uri.endswith(".ipynb")]:
        source, page = Path(config.docs_dir) / uri, page_of(uri)
        shown = source.with_suffix(".outputs.json")  # docs/generate/notebook_outputs.py writes it
        outputs = json.loads(shown.read_text(encoding="utf-8")) if shown.is_file() else {}
        text = as_markdown(json.loads(source.read_text(encoding="utf-8")), outputs)
        link = f"{DOWNLOAD[language(uri)]}: [{source.name}]({relpath(uri, dirname(page))})"
        text = f"{relinked(text, dirname(uri), dirname(page))}\n\n{link}\n"
        files.append(File.generated(config, page, content=text))
    return files


def page_of(uri: str) -> str:
    """Where the page of a notebook is."""
    folder = KOREAN if language(uri) == "ko" else ""
    return f"{folder}{uri.removesuffix('.ipynb').removesuffix('.ko')}.md"


def as_markdown(notebook: dict[str, Any], outputs: dict[str, str]) -> str:
    """The cells of a notebook, each with what it shows."""
    parts = list[str]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        code = cell["cell_type"] == "code"
        if source:
            parts.append(f"```python\n{source}\n```" if code else source)
        if code and source in outputs:
            parts.append(f'<div class="output">\n{outputs[source]}\n</div>')
    return "\n\n".join(parts)


def relinked(text: str, old: str, new: str) -> str:
    """A text that was moved from one folder to another, with its relative links adapted."""
    return re.sub(r"\]\((?!\w+:|#)([^)#]+)", lambda link: f"]({relpath(join(old, link[1]), new)}", text)


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Ends each language with its own pages: the first Korean page does not follow the last English one."""
    for page, after in pairwise(nav.pages):
        if language(page.url) != language(after.url):
            page.next_page = after.previous_page = None
    return nav


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The list of classes at the end of the page of functions, with their first sentences."""
    if page.file.src_uri != FUNCTIONS:
        return markdown
    about = {name: (getattr(finetune, name).__doc__ or "").strip().splitlines()[0] for name in classes()}
    lines = [f"- [{name}](python/{name}.md): {sentence}" for name, sentence in about.items()]
    return "\n".join([markdown, "", "## Classes", "", *lines, ""])


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The page with a name of its search dialog, blocks of code that keys can scroll, and the base of its language."""
    output = output.replace(SEARCH, f'{SEARCH} aria-label="{SEARCH_NAMES[language(page.url)]}"')
    output = output.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')
    if language(page.url) == "ko":
        output = BASE.sub(lambda base: f'{base[1]}{base[2].removesuffix("..").rstrip("/") or "."}"', output, count=1)
    return output


@event_priority(AFTER_PLUGINS)
def on_post_build(config: MkDocsConfig) -> None:
    """Writes the index of each language, as JSON and as the script that pages read which are opened as files."""
    site = Path(config.site_dir)
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    korean = [doc for doc in index["docs"] if language(doc["location"]) == "ko"]
    english = [doc for doc in index["docs"] if language(doc["location"]) == "en"]
    ours = [weighted(doc | {"location": doc["location"].removeprefix(KOREAN)}) for doc in korean]
    pages = {doc["location"].partition("#")[0] for doc in ours}
    theirs = [
        doc | {"location": f"../{doc['location']}", "boost": ENGLISH_WEIGHT}
        for doc in english
        if doc["location"].partition("#")[0] not in pages
    ]
    for folder, docs in (("", [*map(weighted, english)]), (KOREAN, [*ours, *theirs])):
        place = site / folder / "search"
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index | {"docs": docs}, ensure_ascii=False, separators=(",", ":"))
        (place / "search_index.json").write_text(text, encoding="utf-8")
        (place / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")


def weighted(doc: dict[str, Any]) -> dict[str, Any]:
    """A page or a part of one with the weight of its place."""
    weights = [weight for place, weight in WEIGHTS.items() if doc["location"].startswith(place)]
    return doc | ({"boost": weights[-1]} if weights else {})
