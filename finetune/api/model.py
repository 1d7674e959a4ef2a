"""Model: a trained model that predicts and explains whatever holds rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from finetune.api.calls import command, plainly
from finetune.api.quiet import quiet, quiet_for
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, free_name
from finetune.inference.explanation import ExplainedRow
from finetune.runs.events import Watcher, unwatched
from finetune.runs.folder import RECORD
from finetune.task_types import registry
from finetune.task_types.explained import Asked
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task

if TYPE_CHECKING:
    import pandas as pd

    from finetune.inference.predictor import Predictor


@dataclass(frozen=True, kw_only=True)
class Explanations:
    """What `model.explain` and `finetune.explain` return.

    Example: `model.explain("a good film").frame`

    Attributes:
        model: The name of the model.
        rows: Each row's prediction, its texts, and its explanations: words with what they add.
        notes: What to take into account, such as rows that cannot be read.
        path: The page that was written, if any.
    """

    model: str
    rows: Sequence[ExplainedRow]
    notes: Sequence[str] = ()
    path: Path | None = None

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each word: what it adds to the label's log-odds or score."""
        import pandas as pd

        words = [
            {"row": row.id, "label": explanation.label} | asdict(word)
            for row in self.rows
            for explanation in row.explanations
            for word in explanation.words
        ]
        return pd.DataFrame(words, columns=["row", "label", "word", "text_name", "start", "end", "added"])

    @plainly
    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes an HTML page and returns its path; with `force`, over a file that we did not write.

        Raises UserError if it cannot be written.
        """
        command("explain").write_explanation_page(self.rows, Path(path), model=self.model, force=force)
        return Path(path)

    def __repr__(self) -> str:
        return f"<Explanations of {self.model}: {', '.join(row.prediction for row in self.rows)}>"


@dataclass(frozen=True)
class Model:
    """A trained model with its task, as `finetune.load` and `run.model` return it.

    Example: `model("a text").value`, `model.predict(df)`

    Attributes:
        name: The name that it was loaded by: a run, a folder, or a Hub name.
        folder: The folder of its weights.
        predictor: What computes the predictions.
    """

    name: str
    folder: Path
    predictor: "Predictor"

    @property
    def task(self) -> Task:
        """The task that it was trained on."""
        return self.predictor.task

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its labels, in the order of the probabilities."""
        return tuple(getattr(self.task, "labels", ()) or self.predictor.engine.labels)

    @overload
    def __call__(self, rows: list[Any], /) -> list[Answer]: ...

    @overload
    def __call__(self, *inputs: Any, **named: Any) -> Answer: ...

    @plainly
    def __call__(self, *inputs: Any, **named: Any) -> Answer | list[Answer]:
        """The prediction for one row, or a list of them for a list of rows.

        A row is a text; a text and its pair; a question and a context; a context and a list of choices. In a list, a
        row of several inputs is a tuple, or a dictionary by their names.

        Example: `model("a text").value`, `model(["a text", "another"])`, `model(tokens=["a", "text"])`

        Args:
            *inputs: A row's inputs in their order; or one list of rows.
            **named: A row's inputs by name: `text` and `text_pair`, `question` and `context`, `context` and `choices`,
                `tokens`, or the columns of the model's training data.

        Raises:
            UserError: For the wrong number of inputs, or inputs that are not texts.
        """
        answered: Answer | list[Answer] = self.predictor(*inputs, **named)
        return answered

    @plainly
    def predict(
        self,
        data: Any,
        *,
        text: str | Sequence[str] | None = None,
        coverage: float | None = None,
        risk: float | None = None,
    ) -> Any:
        """Predictions for many rows, in batches; the columns are those that `finetune predict` writes.

        Example: `model.predict(df)[["review", "prediction"]]`, `model.predict(df, risk=0.05)`

        Args:
            data: A DataFrame, a Dataset or DatasetDict, a dictionary of columns, a list of dictionaries, or a list of
                texts or of tuples of inputs.
            text: The column or columns of the inputs, if they have other names than in training.
            coverage: The share of rows to answer, the most confident; the others are `unsure`.
            risk: The share of answers that may be wrong; it holds in 95 of 100 draws of dev rows.

        Returns:
            The same kind of object with the columns of the predictions added; for texts and tuples a list with a
            dictionary each. A column has another name if the data has one of its name; `error` says why a row has
            no prediction, and is there only if there is such a row.

        Raises:
            UserError: For data that holds no rows, or lacks the model's columns; and for what the model's dev rows
                cannot promise.
        """
        if coverage is not None or risk is not None:
            with quiet_for(self.folder):
                name = str(self.folder.parent) if self._is_run else self.name
                answering = self.predictor.answering(name, coverage=coverage, risk=risk, out=self.folder)
            return replace(self, predictor=answering).predict(data, text=text)
        if isinstance(data, Mapping) and data and all(hasattr(split, "with_format") for split in data.values()):
            kind: Any = type(data)
            return kind({name: self.predict(split, text=text) for name, split in data.items()})
        is_dataset = hasattr(data, "with_format") and hasattr(data, "add_column")
        is_table = isinstance(data, Mapping) or is_dataset or (hasattr(data, "iloc") and hasattr(data, "columns"))
        if not is_table and isinstance(data, Iterable) and not isinstance(data, str | bytes):
            data = list(data)
        cells = self.predictor.predict(data if text is None else self._renamed(data, text))
        if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
            taken = {name for row in data for name in row}
            free = [{free_name(name, taken): cell for name, cell in row.items()} for row in cells]
            return [{**row, **added} for row, added in zip(data, free, strict=True)]
        if not is_table:
            return cells
        taken = {str(name) for name in _columns_in(data)}
        names = sorted(dict.fromkeys(name for row in cells for name in row), key=lambda name: name == ERROR)
        columns = {free_name(name, taken): [row.get(name) for row in cells] for name in names}
        if isinstance(data, Mapping):
            return {**data, **columns}
        if is_dataset:
            for name, column in columns.items():
                data = data.add_column(name, column)
            return data
        import pandas as pd

        return pd.concat([data, pd.DataFrame(columns, index=data.index)], axis=1)

    @plainly
    def explain(
        self,
        *texts: str,
        row: str | None = None,
        split: str | None = None,
        rows: Any = None,
        label: str | None = None,
        word: str | None = None,
    ) -> Explanations:
        """What each word adds to a prediction, by integrated gradients; the parts add up to the logits within 5 %.

        Example: `model.explain("a good film").frame`, `model.explain(rows=df).write("why.html")`

        Args:
            *texts: A row's inputs: a text, or two; a question and a context; a context and choices.
            row: The id of a row that the model's run predicted, in place of texts.
            split: The split of `row`; default: the first dev split.
            rows: A data file, or rows in memory, of which the first 20 are explained, in place of texts.
            label: Explain this label, tag, answer or choice instead of the prediction.
            word: Explain the tag of this word, not those of entities.

        Returns:
            The rows with their words.

        Raises:
            UserError: Without the extra `explain`; for an empty or very long text, and an unknown label, word or row.
        """
        run = self.folder.parent if self._is_run else Path(self.name)
        with quiet():
            explained, notes = command("explain").explained_rows(
                self.predictor, str(run), texts, row=row, split=split, rows=rows, asked=Asked(label=label, word=word)
            )
        name = f"{run.parent.name}, run {run.name}" if self._is_run else self.name
        return Explanations(model=name, rows=explained, notes=notes)

    def transformers(self) -> tuple[Any, Any]:
        """The model and its tokenizer as objects of transformers, in the class of its task.

        Example: `model, tokenizer = run.model.transformers()`

        Raises:
            UserError: For a model that transformers has no class for, such as one with a BiLSTM.
        """
        with quiet():
            import torch
            import transformers

            from finetune.models.model_folder import has_own_head
            from finetune.models.modeling_pooled import PooledModel

            config = transformers.AutoConfig.from_pretrained(self.folder)
            kind = PooledModel if getattr(config, "auto_map", None) else None
            if not has_own_head(self.folder):
                kind = getattr(transformers, next(iter(config.architectures or []), ""), None)
            if kind is None:
                what = f"{self.folder}: transformers has no class for this model"
                raise UserError(what, "Use predict, or call the model")
            model = kind.from_pretrained(self.folder, dtype=torch.float32)
            return model.eval(), transformers.AutoTokenizer.from_pretrained(self.folder)

    def __repr__(self) -> str:
        return f"<Model of {self.task.name}: {self.name}>"

    @property
    def _is_run(self) -> bool:
        return (self.folder.parent / RECORD).is_file()

    def _renamed(self, rows: Any, text: str | Sequence[str]) -> Any:
        """The rows with the model's inputs alone, under the names of training."""
        input_names = [text] if isinstance(text, str) else list(text)
        inputs = self.predictor.python_rows.names
        wanted = next((names for names in inputs if len(names) == len(input_names)), None)
        if wanted is None:
            what = f"text= names {so_many(len(input_names), 'column')}, and the model reads {' and '.join(inputs[0])}"
            raise UserError(what, "Name one column for each of them")
        columns = {name: [row.get(name) for row in rows] for name in input_names} if isinstance(rows, list) else rows
        names = _columns_in(columns)
        if lacking := [name for name in input_names if name not in names]:
            what = f"the rows have no column '{lacking[0]}'"
            raise UserError(what, f"Their columns are {', '.join(map(str, names))}")
        return {to: list(columns[name]) for name, to in zip(input_names, wanted, strict=True)}


