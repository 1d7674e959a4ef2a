"""The names of trackers, and whether their packages are installed. Needs no torch."""

from collections.abc import Sequence
from importlib.util import find_spec

from finetune.errors import UserError, nearest

MODULES = {  # of Accelerate's trackers: what must be installed
    "tensorboard": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "trackio": "trackio",
    "aim": "aim",
    "clearml": "clearml",
    "comet_ml": "comet_ml",
    "dvclive": "dvclive",
    "swanlab": "swanlab",
}
PACKAGES = {"comet_ml": "comet-ml"}  # whose names differ from their modules'


def tracker_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """The names in `tensorboard,mlflow` or in a list, each once.

    Raises UserError for an unknown one, and for one whose package is not installed.
    """
    parts = given.split(",") if isinstance(given, str) else given
    names = tuple(dict.fromkeys(name for part in parts if (name := str(part).strip())))
    for name in names:
        _require(name)
    return names


def _require(name: str) -> None:
    if name not in MODULES:
        if name in _registered():
            return
        known = list(MODULES)
        raise UserError(f"there is no tracker '{name}'", f"{nearest(name, known)}Give {', '.join(known)}")
    if find_spec(MODULES[name]) is None:
        package = PACKAGES.get(name, name)
        raise UserError(f"the tracker '{name}' needs a package that is not installed", f"pip install {package}")


def _registered() -> list[str]:
    """The names of all trackers of Accelerate, those that a program has registered among them."""
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    return list(LOGGER_TYPE_TO_CLASS)
