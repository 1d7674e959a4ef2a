"""What is kept in the cache of a corpus while its files do not change: its survey (hashes and fingerprint), and dev."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from finetune.data.atomic import scratch_file, write_atomically
from finetune.data.documents import Document, Documents
from finetune.data.documents.corpus_file import Paths
from finetune.data.documents.documents import Survey
from finetune.storage.cache import FACTS, entry, hash_of, locked, make_room

FORMAT = 1
HASHES = "hashes.npy"
DOCUMENTS = "documents.json"


def open_corpus(paths: Paths, *, column: str = "", encoding: str = "") -> Documents:
    """The documents of files, whose survey is read from the cache, or made by reading all of them once.

    Raises UserError as `read_documents` does.
    """
    documents = Documents(paths, column=column, encoding=encoding)
    folder = _entry(documents)
    try:
        with locked(folder):
            if (known := _saved(folder)) is None:
                known = documents.survey
                _save(folder, known)
            else:
                os.utime(folder / FACTS)  # the time of the last use
    except OSError:  # the cache cannot be used: the survey stays in memory
        known = documents.survey
    return Documents(paths, column=column, encoding=encoding, known=known)


def kept_documents(documents: Documents) -> list[Document]:
    """Few documents of a corpus, in memory; from the cache, since the files are read almost to their end for them."""
    folder = _entry(documents, documents.fingerprint)
    try:
        with locked(folder):
            if (found := _kept(folder)) is None:
                found = list(documents)
                _keep(folder, found)
            else:
                os.utime(folder / FACTS)
    except OSError:
        return list(documents)
    return found


def _entry(documents: Documents, *facts: str) -> Path:
    return entry("texts", hash_of([FORMAT, documents.version, documents.column, documents.encoding, *facts]))


def _kept(folder: Path) -> list[Document] | None:
    """The documents of an entry; None where there is none that is complete and undamaged."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        written = (folder / DOCUMENTS).read_bytes()
        if hashlib.sha256(written).hexdigest() != facts["sha256"]:
            return None
        return [Document(id=name, lines=tuple(lines)) for name, lines in json.loads(written)]
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _keep(folder: Path, documents: Sequence[Document]) -> None:
    written = json.dumps([[document.id, document.lines] for document in documents], ensure_ascii=False)
    if not make_room(folder, len(written.encode())):
        return
    write_atomically(folder / DOCUMENTS, written)
    write_atomically(folder / FACTS, json.dumps({"sha256": hashlib.sha256(written.encode()).hexdigest()}) + "\n")


def _saved(folder: Path) -> Survey | None:
    """The survey of an entry; None where there is none that is complete and undamaged."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        hashes = np.load(folder / HASHES, allow_pickle=False)
        if hashlib.sha256(hashes.tobytes()).hexdigest() != facts["sha256"]:
            return None
        return Survey(hashes=hashes, fingerprint=str(facts["fingerprint"]), size=int(facts["size"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError, EOFError):
        return None


def _save(folder: Path, known: Survey) -> None:
    if not make_room(folder, known.hashes.nbytes):
        return
    with scratch_file(folder / HASHES) as scratch, scratch.open("wb") as file:
        np.save(file, known.hashes)
    checksum = hashlib.sha256(known.hashes.tobytes()).hexdigest()
    facts = {"fingerprint": known.fingerprint, "size": known.size, "sha256": checksum}
    write_atomically(folder / FACTS, json.dumps(facts) + "\n")
