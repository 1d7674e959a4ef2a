"""jinja2 templates of HTML pages, with autoescaping."""

from typing import TYPE_CHECKING

from finetune.errors import UserError
from finetune.task_types.marked_text import clean

if TYPE_CHECKING:
    from jinja2 import Environment


def templates_of(package: str) -> "Environment":
    """The templates next to a package's modules. Raises UserError without jinja2."""
    require_jinja2()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,  # Markup is done already
        trim_blocks=True,
        lstrip_blocks=True,
    )


def require_jinja2() -> None:
    """Raises UserError where the package that pages are made with is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"an HTML page needs a package that is not installed ({error.name})",
            "Install it: pip install 'bert-finetune[report]'",
        ) from error
