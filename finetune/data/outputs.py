"""Files that a user names to be written: what may be replaced, and the writing.

Which files we wrote is noted in the cache, with size and time: so a command can be repeated, also where the format has
no room for a mark, and a file that was edited since is the user's again.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path

from finetune.data.atomic import require_written, scratch_file
from finetune.data.paths import exists, is_file, is_folder, is_pattern, require_place
from finetune.errors import UserError

PAGE = (".html",)
OF_A_RUN = ("record.json", "events.jsonl")
CONFIGS = ("config.json", "adapter_config.json")
WITH_A_CONFIG = ("model.safetensors*", "*.safetensors", "pytorch_model*", "tokenizer*.json", "vocab.*")
MOST_NOTES = 10_000


def cache_root() -> Path:
    """The folder of everything that is cached: FINETUNE_CACHE, or in the user's cache folder."""
    named = os.environ.get("FINETUNE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "finetune"


def require_replaceable_output(
    file: Path, *, endings: Collection[str] = ("",), reads: Iterable[object] = (), force: bool = False
) -> None:
    """Raises UserError, before any work, where a command may not write a file.

    It has another ending than the command's files, cannot be written, is in the folder of a model or a run, or is one
    of what the command reads (`reads`: paths and patterns; other names are passed over); or, without `force`, it is
    there and we did not write it.
    """
    require_place(file)
    if not any(file.name.lower().endswith(ending) for ending in endings):
        raise UserError(f"{file}: is written as {', '.join(endings)}", "Name a file with that suffix")
    _require_outside(file)
    if not exists(file):
        return
    for read in _files_of(reads):
        if exists(read) and file.samefile(read):
            raise UserError(f"{file}: output would overwrite the input", "Name another file")
    if not force and not _is_ours(file):
        raise UserError(
            f"{file} already exists, and was not written by this command, or was edited since",
            "Name another file, or replace it with `force`",
        )


@contextmanager
def output_file(file: Path, *, remedy: str = "Choose another file") -> Iterator[Path]:
    """`scratch_file` for a file that a user named. Raises UserError where it cannot be written.

    It is noted before it gets its name, so that a command that is killed in between can be repeated.
    """
    with require_written(file, remedy=remedy), scratch_file(file) as scratch:
        yield scratch
        _remember(file, scratch)


def _remember(file: Path, written: Path) -> None:
    """Notes that we wrote a file; without a cache that can be written it is as one of the user's.

    A note is an empty file, which no kill can leave half-written.
    """
    with suppress(OSError):
        note = _note(file, written)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
        if len(notes := list(note.parent.iterdir())) > MOST_NOTES:
            min(notes, key=lambda one: one.stat().st_mtime).unlink()


def _is_ours(file: Path) -> bool:
    with suppress(OSError):
        return _note(file, file).is_file()
    return False


def _note(file: Path, written: Path) -> Path:
    """The note of a file's path, with the size and time of what is written there."""
    look = written.stat()
    facts = os.fsencode(file.parent.resolve() / file.name) + f" {look.st_size} {look.st_mtime_ns}".encode()
    return cache_root() / "outputs" / hashlib.sha256(facts).hexdigest()[:20]


def _require_outside(file: Path) -> None:
    """Raises UserError for a file in the folder of a model; in that of a run a page may be written."""
    folder = file.absolute().parent
    model = any(is_file(folder / name) for name in CONFIGS) and any(any(folder.glob(name)) for name in WITH_A_CONFIG)
    run = file.suffix.lower() not in PAGE and any(is_file(folder / name) for name in OF_A_RUN)
    if model or run:
        raise UserError(f"{file}: is in the folder of a {'model' if model else 'run'}", "Choose another folder")


def _files_of(reads: Iterable[object]) -> Iterator[Path]:
    """The files that names of data stand for: of a folder all but those that we wrote."""
    for read in reads:
        if not isinstance(read, str | Path) or not str(read):
            continue
        path = Path(read).expanduser()
        if is_pattern(path):
            yield from map(Path, glob(str(path), recursive=True))  # noqa: PTH207
        elif is_folder(path):
            yield from (file for file in path.rglob("*") if is_file(file) and not _is_ours(file))
        else:
            yield path
