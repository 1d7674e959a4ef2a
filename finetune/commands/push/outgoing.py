"""Outgoing: the files of a push, which are those that a run and its exports saved, and a card that names the model."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from finetune.analysis.card import export_facts_of, is_edited, model_card
from finetune.data.atomic import require_no_link
from finetune.data.checksums import ABOUT, CHECKSUMS, verify_folder
from finetune.errors import UserError
from finetune.inference.thresholds import FILE as CLAIMS
from finetune.inference.thresholds import claims_of
from finetune.runs.folder import RunFolder

NEVER = ("predictions*", "*.parquet", "*.jsonl", "*.csv", "*.tsv", "*.xlsx", "*.log", "*.env", ".*")
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")  # of the Hub
TEXTS = (".json", ".txt", ".md")
NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
AGAIN = "Train the run again with `force`, or export it again"


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """What is sent to the repository `name`: texts that are made for it, such as its card, and files; by path."""

    name: str
    texts: Mapping[str, str]
    files: Mapping[str, Path]

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each file, the card first."""
        made = {path: len(text.encode()) for path, text in self.texts.items()}
        return made | {path: file.stat().st_size for path, file in self.files.items()}


def outgoing(folder: RunFolder, name: str, *, exports: Sequence[Path], with_examples: bool = False) -> Outgoing:
    """What of a run goes out. Raises UserError for damaged files, and for any that must not go out.

    A README.md that somebody wrote into the model's folder goes as it is; else the card is made.
    """
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a repository", "Name it OWNER/NAME, such as me/reviews")
    model, own = folder.require_model(), folder.model / ABOUT
    facts = {export.resolve().name: export_facts_of(export, folder) for export in exports}
    made = model_card(folder, hub_name=name, exports=facts, with_examples=with_examples)
    texts = {ABOUT: own.read_text(encoding="utf-8") if is_edited(own) else made}
    files = {file.name: file for file in _saved_files(model)}
    for export in exports:
        files |= {f"{export.resolve().name}/{file.name}": file for file in _saved_files(export)}
    with suppress(UserError):  # its predictions were deleted
        if CLAIMS not in files and (claims := claims_of(folder)) is not None:
            texts[CLAIMS] = claims.text()
    _require_none_is_secret(files, texts[ABOUT])
    return Outgoing(name=name, texts=texts, files=files)


def _saved_files(folder: Path) -> Iterator[Path]:
    """The files that a folder's checksums list, and these: not what somebody has put there since."""
    verify_folder(folder, remedy=AGAIN)
    try:
        listed = list(json.loads((folder / CHECKSUMS).read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"{folder}: lacks {CHECKSUMS}, by which its files are known", AGAIN) from error
    for name in (*listed, CHECKSUMS):
        require_no_link(folder / name)
        yield folder / name


def _require_none_is_secret(files: Mapping[str, Path], card: str) -> None:
    """Raises UserError for a file of predictions, and for what holds a token of the Hub."""
    if TOKEN.search(card.encode()):
        raise UserError(f"{ABOUT}: holds a token of the Hub", "Remove it")
    for path, file in files.items():
        if any(fnmatch(file.name, pattern) for pattern in NEVER):
            raise UserError(f"{path}: is not part of a model, and may have texts of the data", f"Remove {file}")
        if file.suffix in TEXTS and TOKEN.search(file.read_bytes()):
            raise UserError(f"{path}: holds a token of the Hub", f"Remove it from {file}")
