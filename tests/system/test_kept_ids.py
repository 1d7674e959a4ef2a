"""Every kept record of a shipped task has the id that its recipe has today, so that the run is found again."""

import json
from pathlib import Path

from finetune.runs.recipe import parse
from finetune.runs.run_id import run_id
from finetune.task_types import registry
from finetune.task_types.options import changed_options, configured, option_names

RESULTS = Path(__file__).resolve().parents[2] / "results"


def test_kept_runs_are_found_again() -> None:
    """Data, weights and precision are those of the record: they are of another machine."""
    shipped, seen, others = registry.available(), 0, []
    for file in sorted(RESULTS.glob("*/*/record.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        settings = record["recipe"]
        if settings["task"] not in shipped:  # of a file that is not here, whose columns are part of the id
            continue
        if settings["train"].get("updates"):  # a record has both, a recipe one
            del settings["train"]["epochs"]
        recipe = parse(settings, origin=str(file), options=option_names)
        default = registry.find(recipe.task)
        task = configured(default, recipe.options)
        found = run_id(
            recipe, task=task.name, version=task.version, data=record["data"], weights=record["weights"],
            precision=record["precision"], options=changed_options(default, task),
        )  # fmt: skip
        seen, others = seen + 1, others + [file.parent.name] * (found != record["id"])
    assert seen > 250
    assert others == []
