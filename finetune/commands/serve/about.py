"""What `/about` says of a model."""

from typing import Any

from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.served_model import ServedModel


def facts_of(model: ServedModel, limits: ServeLimits) -> dict[str, Any]:
    """A model's facts as JSON values."""
    predictor = model.predictor
    return {
        "name": model.name,
        "task": predictor.task.name,
        "shape": model.kind.name,
        "columns": list(model.columns),
        "labels": list(predictor.engine.model.head.labels),
        "scores": {},
        "fingerprint": predictor.fingerprint,
        "max_length": predictor.max_length,
        "engine": "torch",
        "calibrated": predictor.temperature != 1,
        "examples": [],
        "limits": {"rows": limits.rows, "characters": limits.characters, "body_bytes": limits.body_bytes},
        "explain": False,
        "choices": False,
    }
