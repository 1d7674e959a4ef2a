"""UserError: the one class of error that a user can cause and fix."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import Repr
from typing import Any

FORGED = re.compile("\n(?!  - )")  # a line that is not one of a list of faults
VALUE_CHARS_SHOWN = 100  # characters of a value in a message
LONGEST_LINE = 400  # characters of a library's error in a message
NAME_CHARS, NAMES_SEARCHED = 200, 5_000  # characters of a name, and names, of which the nearest is searched


OF_TRAINING = (  # packages of the extra `train`
    *("torch", "transformers", "tokenizers", "huggingface_hub", "sklearn", "accelerate", "datasets", "evaluate"),
)
THEIRS = (MemoryError, TimeoutError)  # not of what is read: the machine's, or a limit of time that the caller set


class UserError(Exception):
    """What is wrong and where (`what`), then how to fix it (`way_out`).

    Raised for every mistake that a user can correct. The command line prints it on one line and exits with code 2;
    a library caller catches it. `str(error)` is the whole message, on one line: a newline in a name or cell is written
    as an escape, and only the faults of a list have lines of their own.
    """

    def __init__(self, what: str, way_out: str = "") -> None:
        self.what = what
        self.way_out = way_out
        super().__init__(FORGED.sub(r"\\u000a", f"{what}. {way_out}" if way_out else what))

    def __reduce__(self) -> tuple[Any, ...]:
        """Both parts, so that it comes whole from another process."""
        return type(self), (self.what, self.way_out)


def without_training(error: ModuleNotFoundError) -> UserError | None:
    """The error for a package of the extra `train` that is not installed; None for another package."""
    package = (error.name or "").partition(".")[0]
    if package not in OF_TRAINING:
        return None
    return UserError(
        f"this needs a package that is not installed ({package})",
        "Install it: pip install 'bert-finetune[train]'; without it, exports predict and serve",
    )


@contextmanager
def as_user_error(what: str, way_out: str) -> Iterator[None]:
    """Turns any error of a library, which damaged files may raise, into a UserError that ends with its first line;
    memory and time pass.
    """
    try:
        yield
    except (UserError, *THEIRS):
        raise
    except Exception as error:
        raise UserError(f"{what} ({first_line(error)})", way_out) from error


def first_line(error: BaseException) -> str:
    """Class and first line of a library's error, shortened, for a message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {shortened(lines[0], LONGEST_LINE)}" if lines else type(error).__name__


def shortened(text: str, most: int) -> str:
    """A text, or its beginning and `...`."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shown_value(value: Any) -> str:
    """A value as Python shows it, for a message; of a long one the start and the end."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = VALUE_CHARS_SHOWN
    return short.repr(value)


def nearest(name: str, allowed: list[str]) -> str:
    """`Did you mean 'mrpc'? ` if an allowed name is close to `name`, else empty."""
    import difflib

    if len(name) > NAME_CHARS or len(allowed) > NAMES_SEARCHED:  # the time grows with the product of their lengths
        return ""
    close = difflib.get_close_matches(name, allowed, n=2, cutoff=0.6)
    return f"Did you mean {' or '.join(repr(match) for match in close)}? " if close else ""
