"""Search in the reader's language: an index for English pages, one for Korean ones with what is in English alone.

A page of the theme takes the index below its base, so that of Korean pages is `ko/`. Runs after the plugins of search
and of pages that are opened as files.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.pages import Page

KOREAN = "ko/"
LAST = -200  # of the priorities of plugins
LESS = 0.1  # of the weight of an English page among Korean ones
# Of pages in either language: what solves problems is looked for more than its words say, decisions less.
WEIGHTS = {"how-to/troubleshooting.html": 5.0, "how-to/faq.html": 2.0, "decisions/": 0.1}
BASE = re.compile(r'(<script id="__config" type="application/json">.*?"base": ")([./]+)"')


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The base of a Korean page is one folder nearer."""
    return BASE.sub(lambda found: f'{found[1]}{nearer(found[2])}"', output, count=1) if _korean(page.url) else output


def nearer(base: str) -> str:
    """`../..` becomes `..`, and `..` becomes `.`."""
    return base.removesuffix("..").rstrip("/") or "."


@event_priority(LAST)
def on_post_build(config: MkDocsConfig) -> None:
    """Writes both indexes, as JSON and as the script that pages read which are opened as files."""
    site = Path(config.site_dir)
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    for folder, docs in (("", english(index["docs"])), (KOREAN, korean(index["docs"]))):
        place = site / folder / "search"
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index | {"docs": docs}, ensure_ascii=False, separators=(",", ":"))
        (place / "search_index.json").write_text(text, encoding="utf-8")
        (place / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")


def english(docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but Korean pages."""
    return [weighted(doc) for doc in docs if not _korean(doc["location"])]


def korean(docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Korean pages, and with less weight the English ones without a Korean page; places are relative to `ko/`."""
    own = [doc | {"location": doc["location"].removeprefix(KOREAN)} for doc in docs if _korean(doc["location"])]
    pages = {_page(doc) for doc in own}
    others = [doc for doc in docs if not _korean(doc["location"]) and _page(doc) not in pages]
    return [*map(weighted, own), *(doc | {"location": f"../{doc['location']}", "boost": LESS} for doc in others)]


def weighted(doc: dict[str, Any]) -> dict[str, Any]:
    """A page or a part of one with the weight of its place."""
    found = [weight for place, weight in WEIGHTS.items() if doc["location"].startswith(place)]
    return doc | ({"boost": found[-1]} if found else {})


def _page(doc: dict[str, Any]) -> str:
    return str(doc["location"]).partition("#")[0]


def _korean(location: str) -> bool:
    return location.startswith(KOREAN)
