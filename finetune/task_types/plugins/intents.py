"""Intents with slots: one intent for a text, and a tag for each of its words, from one pass (Chen, Zhuo and Wang 2019).

All that concerns tags is asked of the task and the type of tagging: this file adds the intent.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finetune.data import ADDED_LATER, as_text, cell_at
from finetune.errors import UserError
from finetune.metrics import Counted, Metric, accuracy, class_metric
from finetune.models.feature import Feature
from finetune.task_types import (
    Ambiguous,
    Answer,
    Asked,
    DecisionRow,
    Decisions,
    Evidence,
    ExplainTarget,
    Finding,
    Layout,
    Line,
    NoRow,
    Pick,
    Predictions,
    SentenceRow,
    SentenceTask,
    SplitRows,
    Tagging,
    TaggingRow,
    TaggingTask,
    Target,
    Task,
    constant_findings,
    unusable,
    with_chosen,
    with_signs,
    words_and_tags,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import Head

INTENT, SLOTS = "intent", "slots"  # the parts of a label and of a prediction, and the names of their losses
PREFIX = f"{INTENT}: "  # before an intent's name among labels, which are the types of slots too
COLUMN_NAMES = (
    "intent", "intent.name", "intents", "intent_label", "intent_name", "intention", "user_intent", "의도", "인텐트",
    "발화의도", "발화_의도",
)  # fmt: skip
NAME_WORDS, ROWS_LOOKED_AT = 3, 1_000
HALF_LABEL = unusable(
    "half-label",
    "an intent without tags, or tags without an intent",
    "Fill in the other one; a text without slots has O for each word, or []",
)
EXACT, ACCURACY = (replace(accuracy, name=name, score=None) for name in ("exact match", f"{INTENT} accuracy"))
OF_SLOTS = {"f1": "slot f1", "precision": "slot precision", "recall": "slot recall"}  # a tagger's name: ours


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRow(TaggingRow):
    """The words of a text, and (its intent, their tags in IOB2) as `gold`; None if unknown. It has no document.

    A label may be given as a mapping too, `{"intent": "play", "slots": ["O", "B-artist"]}`, as predictions are saved.
    """

    gold: Any = None
    document: str = field(default="", metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        if isinstance(self.gold, Mapping):
            object.__setattr__(self, "gold", (self.gold[INTENT], tuple(self.gold[SLOTS])))

    @property
    def tagged(self) -> TaggingRow:
        """The row without its intent."""
        tags = self.gold and self.gold[1]
        return TaggingRow(id=self.id, words=self.words, gold=tags, text=self.text, starts=self.starts, raw=self.raw)


@dataclass(frozen=True, kw_only=True)
class IntentTask(Task):
    """One of `intents` for a text, and tags in IOB2 for the slots of `types` in it.

    The first score is the share of rows that are right in all: the paper's sentence-level semantic frame accuracy.
    `running_text`, `signs_apart` and `plain` are those of a `TaggingTask`.
    """

    types: tuple[str, ...]
    intents: tuple[str, ...]
    running_text: bool = False
    signs_apart: bool = False
    plain: bool = False
    metrics: tuple[Metric, ...] = ()
    version: int = 2
    row_type = IntentRow
    pooled = False

    def __post_init__(self) -> None:
        slots = map(Metric, (*OF_SLOTS.values(), *(f"{kind}/{part}" for kind in self.types for part in OF_SLOTS)))
        by_intent = [class_metric(name, part) for name in self.intents for part in OF_SLOTS]
        named = (replace(metric, name=f"{PREFIX}{metric.name}") for metric in by_intent)
        object.__setattr__(self, "metrics", (EXACT, ACCURACY, *slots, *named))
        super().__post_init__()

    @cached_property
    def tagger(self) -> TaggingTask:
        """The task of the tags alone."""
        names = ("name", "read", "types", "running_text", "signs_apart", "plain")
        return TaggingTask(**{name: getattr(self, name) for name in names})

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits: tags, then intents."""
        return (*self.tagger.labels, *(f"{PREFIX}{name}" for name in self.intents))

    @property
    def label_names(self) -> tuple[str, ...]:
        return (*self.types, *(f"{PREFIX}{name}" for name in self.intents))

    def fault(self, row: Any) -> str:
        if row.gold is not None and row.gold[0] not in self.intents:
            return f"has the intent '{row.gold[0]}'; it must be one of {', '.join(self.intents)}"
        return self.tagger.fault(row.tagged)

    def fits(self, value: Any, row: Any) -> bool:
        whole = isinstance(value, Mapping) and value.keys() == {INTENT, SLOTS}
        return whole and value[INTENT] in self.intents and self.tagger.fits(value[SLOTS], row.tagged)

    def row(self, words: Sequence[str] | str) -> IntentRow:
        """A row of words, or of a text whose words are found as a tagger finds them."""
        return _bare(self.tagger.row(words))

    def head(self, backbone: "Backbone") -> "Head":
        """The head that reads the sequence output and the pooled output."""
        from finetune.task_types.plugins.intents_head import IntentHead

        count = len(self.tagger.labels)
        return IntentHead(backbone, self.labels[:count], self.labels[count:])

    def encode(self, rows: Sequence[IntentRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """Windows as in tagging, each with the intent of its row."""
        intents = [None if row.gold is None else self.intents.index(row.gold[0]) for row in rows]
        features = self.tagger.encode([row.tagged for row in rows], tokenizer, max_length)
        return [f if f.label is None else replace(f, label={INTENT: intents[f.row], SLOTS: f.label}) for f in features]

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[IntentRow]
    ) -> list[Answer]:
        """Tags as in tagging, and the most probable intent by the mean of its logits over the row's windows.

        All intents are equally likely for a text without a token.
        """
        from scipy.special import softmax

        count, tagged = len(self.tagger.labels), [row.tagged for row in rows]
        sums, windows = np.zeros((len(rows), len(self.intents))), np.zeros((len(rows), 1))
        for scores, feature in zip(logits, features, strict=True):
            sums[feature.row] += scores[0, count:]
            windows[feature.row] += 1
        chances = softmax(sums / np.maximum(windows, 1), axis=-1)
        tags = self.tagger.decode([scores[:, :count] for scores in logits], list(map(_of_tags, features)), tagged)
        return list(map(self._answer, rows, tags, chances))

    def _answer(self, row: IntentRow, tags: Answer, chances: np.ndarray) -> Answer:
        best = int(chances.argmax())
        parts: dict[str, Any] = {"probabilities": [float(chances[best]), *(tags.probabilities or ())]}
        if row.gold is not None:
            own = getattr(tags, "label_probabilities", None) or ()
            parts["label_probabilities"] = [float(chances[self.intents.index(row.gold[0])]), *own]
        return replace(tags, value={INTENT: self.intents[best], SLOTS: list(tags.value)}, **parts)

    def cells(self, answer: Answer, row: IntentRow) -> dict[str, Any]:
        """The intent and the tags; the intent by itself with its probability, and what tagging says of the tags."""
        return _with_intent(answer, self.tagger.cells(_slots_of(answer), row.tagged))

    def labels_of(self, rows: Sequence[IntentRow]) -> list[Answer]:
        labels = ({INTENT: row.gold[0], SLOTS: list(row.gold[1])} if row.gold else None for row in rows)
        return [Answer(value=label) for label in labels]

    def score(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> dict[str, float]:
        """Every metric; those of the slots are of entities, as conlleval counts them."""
        return {name: counted.score for name, counted in self.sums(answers, rows).items()}

    def sums(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> dict[str, Counted]:
        whole = [[answer.value for answer in side] for side in (self.labels_of(rows), answers)]
        intents = [[value[INTENT] for value in side] for side in whole]
        slots = self.tagger.sums(list(map(_slots_of, answers)), [row.tagged for row in rows])
        sums = {OF_SLOTS.get(name, name): counted for name, counted in slots.items()}
        for metric in self.metrics:
            if metric.sums is not None:
                sums[metric.name] = metric.sums(*(whole if metric == EXACT else intents))
        return {name: sums[name] for name in self.metric_names}

    def baselines(self, train: Sequence[IntentRow], rows: Sequence[IntentRow]) -> dict[str, list[Answer]]:
        """The same tags twice, with the intents of two methods."""
        ((name, tags),) = self.tagger.baselines([r.tagged for r in train], [r.tagged for r in rows]).items()
        intents = self._chooser.baselines(_texts(train), _texts(rows)).values()
        return {
            method: [Answer(value={INTENT: a.value, SLOTS: b.value}) for a, b in zip(answers, tags, strict=True)]
            for method, answers in zip((name, "tfidf-logistic"), intents, strict=True)
        }

    @property
    def _chooser(self) -> SentenceTask:
        """The task of the intents alone."""
        return SentenceTask(name=self.name, read=self.read, labels=self.intents, metrics=(accuracy,))

    def explain_target(
        self, row: IntentRow, answer: Answer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        """The intent, by the mean of its logit over the windows; with `word` the tag of that word.

        A logit, not log-odds: the others at its place are of tags and of intents.
        """
        if asked.word is not None:
            tags = self.tagger.explain_target(row.tagged, _slots_of(answer), features, asked)
            picks = [[replace(pick, against=None) for pick in target.picks] for target in tags.targets]
            bare = [Target(label=t.label, picks=logits) for t, logits in zip(tags.targets, picks, strict=True)]
            return replace(tags, targets=bare)
        name = asked.one_of(self.intents) or answer.value[INTENT]
        place = 0, len(self.tagger.labels) + self.intents.index(name)
        mean = [Pick(feature=n, place=place, weight=1 / len(features)) for n in range(len(features))]
        chance = None if answer.probabilities is None else float(answer.probabilities[0])
        target = Target(label=name, picks=mean)
        return ExplainTarget(
            texts=row.named_texts, prediction=answer.value[INTENT], confidence=chance, targets=[target]
        )


class IntentAndSlots(Tagging):
    """An intent for a text, and a tag for each of its words or character spans, which are read as for tagging.

    The label's columns are that of the tags, then that of the intent.
    """

    name = "intent-and-slots"
    task_class: ClassVar[Any] = IntentTask
    issues: ClassVar[Any] = (*Tagging.issues, HALF_LABEL)
    label_is: ClassVar[Any] = (dict,)

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds words and tags, or a text and its spans, and a column called intent; or both, if the user named two.

        Raises Ambiguous where several columns fit, and UserError where those that the user named do not.
        """
        label, readings = evidence.chosen.get("label") or [], list[Layout]()
        intents = label if len(label) == 2 else () if label else _called_intent(evidence)
        for intent in intents:
            slots = [name for name in label if name != intent]
            layout = words_and_tags(replace(evidence.without([intent]), chosen={**evidence.chosen, "label": slots}))
            if layout is not None:
                (tags,), what = layout.label, "character spans" if layout.spans else "tags"
                why = f"{layout.text[0]} has {what} in {tags} and an intent in {intent}"
                why += f"; label={tags} reads the {what} alone"
                readings.append(replace(layout, shape=self.name, label=(tags, intent), reasons={"shape": why}))
        fitting = [layout for layout in readings if _once_a_row(evidence.columns, layout.text[0], layout.label[1])]
        if len(fitting) > 1 and not label:
            choices = [(f"label={layout.label[1]},{layout.label[0]}", "an intent, and slots") for layout in fitting]
            raise Ambiguous(f"{evidence.file}: {len(fitting)} columns are called intent", choices)
        if label and len(fitting) != 1 and (evidence.shape or len(readings) == 1):
            raise UserError(
                f"{evidence.file}: label={','.join(label)} are not an intent a row, and tags for each word or spans",
                "Name a column of each: label=INTENT,SLOTS; the words with text=COLUMN",
            )
        layout = with_chosen(self, evidence, fitting[0] if len(fitting) == 1 else None)
        return layout and with_signs(_slots_first(layout, evidence.columns), evidence)

    def as_written(self, layout: Layout, table: Any) -> Layout:
        """As for tagging; with the column of the slots first, which a user may name second."""
        return super().as_written(_slots_first(layout, table.columns), table)

    def labels_in(self, gold: Any) -> Sequence[str]:
        """The intent and the types of the slots, of a label or a prediction."""
        if gold is None:
            return ()
        intent, tags = (gold[INTENT], gold[SLOTS]) if isinstance(gold, Mapping) else gold
        return f"{PREFIX}{intent}", *super().labels_in(tags)

    def strata(self, rows: Sequence[Any]) -> Sequence[str]:
        return ["" if row.gold is None else row.gold[0] for row in rows]

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """Those of tags, and an intent that all rows have or nearly all."""
        yield from super().findings(replace(rows, golds=[gold and gold[1] for gold in rows.golds]))
        counts = Counter(gold[0] for gold in rows.golds if gold is not None)
        most = "the most frequent intent is {label}: always predicting it has the accuracy {accuracy}"
        yield from constant_findings(counts, "the intent {label}", most, worst=rows.trains)

    def fitted(self, layout: Layout, task: Any) -> Layout:
        return super().fitted(layout, task.tagger)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Any:
        """The words with their intent and tags. Raises NoRow as tagging does, and where one of both is missing."""
        tagged = super().row(layout, values, name)
        bare = _bare(tagged)
        if not layout.label:
            return bare
        slots, column = layout.label[0], layout.label[-1]
        cell = cell_at(values, column)
        intent = _repeated(cell) if isinstance(cell, list) and len(cell) == len(bare.words) else cell
        if isinstance(intent, list | dict):
            raise NoRow(f"has several values in the column '{column}'; a row has one {INTENT}")
        if (missing := layout.lacks(intent)) == (tagged.gold is None):
            return bare if missing else replace(bare, gold=(_name(intent), tagged.gold))
        there, lacking = (slots, column) if missing else (column, slots)
        raise NoRow(f"has a label in the column '{there}' and none in '{lacking}'", HALF_LABEL)

    def label_words(self, row: Any) -> str:
        return "none" if row.gold is None else f"{row.gold[0]}: {super().label_words(row.tagged)}"

    def task(self, layout: Layout, *, name: str, read: Any = None) -> Any:
        intents = [label.removeprefix(PREFIX) for label in layout.labels if label.startswith(PREFIX)]
        return IntentTask(
            name=name,
            read=read,
            types=tuple(label for label in layout.labels if not label.startswith(PREFIX)),
            intents=tuple(intents),
            running_text=bool(layout.spans),
            signs_apart=layout.signs_apart,
            plain=layout.tag_form == "plain",
        )

    def cells(self, task: Any, layout: Layout, answer: Answer, row: Any) -> dict[str, Any]:
        """The task's cells, the slots as in the training file: tags in its scheme, or character spans in its form."""
        return _with_intent(answer, super().cells(task.tagger, layout, _slots_of(answer), row.tagged))

    def value(self, task: Any, layout: Layout, cell: Any, row: Any) -> Any:
        both = json.loads(cell) if isinstance(cell, str) else cell
        return {**both, SLOTS: super().value(task.tagger, layout, both[SLOTS], row.tagged)}

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """An intent and tags a row: a decision for each, all of which are claimed together under the intent."""
        tags = super().predictions(list(map(_tagged_line, lines)), names, task)
        intents, claims = list[DecisionRow](), list[DecisionRow]()
        for row, line in enumerate(lines):
            label, prediction = (f"{PREFIX}{line[side][INTENT]}" for side in ("gold", "prediction"))
            (sure, *_), (chance, *_) = (line.get(name) or (None,) for name in ("probabilities", "label_probabilities"))
            intents.append(DecisionRow(row, label, prediction, label == prediction, sure, chance))
            if chances := line.get("probabilities"):
                claims.append(DecisionRow(row, label, prediction, line["gold"] == line["prediction"], min(chances)))
        right = np.array([line["gold"] == line["prediction"] for line in lines], bool)
        flat = Decisions.made(intents)
        return replace(
            tags, lines=lines, right=right, score=right.astype(float), decisions=flat.joined(tags.decisions),
            parts=flat.joined(tags.parts), claims=Decisions.made(claims), unit="intents and words", claimed="rows",
            says=lambda line, value: f"{value[INTENT]}: {tags.says(line, value[SLOTS])}", filler=None,
        )  # fmt: skip


def _bare(row: TaggingRow) -> IntentRow:
    return IntentRow(id=row.id, words=row.words, text=row.text, starts=row.starts, raw=row.raw)


def _texts(rows: Sequence[IntentRow]) -> list[SentenceRow]:
    return [SentenceRow(id=row.id, text=row.input, gold=row.gold and row.gold[0]) for row in rows]


def _of_tags(feature: Feature) -> Feature:
    """A feature as a tagger has it."""
    return feature if feature.label is None else replace(feature, label=feature.label[SLOTS])


def _slots_of(answer: Answer) -> Answer:
    """The tags of a prediction, with their probabilities."""
    chances = {name: values and values[1:] for name, values in vars(answer).items() if name != "value"}
    return replace(answer, value=answer.value[SLOTS], **chances)


def _tagged_line(line: Line) -> Line:
    """A saved row as a tagger predicts it."""
    chances = {name: line[name][1:] for name in ("probabilities", "label_probabilities") if line.get(name)}
    return {**line, **{side: line[side][SLOTS] for side in ("gold", "prediction")}, **chances}


def _with_intent(answer: Answer, cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a tagger's prediction with the intent."""
    intent = answer.value[INTENT]
    chance = {} if answer.probabilities is None else {f"{INTENT} probability": round(float(answer.probabilities[0]), 6)}
    return {**cells, "prediction": {INTENT: intent, SLOTS: cells["prediction"]}, INTENT: intent, **chance}


def _called_intent(evidence: Evidence) -> list[str]:
    """The columns that are called intent, and hold one of a few values a row, or names of a few words."""
    columns = {name.lower().replace(" ", "_"): name for name in evidence.columns}
    called = [columns[name] for name in COLUMN_NAMES if name in columns]
    facts = [(name, evidence.facts[name]) for name in called if name not in evidence.chosen.get("text", [])]
    names = [(name, fact) for name, fact in facts if fact.kind in ("category", "text") or fact.whole]
    return [name for name, fact in names if fact.words < NAME_WORDS or 2 * fact.distinct <= fact.filled]


def _once_a_row(columns: Mapping[str, Sequence[Any]], words: str, name: str) -> bool:
    """Whether a column has one value a row, not a list or an item for each of several words."""
    several = 0
    for text, cell in islice(zip(columns[words], map(_repeated, columns[name]), strict=True), ROWS_LOOKED_AT):
        count = len(text if isinstance(text, list) else str(text).split())
        several += str(cell).startswith("[") or count == len(str(cell).split()) > 1
    return 2 * several < min(ROWS_LOOKED_AT, len(columns[name]))


def _slots_first(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
    if len(layout.label) != 2 or not {*layout.label} <= columns.keys():
        return layout
    first, second = (_once_a_row(columns, layout.text[0], name) for name in layout.label)
    return replace(layout, label=layout.label[::-1]) if first and not second else layout


def _repeated(cell: Any) -> Any:
    """The value of all words of a list, as files with one word per line have an intent; else the cell itself."""
    items = set(cell) if isinstance(cell, list) and all(isinstance(item, str) for item in cell) else set()
    return items.pop() if len(items) == 1 else cell


def _name(cell: Any) -> str:
    return as_text(_repeated(cell)).strip()
