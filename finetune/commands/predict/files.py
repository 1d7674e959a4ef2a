"""`finetune predict` of several Parquet files into a folder."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from finetune.cli.console import standard_error
from finetune.cli.libraries import load_for
from finetune.cli.progress import ProgressDisplay
from finetune.cli.terminal import echo, one_line, say
from finetune.data.messages import noun, percent, so_many
from finetune.errors import UserError
from finetune.inference.shards.begin import require_files
from finetune.runs.events import unwatched


def predict_files_command(
    targets: Sequence[str],
    output: Path | None,
    settings: Mapping[str, Any],
    *,
    source: Mapping[str, Any],
    tasks: Mapping[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    """Predicts files with the model of `source` (the fields of a ModelSource), and prints what was done.

    `tasks` are what `shard_executor_of` takes.

    Raises UserError, after all others are predicted, where a file could not be.
    """
    model = source["model"]
    stored = require_files(model, targets, output, settings, out=Path(source["out"]))
    assert output is not None  # which require_files has checked
    loading = f"{so_many(len(stored), 'file')}: loading {model}"
    load_for(model, "" if quiet else loading, "finetune.inference.shards.work")
    from finetune.inference.model_source import ModelSource
    from finetune.inference.shards.executors import shard_executor_of
    from finetune.inference.shards.work import predict_files as predict

    display = None if quiet else ProgressDisplay(standard_error())
    watch = display or unwatched
    named = ModelSource(**source)
    executor = shard_executor_of(model=named, **tasks)
    with display or nullcontext(), executor.held(output) if executor else nullcontext():
        predictor = named.load(watch=watch)
        found = predict(
            predictor,
            stored,
            output,
            options={name: str(value) for name, value in settings.items() if name == "text"},
            watch=watch,
            executor=executor,
        )
    facts = found.facts(output)
    if as_json:
        echo(json.dumps(facts))
    else:
        say(_summary(facts, predictor.unsure.claimed if predictor.unsure else ""))
    if found.errors:
        name, why = next(iter(found.errors.items()))
        count = len(found.errors)
        raise UserError(
            f"{count} of {so_many(len(stored), 'file')} {noun(count, 'is', 'are')} not predicted, {name} first: {why}",
            "Fix what is wrong, and run the same command",
        )


def unsure_lines(facts: Mapping[str, Any], claimed: str) -> list[str]:
    """How many rows, labels or entities (`claimed`) are left out, if that was asked for."""
    if (unsure := facts.get("unsure")) is None:
        return []
    share = f" ({percent(unsure / max(1, facts['rows']))})" if claimed in ("rows", "answers") else ""
    return [f"{unsure:,} {claimed} unsure{share}: in the column `unsure`"]


def _summary(facts: Mapping[str, Any], claimed: str) -> str:
    """What was done, in a few lines."""
    rows, output = facts["rows"], facts["output"]
    lines = [f"{so_many(rows)} in {so_many(facts['files'], 'file')}, {facts['seconds']:.1f} s -> {output}"]
    if count := facts["errors"]:
        lines.append(f"{so_many(count)} {noun(count, 'has', 'have')} no prediction: the column `error` says why")
    lines += unsure_lines(facts, claimed)
    if share := facts["truncated"]:
        lines.append(f"{percent(share)} of the rows were truncated")
    return "\n".join([*lines, *(one_line(f"note: {note}") for note in facts["notes"])])
