"""A corpus as a lazy sequence of documents, its fingerprint, and its dev split."""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import overload

import numpy as np

from finetune.data.documents.corpus_file import Paths
from finetune.data.documents.document import Document, read_documents
from finetune.errors import UserError

DEV_SHARE, LEAST_DEV, MOST_DEV = 0.01, 100, 5_000  # documents of different texts


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """What a pass over a corpus finds: a hash of each document's text, `(documents,)`, fingerprint and size in bytes.

    The fingerprint (SHA-256) depends on the texts and their order alone, whatever the files' format and names.
    """

    hashes: np.ndarray
    fingerprint: str
    size: int


class Documents(Sequence[Document]):
    """The documents of files, as `read_documents` yields them, or those with the numbers `chosen` (counted from 0).

    They are read again by each iteration, one at a time. The first use of length, fingerprint or split reads all of
    them; `known` is what an earlier pass has found. An item is found by reading up to it.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        column: str = "",
        encoding: str = "",
        chosen: np.ndarray | None = None,
        known: Survey | None = None,
    ) -> None:
        self.paths = (Path(paths),) if isinstance(paths, str | PathLike) else tuple(map(Path, paths))
        self.column = column
        self.encoding = encoding
        self.chosen = None if chosen is None else np.sort(chosen)
        self.known = known

    @cached_property
    def survey(self) -> Survey:
        """What a pass over all documents of the files finds, also those not chosen."""
        return self.known or survey_of(read_documents(self.paths, column=self.column, encoding=self.encoding))

    @property
    def fingerprint(self) -> str:
        """A hash of the texts in their order; of chosen documents one of these alone."""
        if self.chosen is None:
            return self.survey.fingerprint
        return hashlib.sha256(self.survey.fingerprint.encode() + self.chosen.astype("<i8").tobytes()).hexdigest()

    @property
    def hashes(self) -> np.ndarray:
        """A hash of each document's text, `(documents,)`, of type uint64."""
        return self.survey.hashes if self.chosen is None else self.survey.hashes[self.chosen]

    def choose(self, which: np.ndarray) -> "Documents":
        """Those documents, by number or by a mask `(documents,)`."""
        numbers = np.arange(len(self.survey.hashes)) if self.chosen is None else self.chosen
        return Documents(
            self.paths, column=self.column, encoding=self.encoding, chosen=numbers[which], known=self.survey
        )

    def __len__(self) -> int:
        return len(self.survey.hashes) if self.chosen is None else len(self.chosen)

    def __iter__(self) -> Iterator[Document]:
        every = read_documents(self.paths, column=self.column, encoding=self.encoding)
        return every if self.chosen is None and self.known is None else self._verified(every)

    def _verified(self, every: Iterator[Document]) -> Iterator[Document]:
        """The chosen documents. Raises UserError where their texts are not those of the survey."""
        hashes, passed = self.survey.hashes, 0
        for number in range(len(hashes)) if self.chosen is None else self.chosen.tolist():
            document = next(islice(every, number - passed, None), None)
            if document is None or _short_hash(hashlib.sha256(document.text.encode()).digest()) != hashes[number]:
                raise self._changed()
            yield document
            passed = number + 1
        if self.chosen is None and next(every, None) is not None:
            raise self._changed()

    def _changed(self) -> UserError:
        return UserError(f"{self.paths[0]}: the text has changed since it was first read", "Start again")

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> "Documents": ...
    def __getitem__(self, index: int | slice) -> "Document | Documents":
        if isinstance(index, slice):
            return self.choose(np.arange(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        found = next(islice(iter(self), index % len(self), None), None)
        if found is None:
            raise self._changed()
        return found


def survey_of(documents: Iterator[Document]) -> Survey:
    """Reads documents to their end."""
    hashes, digest, size = array("Q"), hashlib.sha256(), 0
    for document in documents:
        text = document.text.encode()
        own = hashlib.sha256(text).digest()
        size += len(text)
        digest.update(own)
        hashes.append(_short_hash(own))
    return Survey(hashes=np.frombuffer(hashes, np.uint64), fingerprint=digest.hexdigest(), size=size)


def _short_hash(own: bytes) -> int:
    return int.from_bytes(own[:8], "little")


def split_documents(documents: Documents) -> tuple[Documents, Documents]:
    """(train, dev): dev are the documents whose texts have the lowest hashes, equal texts on one side.

    Of n different texts dev has 1 %, at least 100, at most 5,000, and never more than half. A longer corpus moves
    no document from train to dev where the number for dev stays, and keeps dev but for a few at its edge where the
    share stays (10,000 to 500,000 texts); while the share falls, which it does below and above that, some of dev
    become train. Raises UserError for fewer than two different texts.
    """
    different = np.unique(documents.hashes)
    if len(different) < 2:
        count = "one document" if len(documents) == 1 else f"{len(documents):,} documents, all with the same text"
        raise UserError(
            f"{documents.paths[0]}: has {count}, which cannot be both trained on and scored",
            "Put a blank line between documents, or give more text",
        )
    size = min(len(different) // 2, max(LEAST_DEV, min(MOST_DEV, round(DEV_SHARE * len(different)))))
    is_dev = documents.hashes <= different[size - 1]
    return documents.choose(~is_dev), documents.choose(is_dev)
