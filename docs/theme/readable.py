"""What screen readers and keyboards need and the theme lacks: a name of the search, code that keys can scroll."""

from typing import Any

SEARCH = 'data-md-component="search" role="dialog"'
NAMES = {"en": "Search", "ko": "검색"}


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The page with a name of its search dialog, and blocks of code that take the focus."""
    language = "ko" if page.url.startswith("ko/") else "en"
    named = output.replace(SEARCH, f'{SEARCH} aria-label="{NAMES[language]}"')
    return named.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')
