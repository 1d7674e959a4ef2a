"""Fine-tune BERT-family encoders: one call or command from a task to a model, its scores and every prediction."""

from typing import TYPE_CHECKING

from finetune.lazy import names_of
from finetune.version import __version__ as __version__

if TYPE_CHECKING:
    from finetune.analysis.compare import Comparison
    from finetune.analysis.data_sizes import LearningCurve
    from finetune.api.callbacks import CallbackFailed
    from finetune.api.front import FailedRun
    from finetune.api.model import Explanations, Model, load
    from finetune.api.run import Run, open_run
    from finetune.commands.check import check
    from finetune.commands.check.findings import Findings
    from finetune.commands.compare import compare
    from finetune.commands.evaluate import Evaluation, evaluate
    from finetune.commands.explain import explain
    from finetune.commands.export import Export, export
    from finetune.commands.features import Features, features
    from finetune.commands.init import init
    from finetune.commands.label_errors import label_errors
    from finetune.commands.label_next import NextRows, label_next
    from finetune.commands.ls import Leaderboard, Listing, ls
    from finetune.commands.predict import PredictedFile, predict
    from finetune.commands.push import push
    from finetune.commands.report import report
    from finetune.commands.run import run
    from finetune.commands.search import Search, search
    from finetune.commands.serve import Server, serve
    from finetune.commands.show import show
    from finetune.commands.submission import submission
    from finetune.commands.table import ResultTable, table
    from finetune.commands.tokenizer import Vocabulary, tokenizer
    from finetune.commands.view import view
    from finetune.errors import UserError
    from finetune.runs import events

__all__ = [
    "CallbackFailed",
    "Comparison",
    "Evaluation",
    "Explanations",
    "Export",
    "FailedRun",
    "Features",
    "Findings",
    "Leaderboard",
    "LearningCurve",
    "Listing",
    "Model",
    "NextRows",
    "PredictedFile",
    "ResultTable",
    "Run",
    "Search",
    "Server",
    "UserError",
    "Vocabulary",
    "check",
    "compare",
    "evaluate",
    "events",
    "explain",
    "export",
    "features",
    "init",
    "label_errors",
    "label_next",
    "load",
    "ls",
    "open_run",
    "predict",
    "push",
    "report",
    "run",
    "search",
    "serve",
    "show",
    "submission",
    "table",
    "tokenizer",
    "view",
]

__getattr__ = names_of(
    __name__,
    {  # modules with what they give, imported when a name is first used, since torch takes seconds
        "analysis.compare": "Comparison",
        "analysis.data_sizes": "LearningCurve",
        "api.callbacks": "CallbackFailed",
        "api.front": "FailedRun",
        "api.model": "Explanations Model load",
        "api.run": "Run open_run",
        "commands.check": "check",
        "commands.check.findings": "Findings",
        "commands.compare": "compare",
        "commands.evaluate": "Evaluation evaluate",
        "commands.explain": "explain",
        "commands.export": "export Export",
        "commands.features": "Features features",
        "commands.init": "init",
        "commands.label_errors": "label_errors",
        "commands.label_next": "NextRows label_next",
        "commands.ls": "Leaderboard Listing ls",
        "commands.predict": "PredictedFile predict",
        "commands.push": "push",
        "commands.report": "report",
        "commands.run": "run",
        "commands.search": "Search search",
        "commands.serve": "Server serve",
        "commands.show": "show",
        "commands.submission": "submission",
        "commands.table": "ResultTable table",
        "commands.tokenizer": "tokenizer Vocabulary",
        "commands.view": "view",
        "errors": "UserError",
        "runs.events": "events",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
