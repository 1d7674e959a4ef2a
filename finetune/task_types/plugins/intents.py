"""Intents with slots: one intent for a text, and a tag for each of its words, from one pass (Chen, Zhuo and Wang 2019).

A tagger gives the tags, a task on sentences the intent: this file joins both.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finetune.data import ADDED_LATER, as_text, cell_at
from finetune.metrics import Counted, Metric, accuracy, class_metric, mean_counted
from finetune.models.feature import Feature
from finetune.task_types import (
    Answer,
    DecisionRow,
    Decisions,
    Evidence,
    Finding,
    Layout,
    Line,
    NoRow,
    Predictions,
    SentenceRow,
    SentenceTask,
    SplitRows,
    Tagging,
    TaggingRow,
    TaggingTask,
    Task,
    unusable,
    with_chosen,
    with_signs,
    words_and_tags,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import JoinedHead

INTENT, SLOTS = "intent", "slots"  # the parts of a label and of a prediction, and the names of their losses
PREFIX = f"{INTENT}: "  # before an intent's name among labels, which are the types of slots too
COLUMN_NAMES = (
    "intent", "intent.name", "intents", "intent_label", "intent_name", "intention", "user_intent", "의도", "인텐트",
    "발화의도", "발화_의도",
)  # fmt: skip
NAME_WORDS = 3
HALF_LABEL = unusable(
    "half-label",
    "an intent without tags, or tags without an intent",
    "Fill in the other one; a text without slots has O for each word, or []",
)
EXACT, ACCURACY = (Metric(name, per_row=True) for name in ("exact match", f"{INTENT} accuracy"))
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

    @property
    def sentence(self) -> SentenceRow:
        """The row without its tags."""
        return SentenceRow(id=self.id, text=self.input, gold=self.gold and self.gold[0])


@dataclass(frozen=True, kw_only=True)
class IntentTask(Task):
    """One of `intents` for a text, and tags in IOB2 for the slots of `types` in it.

    The first score is the share of rows that are right in all: the paper's sentence-level semantic frame accuracy.
    `running_text`, `signs_apart` and `plain` are as in `TaggingTask`.
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
        by_intent = (Metric(f"{PREFIX}{metric.name}") for metric in self.chooser.metrics[1:])
        object.__setattr__(self, "metrics", (EXACT, ACCURACY, *slots, *by_intent))
        super().__post_init__()

    @cached_property
    def tagger(self) -> TaggingTask:
        """The task of the tags alone."""
        names = ("name", "read", "types", "running_text", "signs_apart", "plain")
        return TaggingTask(**{name: getattr(self, name) for name in names})

    @cached_property
    def chooser(self) -> SentenceTask:
        """The task of the intents alone."""
        by_intent = (class_metric(name, part) for name in self.intents for part in OF_SLOTS)
        return SentenceTask(name=self.name, read=self.read, labels=self.intents, metrics=(accuracy, *by_intent))

    @property
    def label_names(self) -> tuple[str, ...]:
        return (*self.types, *(f"{PREFIX}{name}" for name in self.intents))

    def fault(self, row: Any) -> str:
        return self.chooser.fault(row.sentence) or self.tagger.fault(row.tagged)

    def fits(self, value: Any, row: Any) -> bool:
        whole = isinstance(value, Mapping) and value.keys() == {INTENT, SLOTS}
        return whole and value[INTENT] in self.intents and self.tagger.fits(value[SLOTS], row.tagged)

    def row(self, words: Sequence[str] | str) -> IntentRow:
        """A row of words, or of a text whose words are found as a tagger finds them."""
        return _bare(self.tagger.row(words))

    def head(self, backbone: "Backbone") -> "JoinedHead":
        """The heads of both tasks (section 3.2)."""
        from finetune.models.head import JoinedHead

        return JoinedHead(backbone, {SLOTS: self.tagger.head, INTENT: self.chooser.head})

    def encode(self, rows: Sequence[IntentRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """Windows as in tagging, each with the intent of its row."""
        intents = [self.chooser.label_for_loss(row.sentence) for row in rows]
        features = self.tagger.encode([row.tagged for row in rows], tokenizer, max_length)
        return [f if f.label is None else replace(f, label={INTENT: intents[f.row], SLOTS: f.label}) for f in features]

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[IntentRow]
    ) -> list[Answer]:
        """Tags as in tagging, and the most probable intent by the mean of its logits over the row's windows.

        The first probability is the intent's, then come the tags'.
        """
        count = len(self.tagger.labels)
        tags = self.tagger.decode([scores[:, :count] for scores in logits], features, [row.tagged for row in rows])
        of_text = [scores[0, count:].astype(np.float64) for scores in logits]
        intents = self.chooser.decode(of_text, features, [row.sentence for row in rows])
        answers = list[Answer]()
        for row, ours, intent in zip(rows, tags, intents, strict=True):
            chances = dict(zip(self.intents, intent.probabilities or (), strict=True))
            parts: dict[str, Any] = {"probabilities": [chances[intent.value], *(ours.probabilities or ())]}
            if row.gold is not None:
                probabilities = getattr(ours, "label_probabilities", None) or ()
                parts["label_probabilities"] = [chances[row.gold[0]], *probabilities]
            answers.append(replace(ours, value={INTENT: intent.value, SLOTS: list(ours.value)}, **parts))
        return answers

    def labels_of(self, rows: Sequence[IntentRow]) -> list[Answer]:
        labels = ({INTENT: row.gold[0], SLOTS: list(row.gold[1])} if row.gold else None for row in rows)
        return [Answer(value=label) for label in labels]

    def sums(self, answers: Sequence[Answer], rows: Sequence[IntentRow]) -> dict[str, Counted]:
        """All metrics; slots are scored as entities, as conlleval counts them."""
        right = [label == value for label, value in zip(*self._values(answers, rows), strict=True)]
        slots = self.tagger.sums(list(map(_slots_of, answers)), [row.tagged for row in rows])
        intents = [Answer(value=answer.value[INTENT]) for answer in answers]
        sums = {EXACT.name: mean_counted(right)}
        sums |= {OF_SLOTS.get(name, name): counted for name, counted in slots.items()}
        for name, counted in self.chooser.sums(intents, [row.sentence for row in rows]).items():
            sums[ACCURACY.name if name == accuracy.name else f"{PREFIX}{name}"] = counted
        return {name: sums[name] for name in self.metric_names}

    def baselines(self, train: Sequence[IntentRow], rows: Sequence[IntentRow]) -> dict[str, list[Answer]]:
        """The same tags twice, with the intents of two methods."""
        ((name, tags),) = self.tagger.baselines([row.tagged for row in train], [row.tagged for row in rows]).items()
        intents = self.chooser.baselines([row.sentence for row in train], [row.sentence for row in rows])
        return {
            method: [Answer(value={INTENT: a.value, SLOTS: b.value}) for a, b in zip(answers, tags, strict=True)]
            for method, answers in zip((name, "tfidf-logistic"), intents.values(), strict=True)
        }


class IntentAndSlots(Tagging):
    """An intent for a text, and a tag for each of its words or character spans, which are read as for tagging.

    The label's columns are the tags, then the intent.
    """

    name = "intent-and-slots"
    task_class: ClassVar[Any] = IntentTask
    issues: ClassVar[Any] = (*Tagging.issues, HALF_LABEL)
    label_is: ClassVar[Any] = (dict,)

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds words and tags, or a text and its spans, and a column that is called intent; or both, by name."""
        label = evidence.chosen.get("label") or []
        columns = [(label[:1], label[1]), (label[1:], label[0])] if len(label) == 2 else []
        if not label:
            columns = [([], intent) for intent in _called_intent(evidence)]
        match = next(filter(None, (self._of(evidence, *pair) for pair in columns)), None)
        layout = with_chosen(self, evidence, match)
        return layout and with_signs(replace(layout, label=match.label if match else layout.label), evidence)

    def _of(self, evidence: Evidence, tags: list[str], intent: str) -> Layout | None:
        """The layout of columns of words and `tags`, or any if they are not named, next to one of names, a row each."""
        fact, others = evidence.facts[intent], replace(evidence, chosen={**evidence.chosen, "label": tags})
        layout = words_and_tags(others.without([intent])) if fact.kind in ("category", "text") or fact.whole else None
        if layout is None:
            return None
        (name,), what = layout.label, "character spans" if layout.spans else "tags"
        why = f"{layout.text[0]} has {what} in {name} and an intent in {intent}; label={name} reads the {what} alone"
        return replace(layout, shape=self.name, label=(name, intent), reasons={"shape": why})

    def labels_in(self, gold: Any) -> tuple[str, ...]:
        """The intent and the types of the slots, of a label or a prediction."""
        if gold is None:
            return ()
        intent, tags = (gold[INTENT], gold[SLOTS]) if isinstance(gold, Mapping) else gold
        return f"{PREFIX}{intent}", *super().labels_in(tags)

    def strata(self, rows: Sequence[Any]) -> Sequence[str]:
        return ["" if row.gold is None else row.gold[0] for row in rows]

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """The findings of tags."""
        return super().findings(replace(rows, golds=[gold and gold[1] for gold in rows.golds]))

    def fitted(self, layout: Layout, task: Any) -> Layout:
        return super().fitted(layout, task.tagger)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Any:
        """The words with their intent and tags. Raises NoRow as tagging does, and where one of both is missing."""
        tagged = super().row(layout, values, name)
        bare = _bare(tagged)
        if not layout.label:
            return bare
        slots, column = layout.label[0], layout.label[-1]
        intent = cell_at(values, column)
        if isinstance(intent, list | dict):
            raise NoRow(f"has several values in the column '{column}'; a row has one {INTENT}")
        if (missing := layout.lacks(intent)) == (tagged.gold is None):
            return bare if missing else replace(bare, gold=(as_text(intent).strip(), tagged.gold))
        present, lacking = (slots, column) if missing else (column, slots)
        raise NoRow(f"has a label in the column '{present}' and none in '{lacking}'", HALF_LABEL)

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
        """The slots as in the training file: tags in its scheme, or character spans in its form; and the intent."""
        cells, intent = super().cells(task.tagger, layout, _slots_of(answer), row.tagged), answer.value[INTENT]
        chances = answer.probabilities or ()
        sure = {f"{INTENT} probability": round(float(chance), 6) for chance in chances[:1]}
        return {**cells, "prediction": {INTENT: intent, SLOTS: cells["prediction"]}, INTENT: intent, **sure}

    def value(self, task: Any, layout: Layout, cell: Any, row: Any) -> Any:
        both = json.loads(cell) if isinstance(cell, str) else cell
        return {**both, SLOTS: super().value(task.tagger, layout, both[SLOTS], row.tagged)}

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """An intent and tags a row, with a decision for each."""
        tags = super().predictions(list(map(_tagged_line, lines)), names, task)
        intents = list[DecisionRow]()
        for row, line in enumerate(lines):
            label, prediction = (f"{PREFIX}{line[side][INTENT]}" for side in ("gold", "prediction"))
            (sure, *_), (chance, *_) = (line.get(name) or (None,) for name in ("probabilities", "label_probabilities"))
            intents.append(DecisionRow(row, label, prediction, label == prediction, sure, chance))
        right = np.array([line["gold"] == line["prediction"] for line in lines], bool)
        decisions, parts = (
            np.concatenate([Decisions.made(intents), others]).view(Decisions) for others in (tags.decisions, tags.parts)
        )
        return replace(
            tags, lines=lines, right=right, score=right.astype(float), decisions=decisions, parts=parts,
            unit="intents and words",
            says=lambda line, value: f"{value[INTENT]}: {tags.says(line, value[SLOTS])}",
        )  # fmt: skip


def _bare(row: TaggingRow) -> IntentRow:
    return IntentRow(id=row.id, words=row.words, text=row.text, starts=row.starts, raw=row.raw)


def _slots_of(answer: Answer) -> Answer:
    chances = {name: values and values[1:] for name, values in vars(answer).items() if name != "value"}
    return replace(answer, value=answer.value[SLOTS], **chances)


def _tagged_line(line: Line) -> Line:
    chances = {name: line[name][1:] for name in ("probabilities", "label_probabilities") if line.get(name)}
    return {**line, **{side: line[side][SLOTS] for side in ("gold", "prediction")}, **chances}


def _called_intent(evidence: Evidence) -> list[str]:
    """The columns that are called intent, and hold one of a few values, or names of a few words."""
    columns = {name.lower().replace(" ", "_"): name for name in evidence.columns}
    called = [columns[name] for name in COLUMN_NAMES if name in columns]
    facts = [(name, evidence.facts[name]) for name in called if name not in evidence.chosen.get("text", [])]
    return [name for name, fact in facts if fact.words < NAME_WORDS or 2 * fact.distinct <= fact.filled]
