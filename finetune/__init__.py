"""Fine-tune BERT-family encoders: one call or command from a task to a model, its scores and every prediction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finetune.api.callbacks import CallbackFailed
    from finetune.api.comparison import Comparison, compare
    from finetune.api.evaluate import evaluate
    from finetune.api.evaluation import Evaluation
    from finetune.api.explanation import Explanations
    from finetune.api.features import Features, features
    from finetune.api.findings import Findings, check
    from finetune.api.label_errors import label_errors
    from finetune.api.learning_curve import LearningCurve
    from finetune.api.listing import Listing, ls
    from finetune.api.model import Model, load
    from finetune.api.report import report
    from finetune.api.run import Run, open_run
    from finetune.api.score import score
    from finetune.api.search import search
    from finetune.api.search_result import Search
    from finetune.api.submission import submission
    from finetune.api.table import ResultTable, table
    from finetune.api.tokenizer import tokenizer
    from finetune.api.train import FailedRun, train
    from finetune.api.view import view
    from finetune.api.vocabulary import Vocabulary
    from finetune.errors import UserError
    from finetune.runs import events

__version__ = "0.1.0"
__all__ = [
    "CallbackFailed",
    "Comparison",
    "Evaluation",
    "Explanations",
    "FailedRun",
    "Features",
    "Findings",
    "LearningCurve",
    "Listing",
    "Model",
    "ResultTable",
    "Run",
    "Search",
    "UserError",
    "Vocabulary",
    "check",
    "compare",
    "evaluate",
    "events",
    "features",
    "label_errors",
    "load",
    "ls",
    "open_run",
    "report",
    "score",
    "search",
    "submission",
    "table",
    "tokenizer",
    "train",
    "view",
]

_HOMES = {  # modules with what they give, imported when a name is first used, since torch takes seconds
    "api.callbacks": ("CallbackFailed",),
    "api.comparison": ("Comparison", "compare"),
    "api.evaluate": ("evaluate",),
    "api.evaluation": ("Evaluation",),
    "api.explanation": ("Explanations",),
    "api.features": ("Features", "features"),
    "api.findings": ("Findings", "check"),
    "api.label_errors": ("label_errors",),
    "api.learning_curve": ("LearningCurve",),
    "api.listing": ("Listing", "ls"),
    "api.model": ("Model", "load"),
    "api.report": ("report",),
    "api.run": ("Run", "open_run"),
    "api.score": ("score",),
    "api.search": ("search",),
    "api.search_result": ("Search",),
    "api.submission": ("submission",),
    "api.table": ("ResultTable", "table"),
    "api.tokenizer": ("tokenizer",),
    "api.train": ("FailedRun", "train"),
    "api.view": ("view",),
    "api.vocabulary": ("Vocabulary",),
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
