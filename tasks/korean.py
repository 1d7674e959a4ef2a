"""Korean data sets that are older than KLUE, from the official files, or from the Hub where it has them.

NSMC, KorNLI and KorSTS (Ham et al. 2020), KorQuAD 1.0 (Lim et al. 2018), and the names of the Naver NLP Challenge 2018
in the files of KoELECTRA. NSMC and the names have no dev file: one in thirty of their training rows is dev, drawn by
the hash of its text, so that nothing is chosen on test.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from finetune.data import TSV, Source, read_strictly
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics import accuracy, pearson, spearman
from finetune.metrics.entities import to_iob2
from finetune.metrics.squad import score_korquad
from finetune.task_types import Rows, SentenceTask, SpanTask, TaggingTask
from finetune.tasks.conll import ColumnFiles
from finetune.tasks.glue import MNLI_LABELS, Glue
from finetune.tasks.squad import Squad, drawn_by_hash

TRAINING_ROWS = 30  # to one of dev, where there is no dev file
SCORED = ("dev", "test")


@dataclass(frozen=True, kw_only=True)
class DevFromTrain:
    """Reads train and dev from the training rows, and test: `DevFromTrain(...)(source, split)` returns its rows."""

    read: Callable[[Source, str], Rows]

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError as the reader of the files does."""
        if split not in ("train", "dev"):
            return self.read(source, split)
        loaded = self.read(source, "train")
        dev = [drawn_by_hash(" ".join(row.input), of=TRAINING_ROWS) for row in loaded.rows]
        rows = [row for row, is_dev in zip(loaded.rows, dev, strict=True) if is_dev == (split == "dev")]
        return replace(loaded, rows=rows)


def read_kornli(source: Source, split: str) -> Rows:
    """KorNLI: trained on translations of SNLI and MultiNLI, scored on translations of XNLI."""
    if split != "train":
        return XNLI(source, split)
    snli, multinli = SNLI(source, "snli"), MULTINLI(source, "multinli")
    return Rows(rows=[*snli.rows, *multinli.rows], origin=f"{snli.origin} and {multinli.origin}")


def tagged_lines(path: Path, *, types: Collection[str]) -> Iterator[tuple[int, list[str], list[str]]]:
    """(0, words, tags in IOB2) of every line of `words <tab> tags`, each with blanks between, as `PER-B O`.

    Raises UserError with file and line where they are not as many, and for an unknown tag.
    """
    for line, fields in read_strictly(path, TSV, names=("words", "tags")):
        words, tags = fields["words"].split(), fields["tags"].split()
        if not words or len(words) != len(tags):
            counts = f"{so_many(len(words), 'word')} and {so_many(len(tags), 'tag')}"
            raise UserError(f"{path}:{line}: has {counts}", "A line is words, a tab, and a tag for each; fix that line")
        yield 0, words, to_iob2([_prefixed(tag, types, where=f"{path}:{line}") for tag in tags])


def _prefixed(tag: str, types: Collection[str], *, where: str) -> str:
    """`PER-B` as `B-PER`."""
    kind, _, prefix = tag.rpartition("-")
    if tag != "O" and (prefix not in ("B", "I") or kind not in types):
        raise UserError(f"{where}: '{tag}' is not a tag", f"Tags are O, or {', '.join(types)} with -B or -I, as PER-B")
    return tag if tag == "O" else f"{prefix}-{kind}"


NSMC = Glue(
    folders=("nsmc", "NSMC"),
    config=None,
    text="document",
    pair=None,
    hub=("document",),
    labels=("negative", "positive"),
    spelled=("0", "1"),
    splits={"train": ("ratings_train.txt", "train"), "test": ("ratings_test.txt", "test")},
    repository="e9t/nsmc",
    revision="refs/convert/parquet",
)
XNLI = Glue(
    folders=("kornli", "KorNLI", "KorNLUDatasets/KorNLI"),
    config="xnli",
    gold="gold_label",
    hub=("premise", "hypothesis"),
    labels=MNLI_LABELS,
    spelled=MNLI_LABELS,
    splits={"dev": ("xnli.dev.ko.tsv", "validation"), "test": ("xnli.test.ko.tsv", "test")},
    repository="kakaobrain/kor_nli",
)
SNLI = replace(XNLI, config="snli", splits={"snli": ("snli_1.0_train.ko.tsv", "train")})
MULTINLI = replace(XNLI, config="multi_nli", splits={"multinli": ("multinli.train.ko.tsv", "train")})
KORSTS = Glue(
    folders=("korsts", "KorSTS", "KorNLUDatasets/KorSTS"),
    config=None,
    gold="score",
    hub_gold="score",
    splits={"train": ("sts-train.tsv", "train"), "dev": ("sts-dev.tsv", "valid"), "test": ("sts-test.tsv", "test")},
    repository="dkoterwa/kor-sts",
    hub_note="this copy lacks 96 of the 8,628 official pairs: give the official files for scores to be compared",
)
KORQUAD = Squad(
    splits={"train": ("KorQuAD_v1.0_train.json", "train"), "dev": ("KorQuAD_v1.0_dev.json", "validation")},
    repository="KorQuAD/squad_kor_v1",
    config="squad_kor_v1",
    folders=("korquad", "KorQuAD"),
)
NAVER_TYPES = ("PER", "FLD", "AFW", "ORG", "LOC", "CVL", "DAT", "TIM", "NUM", "EVT", "ANM", "PLT", "MAT", "TRM")
NAVER = ColumnFiles(
    folders=("naver-ner", "naver_ner"),
    splits={"train": ("train.tsv", ""), "test": ("test.tsv", "")},
    types=NAVER_TYPES,
    sentences=tagged_lines,
)

TASKS = [
    SentenceTask(
        name="nsmc",
        read=DevFromTrain(read=NSMC),
        labels=NSMC.labels,
        inputs=NSMC.hub,
        metrics=(accuracy,),
        dev_splits=SCORED,
    ),
    SentenceTask(
        name="kornli", read=read_kornli, labels=MNLI_LABELS, inputs=XNLI.hub, metrics=(accuracy,), dev_splits=SCORED
    ),
    SentenceTask(name="korsts", read=KORSTS, inputs=KORSTS.hub, metrics=(spearman, pearson), dev_splits=SCORED),
    SpanTask(name="korquad", read=KORQUAD, scored=score_korquad),
    TaggingTask(name="naver-ner", read=DevFromTrain(read=NAVER), types=NAVER_TYPES, dev_splits=SCORED),
]
