"""Task: the contract of everything that can be trained, a declaration with parts that do the work."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from finetune.data.rows import Row, Rows
from finetune.errors import UserError
from finetune.metrics.metric import Metric, find_metric
from finetune.runs.record_parts import OLD_DEV
from finetune.task_types.declared_options import declared_names
from finetune.task_types.parts import Baselines, Codec, Explainer, Scoring, Stream, Teaching

if TYPE_CHECKING:
    from finetune.data.source import Source
    from finetune.models.backbone import Backbone
    from finetune.models.head import Head


TEST = "test"  # the split that chooses nothing


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A task: its data, its head, and its parts.

    A custom task is an instance of one of the task types in `finetune.task_types`, or a subclass of this with `load`,
    `head`, and the classes of its parts, of which a codec and scoring are needed. `name` is its name on the command
    line, `version` is raised whenever its results may change. `metrics` are the scores, the first is the headline
    (`label/metric` are shown by label); `dev_splits` are what a run is scored on, the first decides; `test` among them
    is predicted once, with the weights that were selected. A recipe may set the fields of the task and of its reader
    that are declared with `option`. `row_type` is the dataclass of its rows, which saved predictions are parsed to.
    With `cross_fits` each row of dev is scored with what `scoring.calibrate` chose on other rows of dev. With
    `missing_is_wrong` a row without a prediction in a scored file counts 0. `inputs` are the names of its texts where a
    row may have one or two, such as sentence1 and sentence2; `with_training_statistics` fills them in where the task
    declares none.
    """

    name: str
    version: int = 1
    metrics: tuple[Metric, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    inputs: tuple[str, ...] = ()
    row_type: ClassVar[type | None] = None
    cross_fits: ClassVar[bool] = False
    missing_is_wrong: ClassVar[bool] = False
    codec_class: ClassVar[type[Codec[Any]]]
    scoring_class: ClassVar[type[Scoring[Any]]]
    baselines_class: ClassVar[type[Baselines[Any]]] = Baselines
    explainer_class: ClassVar[type[Explainer[Any]]] = Explainer
    stream_class: ClassVar[type[Stream[Any]]] = Stream
    teaching_class: ClassVar[type[Teaching[Any]]] = Teaching

    def __post_init__(self) -> None:
        """Raises UserError for a metric that is not a `Metric`, and for an option that the reader declares too."""
        if wrong := [given for given in self.metrics if not isinstance(given, Metric)]:
            raise UserError(f"the task {self.name} has the metric {wrong[0]!r}", "Give objects such as `accuracy`")
        if twice := {*declared_names(self)} & {*declared_names(self.reader)}:
            raise UserError(f"the reader of {self.name} has the option '{min(twice)}' of its task", "Rename it")

    @abstractmethod
    def load(self, source: "Source", split: str) -> Rows:
        """The rows of a split. Raises UserError where they are not found or malformed."""

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, without initialised weights."""

    @property
    def codec(self) -> Codec[Any]:
        """Rows to features, logits to predictions."""
        return self.codec_class(self)

    @property
    def scoring(self) -> Scoring[Any]:
        """Predictions to scores."""
        return self.scoring_class(self)

    @property
    def baselines(self) -> Baselines[Any]:
        """Predictions without an encoder."""
        return self.baselines_class(self)

    @property
    def explainer(self) -> Explainer[Any]:
        """Predictions to the logits that they were made from."""
        return self.explainer_class(self)

    @property
    def stream(self) -> Stream[Any]:
        """What is drawn for each update."""
        return self.stream_class(self)

    @property
    def teaching(self) -> Teaching[Any]:
        """A teacher's logits, for a student."""
        return self.teaching_class(self)

    def with_training_statistics(self, train: Sequence[Row]) -> "Task":
        """The task configured from its training rows, such as with class weights."""
        return self

    def row(self, *inputs: Any) -> Row:
        """A row without a label, made from the arguments of `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} cannot make a row from inputs", "Give it a method `row`")

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
        return ""

    def checked(self, loaded: Rows) -> Rows:
        """The rows unchanged. Raises UserError that names the first one with a fault."""
        for row in loaded.rows:
            if fault := self.fault(row):
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Fix that row")
        return loaded

    def fits(self, value: Any, row: Row) -> bool:
        """Whether a value is a valid prediction for a row."""
        return True

    @property
    def pooled(self) -> bool:
        """Whether its head can read the vector of a text that `pooling = auto` chooses."""
        return True

    @property
    def splits_in_training(self) -> tuple[str, ...]:
        """Those of `dev_splits` that are scored after each epoch."""
        return tuple(split for split in self.dev_splits if split not in (TEST, OLD_DEV))

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels as its data names them; empty where the label is a number, a span or a choice."""
        return tuple(getattr(self, "labels", ()))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first."""
        return tuple(metric.name for metric in self.metrics)

    def metric(self, name: str) -> Metric:
        """The metric of a score, whose name may begin with a group."""
        return find_metric(name, self.metrics)

    @property
    def reader(self) -> Any:
        """The reader of the rows, if the task has such a field, `read`."""
        return getattr(self, "read", None)

    @property
    def options(self) -> tuple[str, ...]:
        """What a recipe may set: the declared options that the task uses, and those of its reader."""
        own = (name for name in declared_names(self) if name not in self.unused_options())
        return (*own, *declared_names(self.reader))

    def unused_options(self) -> tuple[str, ...]:
        """Declared options that this task does not use, such as class weights in regression."""
        return ()
