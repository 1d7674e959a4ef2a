"""Loads the models that are served, each under its own name."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from finetune.commands.serve.served_model import ServedModel
from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.predictor import Predictor
from finetune.runs.lookup import named_run

NOT_IN_A_PATH = re.compile(r"[^\w.-]+")


def load_models(sources: Sequence[ModelSource]) -> list[ServedModel]:
    """The models, named by their task, and where that is the same, by their folder.

    Raises UserError for one that cannot be loaded, and for two of the same name.
    """
    loaded = [source.load() for source in sources]
    tasks = Counter(one.task.name for one in loaded)
    names = [one.task.name if tasks[one.task.name] == 1 else _folder_name(one) for one in loaded]
    names = [NOT_IN_A_PATH.sub("-", name) for name in names]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"two models are called '{twice[0]}'", "Serve each once")
    return [
        ServedModel(name=name, source=source, predictor=one, run=named_run(source.model, Path(source.out)))
        for name, source, one in zip(names, sources, loaded, strict=True)
    ]


def _folder_name(predictor: Predictor) -> str:
    """The name of the run's folder, or of that of an export or a checkpoint."""
    folder = predictor.folder or Path("model")
    return folder.parent.name if folder.name == "model" else folder.name
