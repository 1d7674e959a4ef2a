"""Several tasks on one encoder, each with its head, trained on the rows of all mixed (Liu et al. 2019, MT-DNN).

A file for `finetune run FILE.py:both` ends with such a list:

    TASKS = [SeveralTasks(name="both", tasks=(mrpc, rte))]
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data import Source
from finetune.errors import UserError
from finetune.metrics import Metric
from finetune.models.feature import Feature
from finetune.task_types import Answer, MultiLabelTask, Rows, SentenceTask, TaggingTask, Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import JoinedHead

Answers = Sequence[Answer]
Part = tuple[Task, list[int], list[Any]]  # a task, and its rows with their places among all
MEAN = Metric("mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A row of one task, by the task's name: `{"mrpc": row}`. Predictions and labels have that form, too."""

    id: str
    parts: Mapping[str, Any]

    @property
    def task(self) -> str:
        """The name of the task; of a row that was saved, the others have None."""
        return next(name for name, row in self.parts.items() if row is not None)

    @property
    def gold(self) -> Any:
        """The label."""
        return self.parts[self.task].gold


@dataclass(frozen=True, kw_only=True)
class SeveralTasks(Task):
    """Tasks on texts (a class, a number, several labels) or on words (tags), which share an encoder.

    An update has rows of all tasks, as many of each as it has; its loss is the sum of each task's mean over its own
    rows. Metrics are the tasks' own, as `mrpc/accuracy`, after the `mean` of their headlines, which chooses the
    epoch. `dev` is the first dev split of each. Options of a task are set where it is made; none is tuned on dev.
    """

    tasks: tuple[Task, ...]
    metrics: tuple[Metric, ...] = ()
    row_type = PartRow
    pooled = False

    def __post_init__(self) -> None:
        """Raises UserError for two tasks of one name, and for a task whose logits are not of a text or of words."""
        if len({task.name for task in self.tasks}) < len(self.tasks):
            raise UserError(f"{self.name}: two of its tasks have one name", "Rename one: replace(task, name=...)")
        for task in self.tasks:
            if not _outputs(task) or not (task.pooled or _reads_words(task)):
                what = f"{self.name}: {task.name} predicts no class, number or labels of a text, nor tags of words"
                raise UserError(what, "Train it by itself")
        of_tasks = (
            replace(m, name=f"{task.name}/{m.name}", score=None, sums=None) for task in self.tasks for m in task.metrics
        )
        object.__setattr__(self, "metrics", (MEAN, *of_tasks))
        super().__post_init__()

    @cached_property
    def has_words(self) -> bool:
        """Whether a task is on words, so that logits are of positions."""
        return any(map(_reads_words, self.tasks))

    def load(self, source: Source, split: str) -> Rows:
        """The rows of that split of each task, one task after another."""
        named = [{"train": task.train_split, "dev": task.dev_splits[0]}.get(split, split) for task in self.tasks]
        parts = [
            (task.name, task.load(source, source_part)) for task, source_part in zip(self.tasks, named, strict=True)
        ]
        return Rows(
            rows=[PartRow(id=f"{name}: {row.id}", parts={name: row}) for name, part in parts for row in part.rows],
            origin=" and ".join(part.origin for _, part in parts),
            notes=tuple(f"{name}: {note}" for name, part in parts for note in part.notes),
            drawn=any(part.drawn for _, part in parts),
        )

    def row(self, task: str, text: Any, pair: str | None = None) -> PartRow:
        """A row of the task of that name, made from the inputs that its own rows have."""
        inputs = (text,) if pair is None else (text, pair)
        return PartRow(id="", parts={task: self._named(task).row(*inputs)})

    def fit(self, train: Sequence[PartRow]) -> "SeveralTasks":
        """With each task as its own rows leave it."""
        fitted = {task.name: task.fit(rows) for task, _, rows in self._parts(train)}
        return replace(self, tasks=tuple(fitted.get(task.name, task) for task in self.tasks))

    def head(self, backbone: "Backbone") -> "JoinedHead":
        """The heads of the tasks."""
        from finetune.models.head import JoinedHead

        return JoinedHead(backbone, {task.name: task.head for task in self.tasks})

    def encode(self, rows: Sequence[PartRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """The features of each task, with its label under its name."""
        features = []
        for task, places, task_rows in self._parts(rows):
            for feature in task.encode(task_rows, tokenizer, max_length):
                label = None if feature.label is None else {task.name: feature.label}
                reads = [0] if self.has_words and not _reads_words(task) else feature.reads
                features.append(replace(feature, row=places[feature.row], label=label, reads=reads))
        return sorted(features, key=lambda feature: feature.row)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[PartRow]
    ) -> list[Answer]:
        ends = list(accumulate(map(_outputs, self.tasks)))
        columns = {task.name: slice(end - _outputs(task), end) for task, end in zip(self.tasks, ends, strict=True)}

        def answers(task: Task, places: list[int], task_rows: list[Any]) -> Answers:
            number, chosen = {place: n for n, place in enumerate(places)}, columns[task.name]
            pairs = [(scores, f) for scores, f in zip(logits, features, strict=True) if f.row in number]
            of_text = self.has_words and not _reads_words(task)
            parts = [(scores[0] if of_text else scores)[..., chosen] for scores, _ in pairs]
            return task.decode(parts, [replace(f, row=number[f.row]) for _, f in pairs], task_rows)

        return self._joined(rows, answers)

    def labels_of(self, rows: Sequence[PartRow]) -> list[Answer]:
        return self._joined(rows, lambda task, _, task_rows: task.labels_of(task_rows))

    def score(self, answers: Answers, rows: Sequence[PartRow]) -> dict[str, float]:
        """The metrics of each task on its own rows, and the mean of the first of each."""
        scores, first = dict[str, float](), list[float]()
        for task, places, task_rows in self._parts(rows):
            scores_of_task = task.score([_own_answer(answers[place], task.name) for place in places], task_rows)
            scores |= {f"{task.name}/{name}": value for name, value in scores_of_task.items()}
            first.append(task.metrics[0].towards_better(scores_of_task[task.metrics[0].name]))
        return {MEAN.name: float(np.mean(first)), **scores}

    def cells(self, answer: Answer, row: PartRow) -> dict[str, Any]:
        return self._named(row.task).cells(_own_answer(answer, row.task), self._own(row))

    def fits(self, value: Any, row: PartRow) -> bool:
        whole = isinstance(value, Mapping) and row.task in value
        return whole and self._named(row.task).fits(value[row.task], self._own(row))

    def new_tokens(self, rows: Iterable[PartRow]) -> Sequence[str]:
        return [token for task, _, task_rows in self._parts(list(rows)) for token in task.new_tokens(task_rows)]

    def _named(self, name: str) -> Task:
        tasks = {task.name: task for task in self.tasks}
        if name not in tasks:
            raise UserError(f"{self.name} has no task '{name}'", f"It has {', '.join(tasks)}")
        return tasks[name]

    def _own(self, row: PartRow) -> Any:
        """The row of its task, also where it was read from saved predictions."""
        kind, part = self._named(row.task).row_type, row.parts[row.task]
        return (
            kind(**{name: _tuples(cell) for name, cell in part.items()}) if kind and isinstance(part, Mapping) else part
        )

    def _parts(self, rows: Sequence[PartRow]) -> Iterator[Part]:
        """The tasks that have some of these rows, with them."""
        for task in self.tasks:
            places = [place for place, row in enumerate(rows) if row.task == task.name]
            if places:
                yield task, places, [self._own(rows[place]) for place in places]

    def _joined(
        self, rows: Sequence[PartRow], answers: Callable[[Task, list[int], list[Any]], Answers]
    ) -> list[Answer]:
        """What each task answers for its own rows, by its name, in the order of all."""
        answers_by_row = dict[int, Answer]()
        for task, places, task_rows in self._parts(rows):
            for place, answer in zip(places, answers(task, places, task_rows), strict=True):
                answers_by_row[place] = Answer(value={task.name: answer.value}, probabilities=answer.probabilities)
        return [answers_by_row[place] for place in range(len(rows))]


def _outputs(task: Task) -> int:
    """How many logits a task has for a text or a word; 0 for one whose logits are of something else."""
    return max(1, len(task.labels)) if isinstance(task, SentenceTask | MultiLabelTask | TaggingTask) else 0


def _reads_words(task: Task) -> bool:
    return isinstance(task, TaggingTask)


def _own_answer(answer: Answer, name: str) -> Answer:
    return replace(answer, value=answer.value[name])


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