@plainly
def load(
    model: str | Path, *, task: str | None = None, out: str | Path = "results", device: str | None = None
) -> Model:
    """Loads a trained model.

    Example: `finetune.load("squad-v1")(question, context)`

    Args:
        model: A run's folder, a prefix of its id, or a task (its latest run); an export's folder; or any fine-tuned
            checkpoint (folder or Hub name), which needs `task`.
        task: The task of a checkpoint without a run, or a task in a file (`FILE.py:NAME`), since its code is executed.
        out: The folder of runs.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.

    Returns:
        The model.

    Raises:
        UserError: If the model or its task is not found.
    """
    return loaded(model, task=task, out=out, device=device, watch=unwatched)


def loaded(model: str | Path, *, task: str | None, out: str | Path, device: str | None, watch: Watcher) -> Model:
    """`load` with a watcher of notes, such as one on which of several runs it is."""
    with quiet_for(model):
        from finetune.inference.predictor import load_predictor

        named = None if task is None else registry.find(task)
        predictor = load_predictor(model, task=named, out=out, device=device, watch=watch)
        assert predictor.folder is not None
        return Model(str(model), predictor.folder, predictor)


def _columns_in(table: Any) -> list[Any]:
    return list(getattr(table, "column_names", getattr(table, "columns", table)))
