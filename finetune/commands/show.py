"""`finetune show`: a run with its scores, or a recipe with all its settings."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from finetune.analysis.run_facts import every_fact, six_facts, verdict_lines
from finetune.analysis.run_tables import record_parts
from finetune.analysis.table import Command, Line, Next, NoteLine, Part, TextTable, as_plain_text, facts_table
from finetune.api.calls import plainly
from finetune.api.parameters import Cli
from finetune.api.run import Run, as_objects, open_run
from finetune.data.messages import so_many
from finetune.data.paths import is_data, is_file
from finetune.errors import UserError
from finetune.runs.folder import RESULTS
from finetune.runs.lookup import find_run, latest_run, no_run
from finetune.runs.settings import to_toml

if TYPE_CHECKING:
    from finetune.runs.recipe import Recipe
    from finetune.task_types.predictions import Line as PredictionLine


@plainly
def show(target: str | Path, *, out: str | Path = "results", **settings: Any) -> "Run | Recipe":
    """Opens a run, or reads a recipe with all its settings, including defaults.

    Example: `finetune.show("reviews.csv").scores`, `finetune.show("glue-mrpc", seed=3).train`

    Args:
        target: A run (folder or id), a recipe, or a task or data (its latest run).
        out: The folder of the runs that are named.
        **settings: Settings as key=value, for a recipe.

    Returns:
        The run, or the recipe.

    Raises:
        UserError: For a name of neither, a damaged record, and a wrong setting.
    """
    name, folder = str(target), Path(out)
    if (run := find_run(name, folder)) is not None:
        return open_run(run.path, out=folder)
    from finetune.api.inputs import recipe_settings  # knows all task types, which a run does not need
    from finetune.runs.settings import recipe_files

    wanted = recipe_settings(settings)
    is_recipe = name in recipe_files() or (is_file(name) and not is_data(name))
    if not wanted and not is_recipe and (run := latest_run(name, folder)) is not None:
        return open_run(run.path, out=folder)
    if not (is_recipe or is_data(name) or "*" in name):
        remedy = no_run(name, folder, also=[*recipe_files()]).way_out
        raise UserError(f"'{name}' is not a run in {out}, a recipe or a file", remedy)
    return _whole_recipe(name, wanted)


def _whole_recipe(name: str, settings: dict[str, Any]) -> "Recipe":
    """The recipe with its seeds and the options of its task."""
    from finetune.task_types.options import option_values
    from finetune.training.targets import load_target

    planned = load_target(name, settings)
    recipe = planned.recipe
    init_seed, data_seed = recipe.seeds
    options = dict(recipe.options)
    for option, value in option_values(planned.task).items():
        if value is not None:
            options[option] = list(value) if isinstance(value, tuple) else value
    return recipe.model_copy(update={"init_seed": init_seed, "data_seed": data_seed, "options": options})


def _length_once(recipe: "Recipe") -> dict[str, set[str]] | None:
    return {"train": {"epochs"}} if recipe.train.updates is not None else None


def as_json(result: "Run | Recipe") -> Iterator[Mapping[str, Any]]:
    """The fields of the record, `folder`, `in_transformers`, `verdict`, `diagnosis`; or of a recipe `task`, `model` and
    all others.
    """
    if isinstance(result, Run):
        yield from as_objects(result)
    else:
        yield result.model_dump(exclude=_length_once(result))


def shown(
    result: "Run | Recipe",
    *,
    predictions: Annotated[int, Cli(least=0)] = 0,
    every: Annotated[bool, Cli(names=("--all",))] = False,
) -> Iterator[Part]:
    """A run's diagnosis and verdict, scores, facts and first predictions; or a recipe as TOML.

    Args:
        predictions: Show the first N predictions of a run.
        every: Show every field of a run's record.
    """
    if not isinstance(result, Run):
        if predictions or every:
            raise UserError("`predictions` and `all` show more of a run, and this is a recipe", "Leave them out")
        yield to_toml(result.model_dump(exclude=_length_once(result), exclude_none=True)).rstrip()
        return
    record, folder = result.record, result.folder_of(result.record)
    causes = result.diagnosis.causes[:1]
    for cause in causes:
        yield Line(f"diagnosis: {cause.name}", "bold yellow")
        yield Line(f"  {cause.evidence}")
        if cause.words:
            yield Command(cause.words)
    yield from verdict_lines([record])
    yield Line("")
    in_diagnosis = {note for cause in causes for note in cause.notes}
    for part in record_parts(record):
        if not (isinstance(part, NoteLine) and part.text in in_diagnosis):
            yield part
    yield facts_table("facts", six_facts(folder, record))
    if every:
        yield facts_table("record", every_fact(record))
    if predictions:
        yield from _prediction_parts(result, predictions)
    # A folder that was moved or renamed is not found by the id in it.
    name = record.id if folder.path.name == record.id else str(folder.path)
    elsewhere = ["--out", str(result.out)] * (result.out.resolve() != RESULTS.resolve())
    commands = [["report", name], *[["run", "FILE", f"model={name}"]] * record.is_pretraining]
    commands += [["show", name, "--all"]] * (not every)
    yield Next([[*words, *elsewhere] for words in commands])


def _prediction_parts(run: Run, most: int) -> Iterator[Part]:
    """The first predictions of each split, the wrong ones marked; of an unknown task type all that was saved."""
    from finetune.runs.folder import read_predictions
    from finetune.task_types.saved_predictions import run_predictions

    record, folder = run.record, run.folder_of(run.record)
    for split in record.scores:
        lines: Sequence[PredictionLine] = read_predictions(folder.predictions(split))[:most]
        table = run_predictions(record, folder, split, lines)
        if table is None:
            wrong = [line["gold"] not in (None, line["prediction"]) for line in lines]
            cells = [{name: value for name, value in line.items() if ":" not in name} for line in lines]
        else:
            wrong = table.wrong.tolist()
            cells = list(map(table.listed, range(len(table))))
        marked = ", wrong ones marked x" * (table is None or table.right is not None)
        yield Line(f"first {so_many(most, 'prediction')} of {split}{marked}")
        names = [name for name in cells[0] if any(line.get(name) not in (None, "", [], ()) for line in cells)]
        rows = [
            ("x" * bool(bad), *(as_plain_text(line[name]) for name in names))
            for bad, line in zip(wrong, cells, strict=True)
        ]
        yield TextTable(title="", columns=["", *names], rows=rows, words=names, ruled=True)
