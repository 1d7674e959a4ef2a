"""How to use a run's model: on the command line, in Python, and with transformers alone."""

import os.path
import shlex
from collections.abc import Iterator
from pathlib import Path

from finetune.analysis.model_calls import architecture, example_inputs, quoted, transformers_code
from finetune.commands.report.blocks import Block, Code
from finetune.commands.report.run_files import RunFiles
from finetune.runs.folder import RESULTS

ORDER = 170


def blocks(run: RunFiles) -> Iterator[Block]:
    """Commands and code with the run's id, that work in the folder that has the results."""
    kind = architecture(run.folder.model)
    code = _fine_tuning(run) if run.record.is_pretraining else _predicting(run)
    if kind:
        code.append(
            Code(what="With transformers alone", text=transformers_code(_model_folder(run), kind, _inputs(run)))
        )
    whole = (run.folder.model / "config.json").is_file()
    missing = " The model's own folder was not there when this page was written: run it again first."
    note = f"In the folder that has {results_named(run)}{os.sep}." + missing * (not whole)
    yield Block(title="How to use this model", note=note, code=code)


def _predicting(run: RunFiles) -> list[Code]:
    ending = Path(str(run.record.recipe["task"])).suffix or ".csv"
    command = _command(run, "predict", "RUN", f"new{ending}", "-o", f"predictions{ending}")
    return [
        Code(what="On the command line, for a file with the same columns", text=command),
        Code(
            what="In Python",
            text=f"import finetune\n\nmodel = finetune.load({_arguments(run)})\nprint(model({_inputs(run)}))",
        ),
    ]


def _fine_tuning(run: RunFiles) -> list[Code]:
    """The encoder of a pre-training run as the start of others."""
    train = f'run = finetune.train("YOURS.csv", model={_arguments(run)})'
    return [
        Code(
            what="On the command line, to fine-tune it on labelled data",
            text=_command(run, "run", "YOURS.csv", "model=RUN"),
        ),
        Code(what="In Python", text=f"import finetune\n\n{train}\nprint(run)"),
    ]


def _command(run: RunFiles, *words: str) -> str:
    """A command on a run, with its results folder."""
    out = results_named(run)
    options = ["--out", out] if Path(out) != RESULTS else []
    return shlex.join(["finetune", *(word.replace("RUN", run.record.id) for word in words), *options])


def _arguments(run: RunFiles) -> str:
    """`"5f0c2d6e1a", out="my runs"`"""
    out = results_named(run)
    return quoted(run.record.id) + (f", out={quoted(out)}" if Path(out) != RESULTS else "")


def results_named(run: RunFiles) -> str:
    """The results folder from here; where that is above or elsewhere, its name: a page tells nothing of the machine."""
    found = Path(os.path.relpath(run.folder.path.parent.parent))
    return found.name if os.pardir in found.parts else str(found)


def _inputs(run: RunFiles) -> str:
    """What a row of the task is for `model(...)`."""
    return example_inputs(next((lines[0] for lines in run.predictions.values() if lines), {}))


def _model_folder(run: RunFiles) -> str:
    return str(Path(results_named(run), run.folder.path.parent.name, run.folder.path.name, run.folder.model.name))
