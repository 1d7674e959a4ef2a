"""What is known of a large file of the user's once it was read, kept in the cache: a second start reads no row again.

An entry is found by the content of the files, and of those that name or hold their labels, by the settings and by the
code: after a change of any of these there is none, and the files are read. Times of files decide nothing from one
process to the next.
"""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from inspect import getfile
from pathlib import Path
from typing import Any

from finetune.data.atomic import write_atomically
from finetune.data.label_names import files_of_names
from finetune.data.paired_files import labels_of_texts
from finetune.data.paths import is_file
from finetune.data.source import content_hash
from finetune.storage.cache import Entry, entry, hash_of
from finetune.task_types.columns import Layout
from finetune.task_types.types import data_types, layout_from

FORMAT = 1
LEAST_BYTES = 5_000_000  # of files; smaller ones are read in under a second
FILE = "data.json"
PACKAGE = Path(__file__).parents[1]
LIBRARIES = ("bert-finetune", "numpy", "scipy", "pyarrow", "openpyxl", "ftfy", "regex", "PyYAML", "defusedxml")


@dataclass(frozen=True, kw_only=True)
class KnownData:
    """The layout of the user's files, the rows of each that could be read (`sizes`, by split), about how many tokens
    nearly all texts have, the lines that say how they were read, and whether the test rows are scored.
    """

    layout: Layout
    sizes: Mapping[str, int]
    tokens: float
    lines: tuple[str, ...]
    scored: bool


@dataclass(frozen=True, kw_only=True)
class DataEntry:
    """Where what is known of some files is kept: `contents` and `decides` are hashes of all that it depends on."""

    files: Mapping[str, Path]
    contents: str
    decides: str

    def entry(self, *others: object) -> Entry:
        """The entry of the cache; `others` are what decides its content besides."""
        return entry("rows", hash_of([self.contents, self.decides, *others]))

    @property
    def unchanged(self) -> bool:
        """Whether the files are still those that the entry is of."""
        return _contents(self.files) == self.contents

    def found(self) -> KnownData | None:
        """What was kept; None where nothing was."""
        kept = self.entry()
        with suppress(OSError):
            if kept.facts() is not None:
                known = json.loads((kept.folder / FILE).read_text(encoding="utf-8"))
                kept.touch()
                layout, lines = layout_from(known.pop("layout")), tuple(known.pop("lines"))
                return KnownData(layout=layout, lines=lines, **known)
        return None

    def keep(self, known: KnownData) -> None:
        """Keeps what is known, if the files have not changed since, and the cache has room for it."""
        kept, text = self.entry(), json.dumps(asdict(known))
        plain = replace(known.layout, file=json.loads(json.dumps(known.layout.file)))
        if layout_from(json.loads(text)["layout"]) != plain or not self.unchanged:
            return  # a layout that JSON cannot hold would come back as another
        with suppress(OSError), kept.locked():
            if kept.make_room(len(text)):
                write_atomically(kept.folder / FILE, text)
                kept.seal([FILE])


def entry_of(name: str, files: Mapping[str, Path], options: Mapping[str, Any]) -> DataEntry | None:
    """The entry of the data of that name, read with these options; None for files that are read in no time."""
    if sum(file.stat().st_size for file in files.values() if file.is_file()) < LEAST_BYTES:
        return None
    named = {key: content_hash(Path(value)) for key, value in options.items() if _names_a_file(value)}
    paths = {split: str(file) for split, file in files.items()}
    given = json.dumps(dict(options), sort_keys=True, default=str)
    decides = hash_of([FORMAT, name, paths, given, named, list(data_types()), _code(), _versions()])
    return DataEntry(files=files, contents=_contents(files), decides=decides)


def _names_a_file(value: object) -> bool:
    with suppress(OSError, ValueError):
        return isinstance(value, str) and is_file(Path(value))
    return False


def _contents(files: Mapping[str, Path]) -> str:
    """A hash of the files, and of those next to them that are read with them."""
    return hash_of(
        [[split, [[str(one), content_hash(one)] for one in _read_with(file)]] for split, file in files.items()]
    )


def _read_with(file: Path) -> Iterator[Path]:
    """A file of data, and those that name or hold its labels."""
    yield file
    if file.is_file() and (labels := labels_of_texts(file)) is not None:
        yield labels
    yield from files_of_names(file)


def _versions() -> dict[str, str]:
    """Those of Python and of what reads files or decides how."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of the package, and of the task types of others."""
    folders = dict.fromkeys([PACKAGE, *(Path(getfile(type(kind))).parent for kind in data_types().values())])
    outside = (folder for folder in folders if folder == PACKAGE or not folder.is_relative_to(PACKAGE))
    digest = hashlib.sha256()
    for folder in outside:
        for file in sorted(file for file in folder.rglob("*") if file.suffix in (".py", ".toml")):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
