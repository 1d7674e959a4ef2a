"""Options: fields that a recipe may set, declared in the same way by task types and readers."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, get_type_hints

DECLARED = "option"  # the key in a field's metadata


@dataclass(frozen=True, kw_only=True)
class Option:
    """A declared option: its name in a recipe, its type and default, and one line for the documentation."""

    name: str
    type: Any
    default: Any
    meaning: str


def option(default: Any, meaning: str) -> Any:
    """A dataclass field that a recipe may set: `fold: Literal[0, 1] = option(0, "which fold is dev")`."""
    return field(default=default, metadata={DECLARED: meaning})


def declared_names(owner: Any) -> tuple[str, ...]:
    """The names of the options that a task or a reader, or its class, declares; none if it is not a dataclass."""
    return tuple(one.name for one in _fields(owner))


def declared_options(owner: Any) -> tuple[Option, ...]:
    """The declared options with types, defaults and meanings."""
    types = get_type_hints(owner if isinstance(owner, type) else type(owner), include_extras=True)
    return tuple(
        Option(name=one.name, type=types[one.name], default=one.default, meaning=one.metadata[DECLARED])
        for one in _fields(owner)
    )


def _fields(owner: Any) -> Iterator[Field[Any]]:
    return (one for one in (fields(owner) if is_dataclass(owner) else ()) if DECLARED in one.metadata)
