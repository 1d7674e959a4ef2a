"""`finetune.check`: what is wrong with data, before anything is trained."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.quiet import plainly, without_hints
from finetune.checks.finding import FileFinding
from finetune.commands.check.corpus import CorpusFacts, corpus_facts
from finetune.commands.check.fix import require_place_for_copy, write_fixed
from finetune.commands.check.run_checks import CheckReport, check_data
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.models.encoder_sizes import size_of
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.fast import load_fast_tokenizer
from finetune.models.tokenizers.load import TextTokenizer
from finetune.models.tokenizers.own_vocabulary import trained_size
from finetune.runs.recipe import Recipe
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.own import is_text, own_text
from finetune.training.first_runs import with_run
from finetune.training.targets import expand_targets

if TYPE_CHECKING:
    import pandas as pd

ROWS_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Findings(CheckReport):
    """What `finetune.check` returns.

    Example: `findings.counts["error"]`, `findings.frame`

    Attributes:
        layout: What each column was taken for, and why.
        parts: The splits, with their tables; of unlabelled text none.
        findings: What was found, the most severe first; each has `severity`, `code`, `what`, `remedy`, `rows`, `count`.
        corpus: Of unlabelled text, what it holds: documents, lines, bytes, tokens; else None.
    """

    corpus: CorpusFacts | None = None

    def as_json(self) -> dict[str, Any]:
        """The findings as JSON values; of a text also what it holds."""
        if self.corpus is None:
            return super().as_json()
        return {"corpus": asdict(self.corpus), "layout": asdict(self.layout)} | self.counted_findings()

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each finding."""
        import pandas as pd

        names = ("severity", "code", "what", "count", "rows", "remedy", "file")
        return pd.DataFrame([{name: getattr(one, name) for name in names} for one in self.findings], columns=names)

    @plainly
    def fix(self, file: str | Path, *, escape_formulas: bool = False, force: bool = False) -> dict[str, int]:
        """Writes a copy of the training data in which what can be fixed is fixed.

        Example: `findings.fix("fixed.csv")`

        Args:
            file: The file to write.
            escape_formulas: Add an apostrophe to cells that a spreadsheet would run as formulas.
            force: Replace a file that we did not write.

        Returns:
            The number of fixes of each kind.

        Raises:
            UserError: If the file is one of the user's, or its format cannot hold the columns.
        """
        if not self.parts:
            raise UserError("unlabelled text has no cells to fix", "Leave the fixed copy out")
        require_place_for_copy(Path(file), str(self.parts[0].table.path), force=force)
        return write_fixed(self.parts[0], Path(file), escape=escape_formulas)

    def __repr__(self) -> str:
        rows = sum(len(part.table) for part in self.parts)
        among = so_many(rows) if self.corpus is None else so_many(self.corpus.documents, "document")
        return f"<Findings in {among}: {self.counted}>"


@plainly
def check(
    data: Any, *, text: str | Sequence[str] | None = None, label: str | Sequence[str] | None = None, **settings: Any
) -> Findings:
    """Checks data as `finetune check` does.

    Example: `finetune.check(df, text="review", label="stars")`

    Args:
        data: The path of a file or folder, or rows in memory as for `finetune.train`.
        text: The column of the text, or the columns of several.
        label: The column of the label, or for several labels a row their columns.
        **settings: Settings of a run, such as `model` or `max_length`, by which texts that are too long are found.

    Returns:
        The findings; `findings.fails()` says whether one is an error.

    Raises:
        UserError: For data that cannot be read, and columns that it does not have.
    """
    given, out = recipe_settings(settings, text=text, label=label), Path("results")
    if is_path(data):
        return findings_of(str(data), given, out)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = stack.enter_context(in_memory(data, folder))
        found = findings_of(str(path), given, out)
        return replace(found, findings=tuple(_without(path, one) for one in found.findings))


def findings_of(path: str, settings: dict[str, Any], out: Path) -> Findings:
    """`check` of a file or folder, with settings that have dotted keys; `out` has the runs that a model may name."""
    options = {key.removeprefix("options."): value for key, value in settings.items()}
    with without_hints():
        if is_text(path, options):
            return findings_of_text(path, with_run(settings, out))
        found = check_data(path, with_run(settings, out))
    return Findings(layout=found.layout, parts=found.parts, findings=found.findings)


def findings_of_text(path: str, settings: Mapping[str, Any]) -> Findings:
    """What a text holds. Raises UserError for what is wrong with it, as a run with these settings does."""
    (planned, *_) = expand_targets([path], dict(settings))
    read = own_text(planned.task)
    assert read is not None
    planned.task.stream.require_batch(planned.recipe.train.batch_size)
    load_splits(planned.task, source_of(None), limit=planned.recipe.limit)
    corpus = corpus_facts(read.documents, _tokenizer(planned.recipe))
    return Findings(layout=read.layout, parts=(), findings=(), corpus=corpus)


def _tokenizer(recipe: Recipe) -> TextTokenizer | None:
    """The tokenizer of a recipe's model; None for a new encoder, whose vocabulary the run trains first."""
    if trained_size(recipe):
        size_of(recipe.model)
        return None
    found: TextTokenizer = load_fast_tokenizer(resolve(recipe.model, tokenizer=recipe.tokenizer_folder).folder)
    return found


def _without(path: Path, finding: FileFinding) -> FileFinding:
    """A finding that speaks of the data, not of a file that is deleted."""
    return replace(finding, what=finding.what.replace(str(path), "the data"), file="the data")
