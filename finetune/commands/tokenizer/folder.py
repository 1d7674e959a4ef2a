"""The folder of a trained tokenizer: written as a whole, and over another such folder only."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finetune.data.atomic import require_no_link, settle, sync, temporary_folder
from finetune.data.checksums import CHECKSUMS, write_checksums
from finetune.data.paths import exists, is_folder
from finetune.errors import THEIRS, UserError, first_line

ABOUT = "tokenizer_training.json"  # how the tokenizer was made, and what marks the folder as one of ours
FILES = {ABOUT, CHECKSUMS, "tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"}


def require_replaceable(folder: Path, *, reads: str = "") -> None:
    """Raises UserError, before any work, where a folder cannot be written, is what is read, or holds anything else."""
    require_no_link(folder)
    if reads and folder.resolve() == Path(reads).resolve():
        raise UserError(f"{folder}: output would overwrite the input", "Name another folder")
    if exists(folder) and not is_folder(folder):
        raise UserError(f"{folder}: is a file, and a folder is written", "Name another folder")
    names = {file.name for file in folder.iterdir()} if is_folder(folder) else set()
    if names and (ABOUT not in names or names - FILES):
        other = min(names - FILES, default=min(names))
        raise UserError(
            f"{folder}: is not empty and not a tokenizer of `finetune tokenizer` (it has {other})",
            "Name another folder, or remove this one",
        )


@contextmanager
def replaced(folder: Path, about: dict[str, Any]) -> Iterator[Path]:
    """Yields a new folder that takes the place of `folder` at the end, with checksums and what it is `about`.

    Raises UserError where it cannot be written.
    """
    require_replaceable(folder)
    try:
        with temporary_folder(folder.absolute()) as scratch:
            yield scratch
            (scratch / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            write_checksums(scratch)
            settle(scratch)
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
            sync(folder.absolute().parent)
    except (UserError, *THEIRS):
        raise
    except Exception as error:  # tokenizers raises nothing more specific where it cannot write
        raise UserError(f"{folder}: cannot be written ({first_line(error)})", "Choose another folder") from error
