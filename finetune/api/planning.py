"""From recipes or data to finished runs: what `finetune run` and `finetune.run` both call."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.data.paths import is_data, is_pattern
from finetune.errors import UserError
from finetune.runs.settings import is_new
from finetune.task_types.columns import own_data
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.first_runs import checkpoint_of, with_first_runs
from finetune.training.targets import expand_targets


def plan(
    targets: Sequence[str],
    settings: Mapping[str, Any],
    *,
    seeds: int = 1,
    shares: Sequence[float] = (),
    out: Path = Path("results"),
) -> list[ResolvedRun]:
    """The runs of recipes or data with these settings (dotted keys), after the checks of the data.

    With `shares` of the training rows, each is run with each share. A model may be a run under `out`, or a recipe.

    Raises UserError for a wrong setting, for data that cannot be read, and for data with an error, and Ambiguous where
    its columns could be read in two ways.
    """
    if seeds < 1:
        raise UserError(f"seeds is {seeds}", "Give the number of runs, at least 1")
    if settings.get("distil.teacher") == "":  # which a variable of a shell may be
        raise UserError("distil.teacher is empty", "Name a run, or leave it out")
    model = str(settings.get("model", ""))
    if is_new(model):
        _require_vocabulary(model, filter(is_data, targets), settings)
    checkpoint = checkpoint_of(settings, out)
    planned = expand_targets(list(targets), dict(settings), seeds=seeds, shares=shares, checkpoint=checkpoint)
    if any(own_data(resolved.task) for resolved in planned):
        from finetune.checks.all_checks import with_findings  # with all checks

        planned = with_findings(planned)
    return with_first_runs(planned, out)


def _require_vocabulary(model: str, targets: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Raises UserError for a new encoder without a vocabulary, before data is read, which may take a while."""
    from finetune.models.encoder_size import require_vocabulary, size_of
    from finetune.task_types.pretraining.own import is_text

    for target in targets:
        if not is_pattern(target) and not is_text(target, settings):
            size_of(model)
            require_vocabulary(model, str(settings.get("tokenizer", "")), texts=target)


def loading(planned: Sequence[ResolvedRun]) -> str:
    """`glue-mrpc: loading PyTorch and transformers, then google-bert/bert-base-uncased`."""
    names = dict.fromkeys(resolved.name for resolved in planned)
    models = dict.fromkeys(resolved.recipe.model for resolved in planned)
    several = f" ({len(planned)} runs)" if len(planned) > 1 else ""
    return f"{', '.join(names)}: loading PyTorch and transformers, then {', '.join(models)}{several}"
