"""Atomic writes: a crash at any moment leaves the old content or the new one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from finetune.data.paths import require_output
from finetune.errors import UserError


@contextmanager
def scratch_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it replaces the file at the end, and is removed if writing fails."""
    scratch = file.with_name(f".{file.name}.tmp")
    try:
        yield scratch
        scratch.replace(file)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def output_file(file: Path, *, remedy: str = "Choose another file") -> Iterator[Path]:
    """`scratch_file` for a file that a user named. Raises UserError where it cannot be written."""
    require_output(file)
    try:
        with scratch_file(file) as scratch:
            yield scratch
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", remedy) from error


def write_atomically(file: Path, text: str) -> None:
    """Replaces the file's text atomically, in UTF-8."""
    with scratch_file(file) as scratch:
        scratch.write_text(text, encoding="utf-8")
