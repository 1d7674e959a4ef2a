"""What is kept in the cache of a corpus while its files do not change: its survey (hashes and fingerprint), and dev."""

import json
from collections.abc import Sequence

import numpy as np

from finetune.data.atomic import scratch_file, write_atomically
from finetune.data.documents import Document, Documents
from finetune.data.documents.corpus_file import Paths
from finetune.data.documents.documents import Survey
from finetune.storage.cache import Entry, Facts, entry, hash_of

FORMAT = 2  # in 1, checksums were those of the values
HASHES = "hashes.npy"
DOCUMENTS = "documents.json"


def open_corpus(paths: Paths, *, column: str = "", encoding: str = "") -> Documents:
    """The documents of files, whose survey is read from the cache, or made by reading all of them once.

    Raises UserError as `read_documents` does.
    """
    documents = Documents(paths, column=column, encoding=encoding)
    kept = _entry(documents)

    def read(facts: Facts) -> Survey:
        hashes = np.load(kept.folder / HASHES, allow_pickle=False)
        return Survey(hashes=hashes, fingerprint=facts["fingerprint"], size=facts["size"])

    try:
        known = kept.read_or_make(read, make=lambda: _save(kept, documents.survey))
    except OSError:  # the cache cannot be used: the survey stays in memory
        known = None
    return Documents(paths, column=column, encoding=encoding, known=known or documents.survey)


def kept_documents(documents: Documents) -> list[Document]:
    """Few documents of a corpus, in memory; from the cache, since the files are read almost to their end for them."""
    kept = _entry(documents, documents.fingerprint)

    def read(_: Facts) -> list[Document]:
        written = (kept.folder / DOCUMENTS).read_text(encoding="utf-8")
        return [Document(id=name, lines=tuple(lines)) for name, lines in json.loads(written)]

    try:
        return kept.read_or_make(read, make=lambda: _keep(kept, list(documents))) or list(documents)
    except OSError:
        return list(documents)


def _entry(documents: Documents, *facts: str) -> Entry:
    return entry("texts", hash_of([FORMAT, documents.version, documents.column, documents.encoding, *facts]))


def _keep(kept: Entry, documents: Sequence[Document]) -> None:
    written = json.dumps([[document.id, document.lines] for document in documents], ensure_ascii=False)
    if kept.make_room(len(written.encode())):
        write_atomically(kept.folder / DOCUMENTS, written)
        kept.seal([DOCUMENTS])


def _save(kept: Entry, known: Survey) -> None:
    if kept.make_room(known.hashes.nbytes):
        with scratch_file(kept.folder / HASHES) as scratch, scratch.open("wb") as file:
            np.save(file, known.hashes)
        kept.seal([HASHES], fingerprint=known.fingerprint, size=known.size)
