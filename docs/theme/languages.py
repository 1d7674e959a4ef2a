"""The end of a language is the end of its pages: the first Korean page is not the next one of the last English page."""

from itertools import pairwise
from typing import Any

from mkdocs.structure.nav import Navigation


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Removes the links between the pages of two languages at the foot of a page."""
    for page, after in pairwise(nav.pages):
        if page.url.startswith("ko/") != after.url.startswith("ko/"):
            page.next_page = after.previous_page = None
    return nav
