"""The served model: the one thread that computes with it, and what `/about` says of it."""

import math
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from finetune.api.model import Model
from finetune.inference.answer_rows import WINDOW
from finetune.inference.predict_plan import known_type
from finetune.metrics.metric import plain_metrics
from finetune.runs.events import unwatched
from finetune.runs.folder import RunFolder
from finetune.task_types.columns import Layout

DATA_SUFFIXES = re.compile(r"(\.[a-z][a-z0-9]*)+$")
SECONDS_TO_GATHER = 0.002  # in which none came: then no more are expected


@dataclass(frozen=True, kw_only=True, eq=False)
class WaitingRows:
    """Rows of a request, about how many tokens they have, and their answers."""

    rows: Sequence[Any]
    tokens: int
    future: "Future[list[Any]]" = field(default_factory=Future)


class Worker:
    """Computes rows in the order of arrival, several requests at once, up to about `tokens`.

    It waits for no more requests than there are, except for as many as were computed together just before: clients that
    were answered send their next ones, and without a wait they would be split into one and all others for ever.
    """

    def __init__(self, compute: Callable[[Sequence[Any]], list[Any]], tokens: int) -> None:
        self.compute, self.tokens = compute, tokens
        self._queue = SimpleQueue[WaitingRows | None]()
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    def submit(self, rows: Sequence[Any], tokens: int) -> "Future[list[Any]]":
        """The answers for the rows; cancel it where nobody waits for them any more."""
        waiting = WaitingRows(rows=rows, tokens=tokens)
        self._queue.put(waiting)
        return waiting.future

    def close(self, seconds: float) -> None:
        """Ends the thread after the rows that wait, for which it waits so many seconds."""
        self._queue.put(None)
        self._queue.put(None)  # the first may be taken while rows are gathered
        self._thread.join(seconds)

    def _work(self) -> None:
        expected = 1
        while first := self._queue.get():
            together, room = [first], self.tokens - first.tokens
            with suppress(Empty):
                while room > 0 and (waiting := self._queue.get(len(together) < expected, SECONDS_TO_GATHER)):
                    together.append(waiting)
                    room -= waiting.tokens
            expected = len(together)
            if asked := [waiting for waiting in together if waiting.future.set_running_or_notify_cancel()]:
                self._answer(asked)
            del first, together, asked  # else the last rows stay in memory

    def _answer(self, together: Sequence[WaitingRows]) -> None:
        """Answers requests together; where that fails, each alone, so that a bad one spoils no other."""
        try:
            answers = iter(self.compute([row for waiting in together for row in waiting.rows]))
            for waiting in together:
                waiting.future.set_result(list(islice(answers, len(waiting.rows))))
        except Exception as error:
            if len(together) == 1:
                together[0].future.set_exception(error)
            else:
                for waiting in together:
                    self._answer([waiting])


def served_predictor(model: Model) -> Callable[[Sequence[Any]], list[dict[str, Any]]]:
    """What computes for each row the cells of `finetune predict` or its `error`, and shows no progress."""
    silent = replace(model.predictor, engine=replace(model.predictor.engine, watch=unwatched))
    return lambda rows: list(silent.cells_of(rows, first=WINDOW))


def about_model(model: Model) -> dict[str, Any]:
    """What it reads and predicts, and the scores of its run on dev, with the 95 % interval of the headline; `lists` are
    columns of which a row has a list of texts.

    Raises UserError for rows of no known type.
    """
    predictor, kind, run = model.predictor, known_type(model.task), RunFolder(model.folder.parent)
    names = predictor.python_rows.names[0]
    layout = predictor.layout or Layout(shape=kind.name, text=names)
    lists = [names[-1]] if kind.list_last and len(names) == 2 else []  # a context and its choices
    example: dict[str, Any] = {name: f"text {number}" for number, name in enumerate(names, start=1)}
    example |= {name: ["text 2", "text 3"] for name in lists} | {name: [0, 1] for name in layout.marked}
    record = run.record() if predictor.exported is None and run.record_file.is_file() else None
    scores = record.scores[record.first_split] if record else {}
    margin = record.margins.get(record.first_split) if record else None
    return {
        "name": DATA_SUFFIXES.sub("", model.task.name),
        "task": model.task.name,
        "shape": kind.name,
        "columns": [*example],
        "lists": lists,
        "example": example,
        "labels": list(predictor.engine.labels),
        "scores": {name: None if math.isnan(scores[name]) else scores[name] for name in plain_metrics(scores)},
        "interval": margin and margin.interval,
        "fingerprint": predictor.fingerprint,
        "max_length": predictor.max_length,
        "engine": "torch" if predictor.exported is None else predictor.exported.engine,
    }
