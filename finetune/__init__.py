"""Fine-tune BERT-family encoders: one call or command from a task to a model, its scores and every prediction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finetune.api.callbacks import CallbackFailed
    from finetune.api.comparison import Comparison, compare
    from finetune.api.evaluation import evaluate
    from finetune.api.findings import Findings, check
    from finetune.api.model import Model, load
    from finetune.api.report import report
    from finetune.api.run import Run, open_run
    from finetune.api.score import Evaluation, score
    from finetune.api.search import search
    from finetune.api.search_result import Search
    from finetune.api.table import ResultTable, table
    from finetune.api.train import FailedRun, train
    from finetune.errors import UserError
    from finetune.runs import events

__version__ = "0.1.0"
__all__ = [
    "CallbackFailed",
    "Comparison",
    "Evaluation",
    "FailedRun",
    "Findings",
    "Model",
    "ResultTable",
    "Run",
    "Search",
    "UserError",
    "check",
    "compare",
    "evaluate",
    "events",
    "load",
    "open_run",
    "report",
    "score",
    "search",
    "table",
    "train",
]

_HOMES = {  # modules with what they give, imported when a name is first used, since torch takes seconds
    "api.callbacks": ("CallbackFailed",),
    "api.comparison": ("Comparison", "compare"),
    "api.evaluation": ("evaluate",),
    "api.findings": ("Findings", "check"),
    "api.model": ("Model", "load"),
    "api.report": ("report",),
    "api.run": ("Run", "open_run"),
    "api.score": ("Evaluation", "score"),
    "api.search": ("search",),
    "api.search_result": ("Search",),
    "api.table": ("ResultTable", "table"),
    "api.train": ("FailedRun", "train"),
    "errors": ("UserError",),
    "runs": ("events",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'finetune' has no attribute '{name}'")
    if name == "events":
        return import_module("finetune.runs.events")
    value = getattr(import_module(f"finetune.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
