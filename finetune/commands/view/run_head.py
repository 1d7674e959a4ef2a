"""The head of a run: which outputs of the encoder it reads, and what it answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finetune.commands.view.parts import RunHead
from finetune.errors import UserError
from finetune.inference.predictor import Predictor, load_predictor
from finetune.runs.lookup import named_run

MOST_CHARACTERS = 80  # of an answer


def run_head(name: str, texts: Sequence[str], out: Path) -> RunHead | None:
    """The head of a run and its answer for a text or a pair; None for a model of no run."""
    run = named_run(name, out)
    record = None if run is None else run.record()
    if record is None:
        return None
    try:
        predictor = load_predictor(name, out=out)
    except UserError:  # its task is in a file that is not here
        return None
    head = predictor.torch_engine.model.head
    return RunHead(
        task=predictor.task.name,
        reads=sorted(head.inputs),
        answer=[] if head.pretrains else _answer(predictor, texts),
        began_random=not record.recipe.get("keep_labels"),  # which keeps an earlier run's head
    )


def _answer(predictor: Predictor, texts: Sequence[str]) -> list[tuple[str, str]]:
    """What is predicted, by column; nothing where these texts are no row of the task."""
    try:
        cells = predictor.predict([tuple(texts) if len(texts) > 1 else texts[0]])[0]
    except UserError:
        return []
    return [] if cells.get("error") else [(column, _shown(value)) for column, value in cells.items()]


def _shown(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
