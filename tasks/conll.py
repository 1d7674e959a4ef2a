"""Named entities: CoNLL-2003 (Tjong Kim Sang and De Meulder 2003) and WNUT-17 (Derczynski et al. 2017)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from finetune.data import Source, hub_rows
from finetune.data.formats.conll import read_tagged
from finetune.data.formats.word_lines import DOCUMENT
from finetune.errors import UserError
from finetune.metrics.entities import to_iob2
from finetune.task_types import Rows, TaggingRow, TaggingTask

NO_DOCUMENTS = "does not mark documents: with context = document, windows span all neighbouring sentences"


@dataclass(frozen=True, kw_only=True)
class ColumnFiles:
    """Reads column files, else a Hub data set of tokens and tags: `ColumnFiles(...)(source, split)` returns its rows.

    `splits` gives each split's file and its name on the Hub; without a `repository` there is none. `sentences` yields
    the number of the document, words and tags of each sentence of a file.
    """

    folders: tuple[str, ...]
    splits: Mapping[str, tuple[str, str]]
    types: tuple[str, ...]
    repository: str = ""
    revision: str | None = None
    sentences: Callable[..., Iterable[tuple[int, list[str], list[str]]]] = read_tagged

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split, from the folder that the user named, else from the Hub."""
        if split not in self.splits:
            raise UserError(f"there is no split '{split}'", f"There is {', '.join(self.splits)}")
        file, hub_split = self.splits[split]
        folder = (source.find if self.repository else source.require)(self.folders, holds=file)
        if folder is None:
            return self._from_hub(split, hub_split, looked_for=file)
        sentences = list(self.sentences(folder / file, types=self.types))
        return _rows(sentences, split, origin=str(folder / file))

    def _from_hub(self, split: str, hub_split: str, *, looked_for: str) -> Rows:
        hub = hub_rows(self.repository, None, hub_split, looked_for=looked_for, revision=self.revision)
        names = hub.features["ner_tags"].feature.names
        rows, document = [], 0
        for fields in hub:
            document += fields["tokens"] == [DOCUMENT]
            if fields["tokens"] and fields["tokens"] != [DOCUMENT]:
                rows.append((document, fields["tokens"], to_iob2([names[tag] for tag in fields["ner_tags"]])))
        return _rows(rows, split, origin=f"{self.repository} ({hub_split})")


def _rows(sentences: list[tuple[int, list[str], list[str]]], split: str, *, origin: str) -> Rows:
    """Rows of (number of the document, words, tags), with a note where no documents were marked."""
    rows = [
        TaggingRow(id=f"{split}-{index}", words=tuple(words), gold=tuple(tags), document=str(document))
        for index, (document, words, tags) in enumerate(sentences)
    ]
    marked = any(document for document, _, _ in sentences)
    return Rows(rows=rows, origin=origin, notes=() if marked else (f"{origin}: {NO_DOCUMENTS}",))


CONLL_TYPES = ("PER", "ORG", "LOC", "MISC")
WNUT_TYPES = ("corporation", "creative-work", "group", "location", "person", "product")

TASKS = [
    TaggingTask(
        name="conll-2003",
        types=CONLL_TYPES,
        signs_apart=True,
        context="document",
        dev_splits=("dev", "test"),
        read=ColumnFiles(
            folders=("conll2003", "conll-2003", "conll03"),
            splits={
                "train": ("eng.train", "train"),
                "dev": ("eng.testa", "validation"),
                "test": ("eng.testb", "test"),
            },
            types=CONLL_TYPES,
            repository="lhoestq/conll2003",
        ),
    ),
    TaggingTask(
        name="wnut-17",
        types=WNUT_TYPES,
        signs_apart=True,
        dev_splits=("dev", "test"),
        read=ColumnFiles(
            folders=("wnut17", "wnut-17", "wnut2017"),
            splits={
                "train": ("wnut17train.conll", "train"),
                "dev": ("emerging.dev.conll", "validation"),
                "test": ("emerging.test.annotated", "test"),
            },
            types=WNUT_TYPES,
            repository="leondz/wnut_17",
            revision="refs/convert/parquet",
        ),
    ),
]
