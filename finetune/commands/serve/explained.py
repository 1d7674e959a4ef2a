"""What each word of a row adds to its prediction, by the code of `finetune explain`."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_model import ServedModel
from finetune.errors import UserError
from finetune.task_types.explained import Asked


def is_explained(model: ServedModel) -> bool:
    """Whether the model's predictions can be explained here: captum is installed, torch computes them."""
    return find_spec("captum") is not None and model.engine == "torch" and not model.pretrains


def require_explained(model: ServedModel) -> None:
    """Raises Refused where they cannot."""
    if find_spec("captum") is None:
        raise Refused(
            501, "an explanation needs captum, which is not installed", "pip install 'bert-finetune[explain]'"
        )
    if not is_explained(model):
        raise Refused(501, f"the predictions of {model.name} cannot be explained", "Serve its run: finetune serve RUN")


def explain(model: ServedModel, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The explanation of each row, as `finetune explain --json` prints it. Raises Refused for what is not a row."""
    from finetune.inference.explain.explain import explain_row

    try:
        return [explain_row(model.predictor, _row(model, given), Asked()).facts() for given in rows]
    except UserError as error:
        raise Refused(400, error.what, error.way_out) from error


def _row(model: ServedModel, given: Any) -> Any:
    """The row. Raises Refused for what is none, with a row that can be sent."""
    try:
        return model.predictor.row(tuple(given) if isinstance(given, list) else given)
    except UserError as error:
        way_out = "Send one such as " + json.dumps({"row": model.example()}, ensure_ascii=False)
        raise Refused(400, error.what, way_out) from error
