"""The command line: one thin function a command; what is heavy is imported inside them, so that `--help` is instant."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.terminal import echo
from finetune.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Fine-tune BERT-family encoders: one command from a task to a model, its scores and every prediction.",
)

Data = Annotated[Path | None, typer.Option(help="Folder with the data files; default: $FINETUNE_DATA, then the Hub.")]
Out = Annotated[Path, typer.Option(help="Folder of all runs.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps; default: the best there is.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
TaskOf = Annotated[
    str | None, typer.Option("--task", help="The task of the model, where it is in a file (FILE.py:NAME) or not saved.")
]
Escape = Annotated[
    bool, typer.Option("--escape-formulas", help="An apostrophe before cells that a spreadsheet would run.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
RESULTS = Path("results")


class Pool(StrEnum):
    """How the vectors of a text become one."""

    NONE = "none"
    CLS = "cls"
    MEAN = "mean"


def _complete(incomplete: str) -> list[str]:
    """Names of recipes and of settings, for the shell's completion."""
    from finetune.runs.recipe import setting_names
    from finetune.training.targets import recipe_files

    return [name for name in (*recipe_files(), *(f"{key}=" for key in setting_names())) if name.startswith(incomplete)]


@app.command()
def run(
    targets: Annotated[
        list[str],
        typer.Argument(help="Recipes (names, patterns, files), and settings as key=value.", autocompletion=_complete),
    ],
    data: Data = None,
    out: Out = RESULTS,
    seed: Annotated[int | None, typer.Option(help="Same as seed=N.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Run so many seeds, counted up from the recipe's.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Use at most so many rows of each split.")] = None,
    device: Device = None,
    force: Annotated[bool, typer.Option("--force", help="Run anew what is already done.")] = False,
    discard: Annotated[
        bool,
        typer.Option("--discard-half", help="Stop the worse half of several settings after a quarter of training."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train, score and save: `finetune run glue-mrpc model=minilm train.learning_rate=2e-4`."""
    from finetune.training.targets import expand_targets, split_arguments

    names, settings = split_arguments(targets)
    settings |= {key: value for key, value in (("seed", seed), ("limit", limit)) if value is not None}
    from finetune.checks.refusal import require_sound_data
    from finetune.cli.asking import asking

    planned = asking(lambda given: expand_targets(names, given, seeds=seeds), settings)
    require_sound_data([one.task for one in planned])
    if not quiet and not as_json and _first_process():
        from finetune.cli.printing import print_guesses

        print_guesses(names, planned)
    _quiet_libraries()
    from finetune.cli.display import ProgressDisplay, standard_error
    from finetune.cli.printing import print_records
    from finetune.data.source import source_of
    from finetune.inference.engine import Diverged
    from finetune.runs.events import unwatched
    from finetune.training.run_many import run_all

    watch = unwatched if quiet or as_json or not _first_process() else ProgressDisplay(standard_error())
    records, failures = run_all(
        planned, source=source_of(data), out=out, watch=watch, device=device, force=force, discard=discard
    )
    if _first_process():
        diverged = sum(isinstance(failure, Diverged) for failure in failures)
        print_records(records, as_json=as_json, quiet=quiet, discarded=discard, diverged=diverged)
    for failure in failures:
        _print_error(failure)
    if failures:
        raise typer.Exit(2)


@app.command()
def evaluate(
    model: Annotated[
        str, typer.Argument(help="A run (folder or id), or any fine-tuned checkpoint (folder or Hub name).")
    ],
    task: Annotated[str, typer.Argument(help="The task to score it on, or a file of data as it was trained on.")],
    settings: Annotated[list[str] | None, typer.Argument(help="encoding=NAME, of a file of data.")] = None,
    split: Annotated[str | None, typer.Option(help="Default: the task's dev splits.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Write every answer to this Parquet file.")] = None,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Score a fine-tuned checkpoint without training: `finetune evaluate RUN mrpc`."""
    _quiet_libraries()
    import json

    from finetune.cli.display import ProgressDisplay, in_words, standard_error
    from finetune.data.files import is_data
    from finetune.data.source import source_of
    from finetune.inference.evaluate import evaluate as score
    from finetune.training.targets import split_arguments

    others, given = split_arguments(settings or [])
    encoding = str(given.pop("encoding", ""))
    if unknown := [*others, *given, *(["encoding"] if encoding and not is_data(task) else [])]:
        raise UserError(f"unknown setting '{unknown[0]}'", "Set encoding=NAME, of a file of data")
    scores = score(
        model,
        task,
        source=source_of(data),
        out=out,
        watch=ProgressDisplay(standard_error()),
        split=split,
        device=device,
        predictions=predictions,
        encoding=encoding,
    )
    if predictions is not None:
        echo(f"predictions: {predictions}", err=True)
    echo(json.dumps(scores) if as_json else in_words(scores) or "no gold labels, so no scores")


@app.command()
def score(
    task: Annotated[str, typer.Argument(help="The task, such as squad-v1.")],
    answers: Annotated[Path, typer.Argument(help="JSON: each row's id and its answer.")],
    settings: Annotated[list[str] | None, typer.Argument(help="The task's options as key=value.")] = None,
    null_odds: Annotated[Path | None, typer.Option(help="JSON: each id and the odds of no answer (SQuAD 2.0).")] = None,
    split: Annotated[str, typer.Option(help="The split that the answers are for.")] = "dev",
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Score a file of answers, without a model: `finetune score squad-v1 predictions.json`."""
    import json

    from finetune.data.source import source_of
    from finetune.inference.score_answers import score_file
    from finetune.task_types.options import configured
    from finetune.task_types.registry import find
    from finetune.training.targets import split_arguments

    _, options = split_arguments(settings or [])
    found = configured(find(task), options)
    scored = score_file(found, answers, source=source_of(data), split=split, null_odds=null_odds)
    words = [f"{name} {100 * score:.3f}" for name, score in scored.scores.items()]
    words += [f"{name} {value:.6g}" for name, value in scored.thresholds.items()]
    for note in scored.notes:
        echo(f"note: {note}", err=True)
    echo(json.dumps(scored.scores | scored.thresholds) if as_json else f"{split} {', '.join(words)}")


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A run (folder, id, or its task).")],
    b: Annotated[str, typer.Argument(help="Another run of the same task.")],
    seeds: Annotated[bool, typer.Option("--seeds", help="Take all runs that differ from each in seeds alone.")] = False,
    split: Annotated[str | None, typer.Option(help="Default: the split that the task is scored on first.")] = None,
    changed: Annotated[int, typer.Option(min=0, help="Show so many rows that one has right and one wrong.")] = 5,
    task: TaskOf = None,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Whether a difference is more than chance: `finetune compare RUN RUN`."""
    import json

    from finetune.analysis.compare import compare as compared
    from finetune.cli.display import standard_output
    from finetune.cli.summaries import changed_table, comparison_table
    from finetune.task_types.registry import find

    named = None if task is None else find(task)
    found = compared(a, b, out=out, split=split, seeds=seeds, task=named)
    if as_json:
        echo(json.dumps(found.as_json(), default=str))
        return
    console = standard_output()
    console.print(comparison_table(found))
    for note in found.notes:
        console.print(f"note: {note}", soft_wrap=True)
    if changed and found.changed:
        console.print(changed_table(found, changed))


@app.command()
def table(
    name: Annotated[str | None, typer.Argument(help="glue, squad, ner, choice, table-1 to table-7, or a file.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it: .md, .csv or .html.")] = None,
    out: Out = RESULTS,
) -> None:
    """Show our scores beside the published ones, from records alone: `finetune table glue`."""
    from finetune.analysis.paper_table import lines_of, load_table, table_files
    from finetune.analysis.paper_table_formats import as_grid, write_table
    from finetune.cli.display import facts_table, standard_output
    from finetune.runs.record import all_records

    console = standard_output()
    if name is None:
        console.print(facts_table("tables", {name: load_table(name).title for name in table_files()}))
        return
    found = load_table(name)
    records, damaged = all_records(out)
    lines = lines_of(found, records)
    if not any(line.runs for line in lines):
        nothing = UserError(f"no finished run in {out} is of this table", "--out names the folder of runs")
        if not any(line.published_dev or line.published_test for line in lines):
            raise nothing
        echo(f"note: {nothing}", err=True)
    if output is None:
        console.print(as_grid(found, lines))
    else:
        write_table(output, name, found, lines)
        echo(f"{output}: {found.title}", err=True)
    for error in damaged:
        _print_error(error)
    if damaged:
        raise typer.Exit(2)


@app.command()
def features(
    model: Annotated[str, typer.Argument(help="A Hub name, a folder, or minilm.")],
    target: Annotated[str, typer.Argument(metavar="DATA", help="Data of your own, or a recipe, for its task's data.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value.")] = None,
    layers: Annotated[str, typer.Option(help="As in a recipe: last, concat-last-4, [4,6] ...")] = "last",
    pool: Annotated[Pool, typer.Option(help="cls or mean: a vector a text; none: one a token, or a word.")] = Pool.NONE,
    split: Annotated[str, typer.Option(help="Which split of the data.")] = "train",
    output: Annotated[Path, typer.Option("-o", "--output", help="A .parquet or .npz file.")] = Path("features.parquet"),
    data: Data = None,
    device: Device = None,
) -> None:
    """Write what an encoder makes of texts: `finetune features minilm reviews.csv --pool mean -o reviews.npz`."""
    _quiet_libraries()
    from finetune.cli.display import ProgressDisplay, standard_error
    from finetune.data.source import source_of
    from finetune.inference.embeddings import write_features
    from finetune.runs.recipe import override_value
    from finetune.training.targets import load_target, split_arguments

    _, given = split_arguments(settings or [])
    planned = load_target(target, given | {"model": model, "layers": override_value(layers)})
    watch = ProgressDisplay(standard_error())
    recipe, task = planned.recipe, planned.task
    count, width = write_features(
        recipe, task, output, source=source_of(data), split=split, pool=pool.value, watch=watch, device=device
    )
    echo(f"{count:,} sequences of the split '{split}', vectors of {width:,} numbers -> {output}")


@app.command()
def submission(
    runs: Annotated[list[str], typer.Argument(help="Trained runs, one for each task (folder, id, or task's name).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The zip to write.")],
    fill_missing: Annotated[bool, typer.Option("--fill-missing", help="Constants for tasks without a run.")] = False,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
) -> None:
    """Predict GLUE's test sets and write the zip that its server takes: `finetune submission mrpc ... -o glue.zip`."""
    _quiet_libraries()
    from finetune.cli.display import ProgressDisplay, facts_table, standard_error, standard_output
    from finetune.data.source import source_of
    from finetune.inference.glue_submission import submit

    watch = ProgressDisplay(standard_error())
    predicted = submit(
        runs, output, source=source_of(data), out=out, watch=watch, device=device, fill_missing=fill_missing
    )
    facts = {name: f"predicted by {run}" if run else "a constant, for want of a run" for name, run in predicted.items()}
    standard_output().print(facts_table(str(output), facts))


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A run (folder, id, or its task), or any fine-tuned checkpoint.")],
    file: Annotated[str, typer.Argument(help="The rows, in any format; - reads lines from standard input.")],
    settings: Annotated[
        list[str] | None, typer.Argument(help="text=COLUMN, label=COLUMN, encoding=NAME, temperature=dev.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.predicted.SUFFIX here.")] = None,
    escape: Escape = False,
    task: TaskOf = None,
    out: Out = RESULTS,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer every row of a file: `finetune predict RUN new.csv -o out.csv`."""
    _quiet_libraries()
    import json

    from finetune.cli.display import ProgressDisplay, prediction_words, standard_error
    from finetune.inference.answer_rows import answer_lines, lines_of
    from finetune.inference.predict_file import default_output, predict_file
    from finetune.inference.predictor import load
    from finetune.inference.temperature import with_dev_temperature
    from finetune.runs.events import unwatched
    from finetune.task_types.registry import find
    from finetune.training.targets import split_arguments

    _, given = split_arguments(settings or [])
    if file == "-" and (output or escape or given.keys() - {"temperature"}):
        raise UserError("of standard input there is no output file and no column to set", "Leave -o and settings out")
    watch = unwatched if quiet else ProgressDisplay(standard_error())
    named = None if task is None else find(task)
    predictor = load(model, task=named, out=out, watch=watch if file != "-" else unwatched, device=device)
    if "temperature" in given:
        predictor = with_dev_temperature(predictor, model, given.pop("temperature"), out=out)
    if file == "-":
        for answer in answer_lines(predictor, lines_of(sys.stdin)):
            echo(json.dumps(answer, ensure_ascii=False))
        return
    to = output or default_output(Path(file))
    options = {name: str(value) for name, value in given.items()}
    found = predict_file(predictor, Path(file), to, options=options, watch=watch, escape=escape)
    echo(json.dumps(found.facts(to)) if as_json else prediction_words(found.facts(to)))


@app.command()
def init(
    data: Annotated[str, typer.Argument(help="A file or folder of data.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value, such as label=topic.")] = None,
) -> None:
    """Print the recipe that data of one's own starts with: `finetune init data.csv > my.toml`."""
    from finetune.checks.refusal import require_sound_data
    from finetune.cli.asking import asking
    from finetune.task_types.starting_recipe import commented, starting_recipe
    from finetune.training.targets import split_arguments

    _, given = split_arguments(settings or [])
    recipe, task = asking(lambda settings: starting_recipe(data, settings), given)
    require_sound_data([task])
    echo(commented(recipe, task), nl=False)


@app.command(name="ls")
def list_all(out: Out = RESULTS) -> None:
    """List recipes, tasks and runs."""
    from finetune.cli.display import facts_table, runs_table, standard_output
    from finetune.metrics.scores import plain_metrics
    from finetune.runs import recipe
    from finetune.runs.record import all_records
    from finetune.task_types.options import option_names
    from finetune.task_types.registry import available
    from finetune.training.targets import recipe_files

    console = standard_output()
    recipes = {
        name: f"{(r := recipe.load(file, options=option_names)).task} with {r.model}"
        for name, file in recipe_files().items()
    }
    console.print(facts_table("recipes", recipes))
    metrics = {name: ", ".join(plain_metrics(task.metric_names)) for name, task in sorted(available().items())}
    console.print(facts_table("tasks", metrics))
    records, damaged = all_records(out)
    if records:
        console.print(runs_table(records))
    for error in damaged:
        _print_error(error)


@app.command()
def show(
    target: Annotated[str, typer.Argument(help="A run (folder or id), a recipe, or a task, for its latest run.")],
    settings: Annotated[list[str] | None, typer.Argument(help="Settings as key=value, for a recipe.")] = None,
    predictions: Annotated[int, typer.Option(min=0, help="Show so many predictions of a run.")] = 0,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Show a recipe with all its settings, or a run with its scores and predictions."""
    from finetune.cli.printing import print_recipe, print_run
    from finetune.runs.lookup import find_run, latest_run
    from finetune.training.targets import recipe_files, split_arguments

    found = find_run(target, out)
    is_recipe = target in recipe_files() or Path(target).is_file()
    if found is None and (predictions or not is_recipe):
        found = latest_run(target, out)
    if found is None:
        print_recipe(target, split_arguments(settings or [])[1], as_json=as_json)
    else:
        print_run(found, predictions, as_json=as_json)


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(help="Runs (folder, id, or a task's name, for its latest run).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    out: Out = RESULTS,
) -> None:
    """Write one HTML file about runs: scores, curves, calibration, mistakes: `finetune report RUN -o report.html`."""
    from finetune.analysis.report.write import write_report

    size = write_report(runs, output, out=out)
    echo(f"{output}: {size / 1e6:.1f} MB")


@app.command(name="cp")
def copy(
    name: Annotated[str, typer.Argument(help="The recipe to copy.")],
    to: Annotated[Path | None, typer.Argument(help="Default: NAME.toml here.")] = None,
) -> None:
    """Copy a recipe, to own and edit."""
    from finetune.training.targets import find_recipes

    for file in find_recipes(name):
        target = to or Path(file.name)
        if target.exists():
            raise UserError(f"{target} is already there", "Name another file: `finetune cp NAME FILE`")
        try:
            target.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        except OSError as error:
            raise UserError(f"{target}: cannot be written ({error.strerror})", "Name another file") from error
        echo(f"{file.stem} -> {target}; run it: finetune run {target}")


@app.command()
def check(
    targets: Annotated[
        list[str],
        typer.Argument(help="A recipe, or data of your own; and settings as key=value.", autocompletion=_complete),
    ],
    data: Data = None,
    limit: Annotated[int | None, typer.Option(help="Of a recipe, use at most so many rows of each split.")] = None,
    device: Device = None,
    fix: Annotated[Path | None, typer.Option(help="Of data, write a mended copy to this file.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Of data, end with 1 for warnings too.")] = False,
    escape: Escape = False,
    as_json: Json = False,
) -> None:
    """Check what a run would use, or what is wrong with data: `finetune check reviews.csv --fix mended.csv`."""
    _quiet_libraries()
    from finetune.cli.printing import check_own_data, check_recipes
    from finetune.data.files import is_data
    from finetune.training.targets import expand_targets, split_arguments

    names, settings = split_arguments(targets)
    settings |= {} if limit is None else {"limit": limit}
    if escape and fix is None:
        raise UserError("--escape-formulas is for the file that --fix writes", "Add --fix FILE, or leave it out")
    if any(map(is_data, names)):
        if len(names) > 1:
            raise UserError(f"{' and '.join(names)} are {len(names)} things to check", "Check one at a time")
        check_own_data(names[0], settings, fix, escape=escape, strict=strict, as_json=as_json)
        return
    if fix is not None:
        raise UserError("--fix is for data of your own", "Name a file of data that exists")
    check_recipes(expand_targets(names, settings), data, device, as_json=as_json)


def main() -> None:
    """Runs the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except UserError as error:
        _print_error(error)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == 130:  # what typer makes of a keyboard interrupt
            echo("interrupted; the same command, without --force, goes on where it stopped", err=True)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        sys.exit(1)


def _first_process() -> bool:
    """Of those that a launcher started, one speaks."""
    return os.environ.get("RANK", "0") == "0"


def _print_error(error: UserError) -> None:
    echo(f"error: {error}", err=True)


def _quiet_libraries() -> None:
    """Keeps transformers' and the Hub client's own bars and warnings off the screen."""
    import transformers
    from huggingface_hub.utils import logging

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
