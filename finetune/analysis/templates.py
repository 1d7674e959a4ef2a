"""jinja2 templates of HTML pages, with autoescaping."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from finetune.task_types.marked_text import clean


def templates_of(package: str) -> Environment:
    """The templates next to a package's modules."""
    return Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,  # Markup is done already
        trim_blocks=True,
        lstrip_blocks=True,
    )
