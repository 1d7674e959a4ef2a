"""GLUE (Wang et al. 2018): nine tasks on sentences and pairs, and the diagnostic set AX; official TSV files or the Hub.

Labels have the order and the names of the Hub's `nyu-mll/glue`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from finetune.data import TSV, Source, hub_rows, read_strictly
from finetune.errors import UserError
from finetune.metrics import Metric, accuracy, f1_of, matthews, pearson, spearman
from finetune.task_types import Rows, SentenceRow, SentenceTask

REPOSITORY = "nyu-mll/glue"
SPLITS = {"train": ("train.tsv", "train"), "dev": ("dev.tsv", "validation"), "test": ("test.tsv", "test")}
BINARY = ("0", "1")


@dataclass(frozen=True, kw_only=True)
class Glue:
    """Reads one GLUE task: `Glue(...)(source, split)` returns its rows.

    `text`, `pair` and `gold` are columns of the official files, `hub` and `hub_gold` of the Hub's. `spelled` has the
    labels as the files spell them, in the order of `labels`; both are empty where the label is a number. `headless`
    names the columns of a training or dev file without a header line. `splits` gives each split's file and its name on
    the Hub. `skips`: malformed lines are left out and counted, which only official QQP needs; in a test file, where
    GLUE wants a prediction for every line, they are empty rows. Other sets of such files have their own `repository`
    and `revision`; `hub_note` says how the copy there differs.
    """

    folders: tuple[str, ...]
    config: str | None
    text: str = "sentence1"
    pair: str | None = "sentence2"
    gold: str = "label"
    hub: tuple[str, ...] = ("sentence1", "sentence2")
    hub_gold: str = "label"
    repository: str = REPOSITORY
    revision: str | None = None
    hub_note: str = ""
    labels: tuple[str, ...] = ()
    spelled: tuple[str, ...] = ()
    headless: tuple[str, ...] = ()
    splits: Mapping[str, tuple[str, str]] = field(default_factory=lambda: SPLITS)
    skips: bool = False

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split, from the folder that the user named, else from the Hub."""
        if split not in self.splits:
            raise UserError(
                f"{self.config or self.folders[-1]} has no split '{split}'", f"It has {', '.join(self.splits)}"
            )
        file, hub_split = self.splits[split]
        folder = source.find(self.folders, holds=file)
        if folder is None:
            return self._from_hub(split, hub_split, looked_for=f"{self.folders[-1]}/{file}")
        return self._from_file(folder / file, split)

    def _from_file(self, path: Path, split: str) -> Rows:
        """The rows of one official file."""
        malformed: list[int] = []
        rows: list[SentenceRow] = []

        def on_fault(line: int) -> None:
            malformed.append(line)
            if split.startswith("test"):
                rows.append(SentenceRow(id=f"{split}-{len(rows)}", text="", pair=None if self.pair is None else ""))

        names = () if split == "test" else self.headless
        for number, fields in read_strictly(path, TSV, names=names, on_fault=on_fault if self.skips else None):
            where = f"{path}:{number}"
            rows.append(
                SentenceRow(
                    id=f"{split}-{len(rows)}",
                    text=_column(fields, self.text, where),
                    pair=None if self.pair is None else _column(fields, self.pair, where),
                    gold=self._gold(fields, where, hidden=split.startswith("test")),
                )
            )
        done = "read as empty" if split.startswith("test") else "skipped"
        notes = (f"{path}: {done} {len(malformed)} malformed lines, first {malformed[0]}",) if malformed else ()
        return Rows(rows=rows, origin=str(path), notes=notes)

    def _from_hub(self, split: str, hub_split: str, *, looked_for: str) -> Rows:
        hub = hub_rows(self.repository, self.config, hub_split, looked_for=looked_for, revision=self.revision)
        rows = [
            SentenceRow(
                id=f"{split}-{index}",
                text=fields[self.hub[0]],
                pair=None if self.pair is None else fields[self.hub[1]],
                gold=self._hub_gold(fields[self.hub_gold]),
            )
            for index, fields in enumerate(hub)
        ]
        part = ", ".join(name for name in (self.config, hub_split) if name)
        origin = f"{self.repository} ({part})"
        return Rows(rows=rows, origin=origin, notes=(f"{origin}: {self.hub_note}",) if self.hub_note else ())

    def _gold(self, fields: dict[str, str], where: str, *, hidden: bool) -> str | float | None:
        if hidden and self.gold not in fields:
            return None
        spelled = _column(fields, self.gold, where)
        if not self.labels:
            return _number(spelled, where)
        if spelled not in self.spelled:
            raise UserError(
                f"{where}: unknown label '{spelled}'; expected one of {', '.join(self.spelled)}", "Fix that line"
            )
        return self.labels[self.spelled.index(spelled)]

    def _hub_gold(self, label: float) -> str | float | None:
        if label < 0:  # the Hub's mark for a hidden label
            return None
        return self.labels[int(label)] if self.labels else round(float(label), 4)  # the Hub has 32-bit numbers


