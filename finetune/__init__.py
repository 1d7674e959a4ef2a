"""Fine-tune BERT-family encoders: one call or command from a task to a model, its scores and every prediction."""

from typing import TYPE_CHECKING

from finetune.lazy import names_of
from finetune.version import __version__ as __version__

if TYPE_CHECKING:
    from finetune.analysis.compare import Comparison
    from finetune.analysis.data_sizes import LearningCurve
    from finetune.api.callbacks import CallbackFailed
    from finetune.api.evaluation import Evaluation
    from finetune.api.explanation import Explanations
    from finetune.api.model import Model, load
    from finetune.api.run import Run, open_run
    from finetune.commands.check.api import Findings, check
    from finetune.commands.compare import compare
    from finetune.commands.evaluate import evaluate
    from finetune.commands.export import Export, export
    from finetune.commands.features.api import Features, features
    from finetune.commands.label_errors.api import label_errors
    from finetune.commands.label_next.api import NextRows, label_next
    from finetune.commands.ls import Leaderboard, Listing, ls
    from finetune.commands.push import push
    from finetune.commands.report import report
    from finetune.commands.run.api import FailedRun, train
    from finetune.commands.search.api import search
    from finetune.commands.search.result import Search
    from finetune.commands.submission.api import submission
    from finetune.commands.table import ResultTable, table
    from finetune.commands.tokenizer.api import Vocabulary, tokenizer
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
    "ResultTable",
    "Run",
    "Search",
    "UserError",
    "Vocabulary",
    "check",
    "compare",
    "evaluate",
    "events",
    "export",
    "features",
    "label_errors",
    "label_next",
    "load",
    "ls",
    "open_run",
    "push",
    "report",
    "search",
    "submission",
    "table",
    "tokenizer",
    "train",
    "view",
]

__getattr__ = names_of(
    __name__,
    {  # modules with what they give, imported when a name is first used, since torch takes seconds
        "analysis.compare": "Comparison",
        "analysis.data_sizes": "LearningCurve",
        "api.callbacks": "CallbackFailed",
        "api.evaluation": "Evaluation",
        "api.explanation": "Explanations",
        "api.model": "Model load",
        "api.run": "Run open_run",
        "commands.check.api": "check Findings",
        "commands.compare": "compare",
        "commands.evaluate": "evaluate",
        "commands.export": "export Export",
        "commands.features.api": "Features features",
        "commands.label_errors.api": "label_errors",
        "commands.label_next.api": "NextRows label_next",
        "commands.ls": "Leaderboard Listing ls",
        "commands.push": "push",
        "commands.report": "report",
        "commands.run.api": "FailedRun train",
        "commands.search.api": "search",
        "commands.search.result": "Search",
        "commands.submission.api": "submission",
        "commands.table": "ResultTable table",
        "commands.tokenizer.api": "tokenizer Vocabulary",
        "commands.view": "view",
        "errors": "UserError",
        "runs.events": "events",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
