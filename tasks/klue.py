"""KLUE (Park et al. 2021): topics, similarity, inference, entities and questions in Korean; version 1.1 or the Hub.

Scores are computed as in KLUE-baseline. Its test labels are hidden. Relations are in `klue_re`; dialogue states are not
here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from finetune.data import Rows, Source, hub_rows, numbered_lines
from finetune.data.file_format import FileFormat
from finetune.data.formats.json_document import FORMAT, load_json
from finetune.errors import UserError
from finetune.metrics import Metric, accuracy, f1_from, macro_f1, pearson
from finetune.metrics.klue import score_mrc
from finetune.task_types import SentenceRow, SentenceTask, SpanTask, TaggingRow, TaggingTask
from finetune.tasks.squad import Squad

REPOSITORY = "klue/klue"
HUB = {"train": "train", "dev": "validation"}
REMEDY = "Fix it, or compare with the official file"


def folders(name: str) -> tuple[str, ...]:
    """Where the official files of a task may be in the user's folder."""
    return tuple(f"{parent}{name}-v1.1" for parent in ("klue_benchmark/", "klue/", ""))


def official_file(name: str, split: str, *, suffix: str = "json") -> str:
    """The name of an official file. Raises UserError for a split whose labels are not published."""
    if split not in HUB:
        raise UserError(f"{name} has no split '{split}'", f"It has {', '.join(HUB)}")
    return f"{name}-v1.1_{split}.{suffix}"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Reads a task of sentences or pairs: `Texts(...)(source, split)` returns its rows.

    `texts` are the columns of the texts, `gold` that of the label, or its place in nested columns; `hub_gold` where
    the Hub calls it otherwise. Without `labels` it is a number from 0 to 5.
    """

    name: str
    config: str
    texts: tuple[str, ...]
    gold: tuple[str, ...]
    hub_gold: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __call__(self, source: Source, split: str) -> Rows:
        """The rows of a split, from the folder that the user named, else from the Hub."""
        file = official_file(self.name, split)
        folder = source.find(folders(self.name), holds=file)
        if folder is None:
            return self._from_hub(split, looked_for=file)
        path = folder / file
        rows = [self._row(fields, self.gold, where) for where, fields in official_rows(path)]
        return Rows(rows=distinct_rows(rows, path), origin=str(path))

    def _from_hub(self, split: str, *, looked_for: str) -> Rows:
        hub = hub_rows(REPOSITORY, self.config, HUB[split], looked_for=looked_for)
        origin, gold = f"{REPOSITORY} ({self.config}, {HUB[split]})", self.hub_gold or self.gold
        if self.labels:  # the Hub has their numbers
            names = hub.features[gold[0]].names
            hub = ({**fields, gold[0]: names[fields[gold[0]]]} for fields in hub)
        rows = [self._row(fields, gold, f"{origin}: row {n}") for n, fields in enumerate(hub, start=1)]
        return Rows(rows=rows, origin=origin)

    def _row(self, fields: Any, gold: tuple[str, ...], where: str) -> SentenceRow:
        text, *pair = (text_of(fields, column, where) for column in self.texts)
        label: Any = fields
        for key in gold:
            label = label.get(key) if isinstance(label, Mapping) else None
        self._check(label, ".".join(gold), where)
        return SentenceRow(id=text_of(fields, "guid", where), text=text, pair=pair[0] if pair else None, gold=label)

    def _check(self, label: Any, name: str, where: str) -> None:
        if self.labels and label not in self.labels:
            raise UserError(f"{where}: '{name}' is {label!r}; expected one of {', '.join(self.labels)}", REMEDY)
        number = type(label) in (int, float) and 0 <= label <= 5
        if not self.labels and not number:
            raise UserError(f"{where}: '{name}' is {label!r}; expected a number from 0 to 5", REMEDY)


def official_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """(where, fields) of the rows of an official JSON file. Raises UserError for a file of another layout."""
    content = load_json(path, FileFormat(format=FORMAT, encoding="utf-8-sig"))
    if not isinstance(content, list):
        raise UserError(f"{path}: is not a list of rows", "Compare with the official file")
    yield from ((f"{path}: row {number}", fields) for number, fields in enumerate(content, start=1))


def text_of(fields: Any, column: str, where: str) -> str:
    """The text in a column of a row. Raises UserError where there is none."""
    cell = fields.get(column) if isinstance(fields, Mapping) else None
    if not isinstance(cell, str) or not cell.strip():
        raise UserError(f"{where}: has no text in '{column}'", REMEDY)
    return cell


def distinct_rows(rows: list[Any], path: Path) -> list[Any]:
    """The rows. Raises UserError for a guid that two of them have, since predictions are kept by it."""
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        if row.id in seen:
            raise UserError(
                f"{path}: row {number}: the guid '{row.id}' is also that of row {seen[row.id]}",
                "Make the guids distinct",
            )
        seen[row.id] = number
    return rows


ENTITIES = ("PS", "LC", "OG", "DT", "TI", "QT")  # person, location, organisation, date, time, quantity
TAGS = ("O", *(f"{prefix}-{kind}" for kind in ENTITIES for prefix in "BI"))


def read_ner(source: Source, split: str) -> Rows:
    """The sentences of KLUE-NER, a row of characters each: spaces are in the text, and have no tag, as in the scorer.

    The Hub's rows have no guid, and are numbered.
    """
    file = official_file("klue-ner", split, suffix="tsv")
    folder = source.find(folders("klue-ner"), holds=file)
    if folder is not None:
        path = folder / file
        return Rows(rows=distinct_rows([_tagged(*sentence) for sentence in _sentences(path)], path), origin=str(path))
    hub = hub_rows(REPOSITORY, "ner", HUB[split], looked_for=file)
    names = hub.features["ner_tags"].feature.names
    rows = [
        _tagged(f"{split}-{index}", fields["tokens"], [names[tag] for tag in fields["ner_tags"]])
        for index, fields in enumerate(hub)
    ]
    return Rows(rows=rows, origin=f"{REPOSITORY} (ner, {HUB[split]})")


def _sentences(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """(guid, characters, tags) of each sentence: its guid is in the last line before it that begins with `##`."""
    guid = ""
    characters: list[str] = []
    tags: list[str] = []
    for number, line in chain(numbered_lines(path), [(0, "")]):
        if line.startswith("##"):
            if characters:
                raise UserError(f"{path}:{number}: there is no empty line before the next sentence", REMEDY)
            guid = line.removeprefix("##").split("\t")[0].strip()
        elif line.strip("\t"):
            if not guid:
                raise UserError(f"{path}:{number}: there is no line '## guid' before this sentence", REMEDY)
            character, tag = _character(line, f"{path}:{number}")
            characters.append(character)
            tags.append(tag)
        elif characters:
            yield guid, characters, tags
            guid, characters, tags = "", [], []


def _character(line: str, where: str) -> list[str]:
    cells = line.split("\t")
    if len(cells) != 2 or not cells[0] or cells[1] not in TAGS:
        raise UserError(f"{where}: expected a character, a tab and one of {', '.join(TAGS)}; it is {line!r}", REMEDY)
    return cells


def _tagged(name: str, characters: Sequence[str], tags: Sequence[str]) -> TaggingRow:
    """A row of all characters but spaces, which are only in its text."""
    starts = accumulate(map(len, characters), initial=0)
    filled = [character for character in zip(characters, tags, starts, strict=False) if character[0] != " "]
    words, gold, places = zip(*filled, strict=True) if filled else ((), (), ())
    return TaggingRow(id=name, words=words, gold=gold, text="".join(characters), starts=places)


def _task(read: Texts, *metrics: Metric) -> SentenceTask:
    inputs = read.texts if len(read.texts) > 1 else ()
    return SentenceTask(name=f"klue-{read.config}", read=read, labels=read.labels, metrics=metrics, inputs=inputs)


TASKS = [
    _task(
        Texts(
            name="ynat",
            config="ynat",
            texts=("title",),
            gold=("label",),
            labels=("정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠"),
        ),
        macro_f1,
        accuracy,
    ),
    _task(
        Texts(
            name="klue-sts",
            config="sts",
            texts=("sentence1", "sentence2"),
            gold=("labels", "real-label"),
        ),
        pearson,
        f1_from(3),
    ),
    _task(
        Texts(
            name="klue-nli",
            config="nli",
            texts=("premise", "hypothesis"),
            gold=("gold_label",),
            hub_gold=("label",),
            labels=("entailment", "contradiction", "neutral"),
        ),
        accuracy,
    ),
    TaggingTask(name="klue-ner", read=read_ner, types=ENTITIES, characters=True),
    SpanTask(
        name="klue-mrc",
        unanswerable=True,
        scored=score_mrc,
        overlap="rouge-w",
        read=Squad(
            splits={split: (official_file("klue-mrc", split), HUB[split]) for split in HUB},
            repository=REPOSITORY,
            config="mrc",
            folders=folders("klue-mrc"),
            key="guid",
        ),
    ),
]
