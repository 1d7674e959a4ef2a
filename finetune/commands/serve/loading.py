"""Loads the models that are served, each under its own name."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from finetune.commands.serve.served_model import PATHS, ServedModel
from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.predict_plan import known_type
from finetune.inference.predictor import Predictor
from finetune.runs.events import Watcher, unwatched
from finetune.runs.lookup import named_run

OF_A_FILE = re.compile(r"(\.[a-z][a-z0-9]*)+$")  # the end of a data file's name
NOT_IN_A_PATH = re.compile(r"[^\w.-]+")


def load_models(sources: Sequence[ModelSource], *, watch: Watcher) -> list[ServedModel]:
    """The models, named by their task, and where several have the same, by their folder; one that would be called as
    a path of the server, such as `predict`, is `predict-model`.

    Raises UserError for one that cannot be loaded, and for two of the same name.
    """
    loaded = [load_one(source, "", watch=watch) for source in sources]
    tasks = Counter(_task_name(one.predictor) for one in loaded)
    names = [name if tasks[name := _task_name(one.predictor)] == 1 else _folder_name(one.predictor) for one in loaded]
    names = list(map(served_name, names))
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"two models are called '{twice[0]}'", "Serve each once, or rename the folder of one")
    return [replace(one, name=name) for name, one in zip(names, loaded, strict=True)]


def load_one(source: ModelSource, name: str, *, watch: Watcher = unwatched) -> ServedModel:
    """A model under that name. Raises UserError where it cannot be loaded, or its rows are of no known type."""
    out = Path(source.out)
    found = source.load(watch=watch)
    unseen = replace(found.engine, watch=unwatched)  # type: ignore[type-var]  # progress is of loading alone
    predictor = replace(found, engine=unseen)
    known_type(predictor.task)
    of_export = () if predictor.exported is None else (str(Path(source.model).parent), predictor.exported.source.run)
    run = None
    with suppress(UserError):  # of an export whose run is elsewhere
        run = next(filter(None, (named_run(name, out) for name in (source.model, *of_export))), None)
    return ServedModel(name=name, source=source, predictor=predictor, run=run)


def served_name(name: str) -> str:
    """The name of a model, or with an addition where it would be called as a path of the server."""
    return f"{name}-model" if f"/{name}" in PATHS else name


def _task_name(predictor: Predictor) -> str:
    """The task's name as a part of a path: `reviews` of reviews.csv."""
    return _in_a_path(OF_A_FILE.sub("", predictor.task.name))


def _folder_name(predictor: Predictor) -> str:
    """The name of the run's folder, or of that of an export or a checkpoint."""
    folder = predictor.folder or Path("model")
    return _in_a_path(folder.resolve().parent.name if folder.name == "model" else folder.resolve().name)


def _in_a_path(name: str) -> str:
    return NOT_IN_A_PATH.sub("-", name).strip("-") or "model"
