"""The folder of an export while it is made: what prediction reads besides the graph, and the move to its name."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from finetune.commands.export.wanted import WantedExport, require_new_folder
from finetune.data.atomic import replace_folder, settle, temporary_folder
from finetune.data.checksums import CHECKSUMS, NAME, write_checksums
from finetune.errors import UserError, first_line
from finetune.inference.exported.export_facts import ExportFacts, write_export_facts
from finetune.models.fingerprint import DECISIVE

LEFT_OUT = ("*.safetensors", "*.index.json", "adapter*", CHECKSUMS, ".*")  # weights, and what is written again


@contextmanager
def written_export(wanted: WantedExport) -> Iterator[Path]:
    """Yields a new folder that takes the place of the wanted one at the end.

    Raises UserError where that cannot be written, by then also for what was put there in the meantime.
    """
    folder = wanted.folder
    try:
        with temporary_folder(folder.absolute()) as scratch:
            yield scratch
            settle(scratch)
            require_new_folder(folder, force=wanted.force)
            replace_folder(scratch, folder.absolute())
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written ({error.strerror or first_line(error)})", "Free space, or name another folder"
        ) from error


def copy_settings(trained: Path, scratch: Path) -> None:
    """Copies what prediction reads besides the weights: config, tokenizer, and what is known of dev.

    The folder of a checkpoint may have anything else, such as the states of an optimizer.
    """
    for file in {file for pattern in DECISIVE for file in trained.glob(pattern)}:
        left_out = any(file.match(pattern) for pattern in LEFT_OUT) or not NAME.fullmatch(file.name)
        if file.is_file() and not left_out:
            shutil.copy(file, scratch)


def describe(folder: Path, facts: ExportFacts) -> None:
    """Writes export.json, and the checksums of all files."""
    write_export_facts(folder, facts)
    write_checksums(folder)


def remove_graph(graph: Path) -> None:
    """Removes a graph, and its weights where they are next to it."""
    for file in graph.parent.glob(f"{graph.name}*"):
        file.unlink()
