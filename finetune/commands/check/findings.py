"""All checks of a file or folder of data, of its tokens too; of unlabelled text its size."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.planning import loading
from finetune.api.quiet import without_hints
from finetune.checks.all_checks import findings, parts_of, worst_first
from finetune.checks.split_data import FileFinding, SplitFile
from finetune.checks.tokens import NO_TOKENS, REFUSED, token_findings
from finetune.commands.check.fix import require_place_for_copy, write_fixed
from finetune.data.issues import SEVERITIES, Finding
from finetune.data.messages import so_many
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer
from finetune.runs.events import Forecast
from finetune.task_types.columns import Layout, own_data
from finetune.task_types.parts import batch_maker
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.own import own_text
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import with_run
from finetune.training.targets import expand_targets

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("severity", "code", "what", "count", "rows", "remedy", "file")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What `finetune.check` returns for data.

    Example: `findings.counts["error"]`, `findings.frame`

    Attributes:
        layout: What each column was taken for, and why.
        parts: The splits, with their tables; of unlabelled text none.
        findings: What was found, the most severe first; each has `severity`, `code`, `what`, `remedy`, `rows`, `count`.
        corpus: Of unlabelled text, how many `documents`, `lines` and bytes (`size`) it has; else None.
        target: The file or folder.
        settings: The settings that it was read with.
        copy: The fixed copy, if one was asked for, and `fixes`, the number of fixes of each kind.
        planned: The run on this data, and its `device`.
    """

    layout: Layout
    parts: tuple[SplitFile, ...] = ()
    findings: tuple[FileFinding, ...] = ()
    corpus: Mapping[str, int] | None = None
    target: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    copy: Path | None = None
    fixes: Mapping[str, int] = field(default_factory=dict)
    planned: ResolvedRun | None = None
    device: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings by severity."""
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}

    def fails(self, *, strict: bool = False) -> bool:
        """Whether there is an error or, with `strict`, a warning."""
        return self.counts["error"] > 0 or (strict and self.counts["warning"] > 0)

    @cached_property
    def forecast(self) -> Forecast | None:
        """What the run takes and about what it scores: it is tried for seconds. None where it cannot be."""
        if self.planned is None or self.fails() or not (find_spec("torch") and find_spec("transformers")):
            return None
        with here().working(loading([self.planned])), suppress(UserError):  # such as for an encoder that is not here
            from finetune.training.forecast import forecast_of

            return forecast_of(self.planned, source_of(None), device=self.device)
        return None

    @property
    def counted(self) -> str:
        """`2 errors, 1 warning, 3 notes`."""
        return ", ".join(so_many(count, severity) for severity, count in self.counts.items())

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each finding."""
        import pandas as pd

        rows = [[getattr(finding, name) for name in COLUMNS] for finding in self.findings]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @plainly
    def fix(self, file: str | Path, *, force: bool = False) -> dict[str, int]:
        """Writes a copy of the training data in which what can be fixed is fixed.

        Example: `findings.fix("fixed.csv")`

        Args:
            file: The file to write.
            force: Replace a file that this command did not write.

        Returns:
            The number of fixes of each kind.

        Raises:
            UserError: If the file is one of the user's, or its format cannot hold the columns.
        """
        if not self.parts:
            raise UserError("unlabelled text has no cells to fix", "Leave the fixed copy out")
        require_place_for_copy(Path(file), self.parts[0].file, force=force)
        return write_fixed(self.parts[0], Path(file))

    def __repr__(self) -> str:
        rows = sum(len(part.table) for part in self.parts)
        among = so_many(rows) if self.corpus is None else so_many(self.corpus["documents"], "document")
        return f"<Findings in {among}: {self.counted}>"


def findings_of(path: str, settings: dict[str, Any], out: Path = Path("results")) -> Findings:
    """Runs every check on a file or folder; `settings` are a run's, with dotted keys; `out` is the folder of runs that
    `model` may name. Of unlabelled text it says what this holds.

    Raises UserError for a file that cannot be read, and for text that a run with these settings refuses.
    """
    with without_hints():
        (planned, *_) = expand_targets([path], with_run(settings, out))
        recipe, task, read = planned.recipe, planned.task, own_data(planned.task)
        if (text := own_text(task)) is not None:
            batch_maker(task).require_batch(recipe.train.batch_size)
            load_splits(task, source_of(None), limit=recipe.limit)
            documents = text.documents
            lines = sum(len(document.lines) for document in documents)
            corpus = {"documents": len(documents), "lines": lines, "size": documents.size}
            return Findings(layout=text.layout, corpus=corpus, target=path, settings=settings)
        assert read is not None  # data is either
        parts = parts_of(read)
        listed = findings(parts)
        if all(finding.severity != "error" for finding in listed):
            try:
                load_splits(task, source_of(None), limit=recipe.limit)
            except UserError as error:
                listed.append(parts[0].placed(Finding(REFUSED, error.what, remedy=error.way_out)))
        try:
            tokenizer = load_fast_tokenizer(resolve(recipe.model, tokenizer=recipe.tokenizer_folder).folder)
        except UserError as error:
            what = f"checks of tokens were skipped: {error.what}"
            listed.append(parts[0].placed(Finding(NO_TOKENS, what, remedy=error.way_out)))
        else:
            for part in parts:
                if part.has(part.layout.text):
                    listed += map(part.placed, token_findings(part, tokenizer, recipe.model, recipe.max_length))
        return Findings(
            layout=replace(read.layout, file={}), parts=parts, findings=tuple(worst_first(listed)), target=path,
            settings=settings, planned=planned,
        )  # fmt: skip
