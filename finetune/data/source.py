"""Where rows come from: a folder that the user named, else the Hub or its cache."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.paths import is_folder
from finetune.errors import UserError, first_line


@dataclass(frozen=True, kw_only=True)
class Source:
    """`folder` is what `data_folder` or `$FINETUNE_DATA` names; `explicit` when it was named for this run."""

    folder: Path | None = None
    explicit: bool = False

    def find(self, names: Sequence[str], *, holds: str) -> Path | None:
        """The one of `folder/name`, or the folder itself, in which there is a file called `holds`.

        None where there is none and the Hub may be tried. Raises UserError when more than one folder matches,
        when the folder does not exist, or when it was named for this run and holds no such file.
        """
        if self.folder is None:
            return None
        if not is_folder(self.folder):
            raise UserError(f"{self.folder}: no such folder", "Name an existing one with `data_folder`")
        looked = [*(self.folder / name for name in names), self.folder]
        files: list[Path] = []
        for folder in looked:  # some file systems ignore case
            if (folder / holds).is_file() and not any(folder.samefile(other) for other in files):
                files.append(folder)
        if len(files) > 1:
            raise UserError(
                f"{self.folder}: {' and '.join(str(folder / holds) for folder in files)} both match",
                "Name the folder itself with `data_folder`",
            )
        if not files and self.explicit:
            raise UserError(
                f"no {holds} in {', '.join(map(str, looked))}",
                "Point `data_folder` at the folder that holds it, or leave it out to use the Hugging Face Hub",
            )
        return files[0] if files else None

    def require(self, names: Sequence[str], *, holds: str) -> Path:
        """`find`, but also raises UserError where there is none, for data that is not on the Hub."""
        files = self.find(names, holds=holds)
        if files is None:
            raise UserError(f"no data: looked for {holds} in {', '.join(names)}", "Name it with `data_folder`")
        return files


def source_of(data: str | Path | None) -> Source:
    """The source that `data_folder` names, else `$FINETUNE_DATA`, else only the Hub."""
    if data is not None:
        return Source(folder=Path(data), explicit=True)
    folder = os.environ.get("FINETUNE_DATA")
    return Source(folder=Path(folder)) if folder else Source()


def hub_rows(repository: str, config: str | None, split: str, *, looked_for: str, revision: str | None = None) -> Any:
    """A Hub dataset's rows (dictionaries) with their `features`, from its cache when the Hub does not answer.

    Data sets that are still scripts have their rows as Parquet at the revision `refs/convert/parquet`. Raises UserError
    that says what was looked for (`looked_for`: the files), where, and how to fix it.
    """
    import datasets

    name = f"{repository}/{config}" if config else repository
    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity_error()
    offline, unreachable = datasets.config.HF_HUB_OFFLINE, _unreachable(repository)
    try:
        # Else `datasets` retries for half a minute per split before it uses its cache.
        datasets.config.HF_HUB_OFFLINE = offline or unreachable is not None
        return datasets.load_dataset(repository, config, split=split, revision=revision)
    except Exception as error:  # the client raises a dozen classes, from ConnectionError to ValueError
        raise UserError(
            f"no data: looked for {looked_for} in `data_folder` and $FINETUNE_DATA, then for {name} ({split})"
            f" on the Hugging Face Hub and in its cache ({first_line(unreachable or error)})",
            "Give the folder with `data_folder`, or run once with a network",
        ) from error
    finally:
        datasets.config.HF_HUB_OFFLINE = offline


def _unreachable(repository: str) -> Exception | None:
    """Why the Hub does not respond to a request for a dataset; None where it does, even with "not found"."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().dataset_info(repository, timeout=10)
    except HfHubHTTPError:
        return None
    except Exception as error:  # the class depends on the client's HTTP library
        return error
    return None
