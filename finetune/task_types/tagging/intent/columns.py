"""Words with tags, or texts with character spans, and an intent each: user data of the type `intent-and-slots`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.formats.spans import span_form
from finetune.data.issues import Finding
from finetune.data.messages import shown
from finetune.data.nested_fields import cell_at
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Clean, Evidence
from finetune.task_types.findings import ONE_LABEL, SplitRows, constant_findings
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.tagging import findings
from finetune.task_types.tagging.guess import one_value
from finetune.task_types.tagging.intent.guess import BOTH, NAME, intent_layout
from finetune.task_types.tagging.intent.row import INTENT, PREFIX, SLOTS, IntentAndTags, IntentRow, intent_label
from finetune.task_types.tagging.intent.task import IntentTask, slots_of, with_intent
from finetune.task_types.tagging.own import Tagging, tags_predictions
from finetune.task_types.task import Task
from finetune.task_types.words.columns import ROWS_LOOKED_AT, WordsType, as_long

HALF_LABEL = unusable(
    "half-label",
    "an intent without tags, or tags without an intent",
    "Fill in the other one; a text without slots has O for each word, or []",
)
Gold = IntentAndTags | None
TAGGING = Tagging()


class IntentAndSlots(WordsType):
    """An intent for a text, and a tag for each of its words or character spans, which are read as for tagging."""

    name = NAME
    answers = "an intent for a text, and a tag for each of its words"
    task_class = IntentTask
    row_issues = (*TAGGING.row_issues, HALF_LABEL)
    issues = TAGGING.issues
    label_is = (dict,)
    closed_labels = True
    inputs = "words label=intent,tags"
    labels_are = "intents and entities"
    label_in_parts = True

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds words and tags, or a text and its spans, and a column called intent or named by the user."""
        return intent_layout(evidence, TAGGING.find)

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout from `find`, with the texts that the user named."""
        layout, asked, named = self.find(evidence), evidence.shape is not None, evidence.chosen.get("text")
        if layout is None and not asked:
            return None
        if layout is None and not named:
            raise UserError(f"{evidence.file}: cannot infer the columns of the task type {NAME}", BOTH)
        layout = layout or Layout(shape=NAME, text=())
        text = tuple(named or layout.text)
        if not asked and text != layout.text:
            return None
        given = {role: "given" for role in ("text", "label") if evidence.chosen.get(role)}
        return replace(layout, text=text, reasons={**layout.reasons, **given})

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        return TAGGING.completed(layout, evidence)

    def with_spelling(self, layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
        """As for tagging; with the column of the slots first, which a user may name second."""
        if len(layout.label) == 2 and {*layout.label} <= columns.keys():
            first, second = (_are_slots(layout, columns, name) for name in layout.label)
            layout = replace(layout, label=layout.label[::-1]) if second and not first else layout
        return TAGGING.with_spelling(layout, columns)

    def require_alike(self, layout: Layout, table: Table) -> None:
        """Raises UserError for a single column of labels."""
        if len(layout.label) == 1:
            raise UserError(f"{table.path}: label={layout.label[0]} is one column, and {NAME} needs two", BOTH)

    def may_be_numbers(self, layout: Layout) -> bool:
        """Tags may be numbers; the labels of spans, and intents, are names."""
        return bool(layout.label) and not layout.spans

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        return TAGGING.labels_as_spelled(layout, cell)

    def label_names(self, layout: Layout, cell: Any) -> Iterable[str]:
        """The types of the slots."""
        return TAGGING.label_names(layout, cell)

    def names_in(self, layout: Layout, column: str, cell: Any) -> Iterable[str]:
        """The types of the slots, or the intent."""
        return [intent_label(_name(cell))] if column in layout.label[1:] else self.label_names(layout, cell)

    def labels_in(self, gold: Gold | Mapping[str, Any]) -> tuple[str, ...]:
        """The intent and the types of the slots, of a label or a prediction."""
        if gold is None:
            return ()
        intent, tags = (gold[INTENT], gold[SLOTS]) if isinstance(gold, Mapping) else gold
        return intent_label(intent), *TAGGING.labels_in(tags)

    def tally(self, golds: Sequence[Gold]) -> Counter[str]:
        """Counts the rows of each intent, and the slots of each type."""
        known = [gold for gold in golds if gold is not None]
        return Counter(intent_label(name) for name, _ in known) + TAGGING.tally([tags for _, tags in known])

    def strata(self, golds: Sequence[Gold]) -> Sequence[str]:
        """The intents."""
        return ["" if gold is None else gold[0] for gold in golds]

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        return TAGGING.changes(layout, table)

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """Those of tags, and an intent that all rows have or nearly all."""
        slots, intents = rows.layout.label
        for finding in findings.tagging_findings(rows, [gold and gold[1] for gold in rows.golds]):
            alone = finding.issue is ONE_LABEL
            yield finding._replace(remedy=f"The intents alone are learned with label={intents}") if alone else finding
        counts = Counter(gold[0] for gold in rows.golds if gold is not None)
        most = "the most frequent intent is {label}: always predicting it has the accuracy {accuracy}"
        remedies = f"The slots alone are learned with label={slots}", ""
        yield from constant_findings(counts, "the intent {label}", most, worst=rows.trains, remedies=remedies)

    def without_labels(self, layout: Layout, task: Task) -> Layout:
        assert isinstance(task, IntentTask)
        return TAGGING.without_labels(layout, task.tagger)

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        return TAGGING.spoiled(layout, values)

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        return TAGGING.fixed(layout, values, clean, done)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> IntentRow:
        """The words with their intent and tags. Raises NoRow as tagging does, and where one of both is missing."""
        tagged = TAGGING.row(layout, values, name)
        bare = IntentRow(id=name, words=()).with_words(tagged)
        if not layout.label:
            return bare
        slots, column = layout.label[0], layout.label[-1]
        cell = cell_at(values, column)
        intent = one_value(cell) if isinstance(cell, list) and len(cell) == len(bare.words) else cell
        if isinstance(intent, list | dict):
            raise NoRow(f"has several values in the column '{column}'; a row has one {INTENT}")
        missing = layout.lacks(intent)
        if missing and tagged.gold is None:
            return bare
        if missing or tagged.gold is None:
            there, lacking = (slots, column) if missing else (column, slots)
            raise NoRow(f"has a label in the column '{there}' and none in '{lacking}'", HALF_LABEL)
        return replace(bare, gold=(_name(intent), tagged.gold))

    def facts(self, row: IntentRow) -> dict[str, str]:
        """The text, the intent, and each entity with its type."""
        words, entities = TAGGING.facts(row.tagged).items()
        return dict((words, (INTENT, "none" if row.gold is None else shown(row.gold[0])), entities))

    def unit(self, row: IntentRow) -> str:
        """The words."""
        return same_text(row.input)

    def task(self, layout: Layout, *, name: str, read: Any = None) -> IntentTask:
        """The task with the intents and entity types that were found."""
        return IntentTask(
            name=name,
            read=read,
            types=tuple(label for label in layout.labels if not label.startswith(PREFIX)),
            intents=tuple(label.removeprefix(PREFIX) for label in layout.labels if label.startswith(PREFIX)),
            running_text=bool(layout.spans),
            signs_apart=layout.signs_apart,
            plain=layout.tag_form == "plain",
        )

    def cells(self, task: Task, layout: Layout, answer: Answer, row: IntentRow) -> dict[str, Any]:
        """The task's cells, the slots as in the training file: tags in its scheme, or character spans in its form."""
        assert isinstance(task, IntentTask)
        return with_intent(answer, TAGGING.cells(task.tagger, layout, slots_of(answer), row.tagged))

    def value(self, task: Task, layout: Layout, cell: Any, row: IntentRow) -> Any:
        assert isinstance(task, IntentTask)
        given = json.loads(cell) if isinstance(cell, str) else cell
        return {**given, SLOTS: TAGGING.value(task.tagger, layout, given[SLOTS], row.tagged)}

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """An intent and tags a row: a decision for each, all of which are claimed together under the intent."""
        tags = tags_predictions([_tagged(line) for line in lines])
        intents, claims = list[DecisionRow](), list[DecisionRow]()
        for row, line in enumerate(lines):
            own, given = (intent_label(line[side][INTENT]) for side in ("gold", "prediction"))
            (sure, *_), (chance, *_) = (line.get(name) or (None,) for name in ("probabilities", "label_probabilities"))
            intents.append(DecisionRow(row, own, given, own == given, sure, chance))
            if line.get("probabilities"):
                lowest = min(line["probabilities"])
                claims.append(DecisionRow(row, own, given, line["gold"] == line["prediction"], lowest))
        right = np.array([line["gold"] == line["prediction"] for line in lines], bool)
        flat = Decisions.made(intents)
        return replace(
            tags, lines=lines, right=right, score=right.astype(float), decisions=flat.joined(tags.decisions),
            parts=flat.joined(tags.parts), claims=Decisions.made(claims), unit="intents and words", claimed="rows",
            says=lambda line, value: f"{value[INTENT]}: {tags.says(line, value[SLOTS])}", filler=None,
        )  # fmt: skip


def _are_slots(layout: Layout, columns: Mapping[str, Sequence[Any]], name: str) -> bool:
    """Whether a column holds character spans where the layout says so, or else a tag for each word."""
    cells, words = columns[name][:ROWS_LOOKED_AT], columns[layout.text[0]][:ROWS_LOOKED_AT]
    return span_form(cells) is not None if layout.spans else as_long(words, cells)


def _name(cell: Any) -> str:
    """The name of an intent in a cell."""
    return as_text(one_value(cell)).strip()


def _tagged(line: Line) -> Line:
    """A line as a tagger predicts it."""
    tagged = {**line, **{side: line[side][SLOTS] for side in ("gold", "prediction")}}
    chances = {name: line[name][1:] for name in ("probabilities", "label_probabilities") if line.get(name)}
    return tagged | chances