def read_ax(source: Source, split: str) -> Rows:
    """The diagnostic set, with labels where the user has the labelled file `diagnostic-full.tsv`."""
    optional = replace(source, explicit=False)
    labelled = optional.find(("glue/diagnostic", "diagnostic"), holds="diagnostic-full.tsv")
    return AX(source, split) if labelled is None else AX_LABELLED(source, split)


def _column(fields: dict[str, str], name: str, where: str) -> str:
    if name not in fields:
        raise UserError(f"{where}: there is no column '{name}'", f"The file's columns are {', '.join(fields)}")
    return fields[name]


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{where}: '{text}' is not a number", "Fix that line")
    return number


def _task(name: str, read: Glue, metrics: tuple[Metric, ...], dev_splits: tuple[str, ...] = ("dev",)) -> SentenceTask:
    return SentenceTask(
        name=name, read=read, labels=read.labels, metrics=metrics, dev_splits=dev_splits, inputs=read.hub
    )


MNLI_LABELS = ("entailment", "neutral", "contradiction")
MNLI = Glue(
    folders=("glue/MNLI", "MNLI"),
    config="mnli",
    gold="gold_label",
    hub=("premise", "hypothesis"),
    labels=MNLI_LABELS,
    spelled=MNLI_LABELS,
    splits={
        "train": ("train.tsv", "train"),
        "dev": ("dev_matched.tsv", "validation_matched"),
        "dev-mismatched": ("dev_mismatched.tsv", "validation_mismatched"),
        "test": ("test_matched.tsv", "test_matched"),
        "test-mismatched": ("test_mismatched.tsv", "test_mismatched"),
    },
)
AX = Glue(
    folders=("glue/diagnostic", "diagnostic"),
    config="ax",
    hub=("premise", "hypothesis"),
    labels=MNLI_LABELS,
    splits={"test": ("diagnostic.tsv", "test")},
)
AX_LABELLED = Glue(
    folders=("glue/diagnostic", "diagnostic"),
    config="ax",
    text="Premise",
    pair="Hypothesis",
    gold="Label",
    labels=MNLI_LABELS,
    spelled=MNLI_LABELS,
    splits={"test": ("diagnostic-full.tsv", "test")},
)
ENTAILMENT = ("entailment", "not_entailment")

TASKS = [
    _task(
        "cola",
        Glue(
            folders=("glue/CoLA", "CoLA"),
            config="cola",
            text="sentence",
            pair=None,
            hub=("sentence",),
            labels=("unacceptable", "acceptable"),
            spelled=BINARY,
            headless=("source", "label", "mark", "sentence"),
        ),
        (matthews, accuracy),
    ),
    _task(
        "sst2",
        Glue(
            folders=("glue/SST-2", "SST-2"),
            config="sst2",
            text="sentence",
            pair=None,
            hub=("sentence",),
            labels=("negative", "positive"),
            spelled=BINARY,
        ),
        (accuracy,),
    ),
    _task(
        "mrpc",
        Glue(
            folders=("glue/MRPC", "MRPC"),
            config="mrpc",
            text="#1 String",
            pair="#2 String",
            gold="Quality",
            labels=("not_equivalent", "equivalent"),
            spelled=BINARY,
        ),
        (f1_of("equivalent"), accuracy),
    ),
    _task(
        "stsb",
        Glue(folders=("glue/STS-B", "STS-B"), config="stsb", gold="score"),
        (spearman, pearson),
    ),
    _task(
        "qqp",
        Glue(
            folders=("glue/QQP", "QQP"),
            config="qqp",
            text="question1",
            pair="question2",
            gold="is_duplicate",
            hub=("question1", "question2"),
            labels=("not_duplicate", "duplicate"),
            spelled=BINARY,
            skips=True,
        ),
        (f1_of("duplicate"), accuracy),
    ),
    _task("mnli", MNLI, (accuracy,), dev_splits=("dev", "dev-mismatched")),
    _task(
        "qnli",
        Glue(
            folders=("glue/QNLI", "QNLI"),
            config="qnli",
            text="question",
            pair="sentence",
            hub=("question", "sentence"),
            labels=ENTAILMENT,
            spelled=ENTAILMENT,
        ),
        (accuracy,),
    ),
    _task(
        "rte",
        Glue(folders=("glue/RTE", "RTE"), config="rte", labels=ENTAILMENT, spelled=ENTAILMENT),
        (accuracy,),
    ),
    _task(
        "wnli",
        Glue(folders=("glue/WNLI", "WNLI"), config="wnli", labels=("not_entailment", "entailment"), spelled=BINARY),
        (accuracy,),
    ),
    SentenceTask(
        name="ax",
        read=read_ax,
        labels=MNLI_LABELS,
        inputs=AX.hub,
        metrics=(matthews,),
        dev_splits=("test",),
    ),
]
