"""Reads a corpus: the documents to train on as a stream, the dev documents in memory."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from finetune.data.documents import Document, Documents, split_documents
from finetune.data.documents.corpus_file import Paths
from finetune.data.documents.document import column_of_files
from finetune.data.messages import noun, so_many
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.pretraining.chosen_words import WORD_CHARS, chosen_words

LITTLE = 10_000  # bytes of text, about three pages, from which an encoder learns nothing


@dataclass(frozen=True, kw_only=True)
class CorpusReader:
    """The splits of a file or folder of text: dev is another file of the user's, or 1 % of the documents.

    `column` is that of the texts, where the user named it.
    """

    path: Path
    column: str = ""
    dev: str = ""
    encoding: str = ""

    def __call__(self, _: Source, split: str) -> Rows:
        """The documents of a split. Raises UserError as `read_documents` and `split_documents` do."""
        if split not in ("train", "dev"):
            raise UserError(f"a text has no split '{split}'", "It has train, dev")
        found = self.splits[split]
        if not found.rows:
            raise UserError(f"dev={self.dev} has all documents of {self.path}", "Name another file, or leave dev out")
        return found

    @cached_property
    def documents(self) -> Documents:
        """All documents of the file or folder, those of dev too where it has no file for them."""
        return open_corpus(self.path, column=self.column, encoding=self.encoding)

    @cached_property
    def layout(self) -> Layout:
        """The column of texts, given or found: what a model keeps, so that it reads other tables in the same way."""
        column = self.column or column_of_files(self.path, encoding=self.encoding)
        reasons = {"text": "given"} if self.column else {}
        return Layout(shape="text", text=(column,) if column else (), reasons=reasons)

    @cached_property
    def splits(self) -> dict[str, Rows]:
        """Train and dev."""
        documents = self.documents
        train, dev = self._with_given_dev(documents) if self.dev else split_documents(documents)
        rule = f"{self.path.name}: {len(dev):,} documents are dev, selected by their text; dev=FILE names others"
        notes = () if self.dev else (rule,)
        without = self._left_out(len(documents) - len(train)) if self.dev else ()
        return {
            "train": Rows(
                rows=train,
                origin=str(self.path),
                content=documents.fingerprint,
                notes=(*without, *little_text(documents)),
            ),
            "dev": Rows(rows=list(dev), origin=self.dev or str(self.path), content=dev.fingerprint, notes=notes),
        }

    def _with_given_dev(self, documents: Documents) -> tuple[Documents, Documents]:
        """(train, dev): train has no document more than half of which are lines of dev, so that it may be empty."""
        dev = open_corpus(self.dev, column=self.column, encoding=self.encoding)
        lines = {line for document in dev for line in document.lines}
        known = np.fromiter((_is_mostly(document, lines) for document in documents), bool)
        return documents.choose(~known) if known.any() else documents, dev

    def _left_out(self, count: int) -> tuple[str, ...]:
        """A note on documents of dev that were in the training text."""
        known = f"{so_many(count, 'document')} of {self.path.name} {noun(count, 'is', 'are')} in {self.dev} too"
        return (f"{known}, and left out of train",) * bool(count)


def little_text(documents: Documents) -> tuple[str, ...]:
    """A note on a corpus that is too short to learn from."""
    if (size := documents.survey.size) >= LITTLE:
        return ()
    found = f"{so_many(len(documents), 'document')} with {so_many(size, 'byte')} of text"
    return (f"{documents.paths[0].name}: has {found}, too little to learn from: give it thousands of lines",)


def _is_mostly(document: Document, lines: set[str]) -> bool:
    """Whether more than half of a document's characters are in these lines, however documents are divided."""
    return 2 * sum(len(line) for line in document.lines if line in lines) > sum(map(len, document.lines))


def require_words(dev: Rows) -> None:
    """Raises UserError unless these documents have a word that can be scored."""
    if not any(map(chosen_words, dev.rows)):
        raise UserError(
            f"{dev.origin}: has no word of {WORD_CHARS} letters or digits or fewer, and an encoder is scored on words",
            "Give a text with words; in training dev=FILE names it",
        )


def require_pairs(dev: Rows, objective: str) -> None:
    """Raises UserError unless two of these documents have two lines, as pairs of texts need."""
    if sum(len(document.lines) > 1 for document in dev.rows) < 2:
        raise UserError(
            f"{dev.origin}: objective={objective} needs documents of two lines or more, and dev has fewer than 2",
            "Put each sentence on a line and a blank line between documents, or choose objective=mlm",
        )


def open_corpus(paths: Paths, *, column: str = "", encoding: str = "") -> Documents:
    """The documents of files, all of which are read once, so that what is read later is compared with it.

    Raises UserError as `read_documents` does.
    """
    documents = Documents(paths, column=column, encoding=encoding)
    return Documents(paths, column=column, encoding=encoding, known=documents.survey)
