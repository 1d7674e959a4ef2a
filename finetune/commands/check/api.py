"""`finetune.check`: what is wrong with data, before anything is trained."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.quiet import plainly, without_hints
from finetune.checks.finding import FileFinding
from finetune.commands.check.corpus import corpus_facts
from finetune.commands.check.run_checks import Findings, check_data
from finetune.data.source import source_of
from finetune.models.encoder_sizes import size_of
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.fast import load_fast_tokenizer
from finetune.models.tokenizers.own_vocabulary import trained_size
from finetune.runs.recipe import Recipe
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.own import is_text, own_text
from finetune.training.first_runs import with_run
from finetune.training.targets import expand_targets


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
        return check_data(path, with_run(settings, out))


def findings_of_text(path: str, settings: Mapping[str, Any]) -> Findings:
    """What a text holds. Raises UserError for what is wrong with it, as a run with these settings does."""
    (planned, *_) = expand_targets([path], dict(settings))
    read = own_text(planned.task)
    assert read is not None
    planned.task.require_batch(planned.recipe.train.batch_size)
    load_splits(planned.task, source_of(None), limit=planned.recipe.limit)
    corpus = corpus_facts(read.documents, _tokenizer(planned.recipe))
    return Findings(layout=read.layout, parts=(), findings=(), corpus=corpus)


def _tokenizer(recipe: Recipe) -> Any:
    """The tokenizer of a recipe's model; None for a new encoder, whose vocabulary the run trains first."""
    if trained_size(recipe):
        size_of(recipe.model)
        return None
    found: Any = load_fast_tokenizer(resolve(recipe.model, tokenizer=recipe.tokenizer_folder).folder)
    return found


def _without(path: Path, finding: FileFinding) -> FileFinding:
    """A finding that speaks of the data, not of a file that is deleted."""
    return replace(finding, what=finding.what.replace(str(path), "the data"), file="the data")
