"""HTML pages: jinja2 templates with autoescaping, and the file that is written."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import output_file
from finetune.errors import UserError
from finetune.task_types.marked_text import clean

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def templates_of(package: str) -> "Environment":
    """The templates next to a package's modules, and the includes of all pages. Raises UserError without jinja2."""
    require_jinja2()
    return _templates(package)


@cache  # to compile them takes as long as to fill them in
def _templates(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(__package__, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,  # Markup is done already
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline_json": inline_json, "short": lambda number: f"{number:.1f}".removesuffix(".0")}
    return environment


def inline_json(value: Any) -> "Markup":
    """JSON inside a `<script>`: no markup in a text can end it."""
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    return Markup(clean(htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)))


def script_hash(script: str) -> str:
    """The hash by which a page's Content-Security-Policy allows its own script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_page(html: str, file: Path) -> int:
    """Writes the page and returns its size in bytes. Raises UserError if it cannot be written."""
    page = html.encode()
    with output_file(file, remedy="Choose another file") as scratch:
        scratch.write_bytes(page)
    return len(page)


def require_jinja2() -> None:
    """Raises UserError if jinja2, which makes the pages, is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"a page needs a package that is not installed ({error.name})",
            "Install it: pip install 'bert-finetune[report]'",
        ) from error
