"""How to use a run's model: on the command line, in Python, and with transformers alone."""

import json
import os.path
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finetune.commands.report.blocks import Block, Code
from finetune.commands.report.run_files import RunFiles

ORDER = 70
RESULTS = "results"
PIPELINES = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
}
QUESTION = '"Who wrote it?", "The book was written by Ann Lee."'
TOKENS = 'tokens=["Ann", "Lee", "lives", "in", "Rome"]'
PAIR = '"a text", "another text"'


def blocks(run: RunFiles) -> Iterator[Block]:
    """Commands and code with the run's id, that work in the folder that has the results."""
    kind = _architecture(run)
    code = _fine_tuning(run) if run.record.is_pretraining else _predicting(run)
    if kind:
        code.append(Code(what="With transformers alone", text=_transformers(run, kind)))
    whole = (run.folder.model / "config.json").is_file()
    missing = " The model's own folder was not there when this page was written: run it again first."
    note = f"In the folder that has {_results(run)}{os.sep}." + missing * (not whole)
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
    out = _results(run)
    options = ["--out", out] if out != RESULTS else []
    return shlex.join(["finetune", *(word.replace("RUN", run.record.id) for word in words), *options])


def _arguments(run: RunFiles) -> str:
    """`"5f0c2d6e1a", out="my runs"`"""
    out = _results(run)
    return _quoted(run.record.id) + (f", out={_quoted(out)}" if out != RESULTS else "")


def _results(run: RunFiles) -> str:
    """The results folder from here; where that is above or elsewhere, its name: a page tells nothing of the machine."""
    found = Path(os.path.relpath(run.folder.path.parent.parent))
    return found.name if os.pardir in found.parts else str(found)


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def _inputs(run: RunFiles) -> str:
    """What a row of the task is for `model(...)`."""
    line = next((lines[0] for lines in run.predictions.values() if lines), {})
    if "words" in line:
        return TOKENS
    if "question" in line:
        return QUESTION
    if choices := line.get("choices"):
        return f'"a text", {_quoted([f"choice {number}" for number in range(1, len(choices) + 1)])}'
    return PAIR if line.get("pair") is not None else '"a text"'


def _architecture(run: RunFiles) -> str:
    """What follows the family in transformers' name of the model, such as `ForMaskedLM`; empty without a model."""
    try:
        config = json.loads((run.folder.model / "config.json").read_text(encoding="utf-8"))
        name = str(config["architectures"][0])
        name = name.replace("LMHeadModel", "ForCausalLM")  # of the auto class
        return name[name.index("For") :] if (run.folder.model / "model.safetensors").is_file() else ""
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # a report works without the model
        return ""


def _transformers(run: RunFiles, kind: str) -> str:
    folder = str(Path(_results(run), run.folder.path.parent.name, run.folder.path.name, run.folder.model.name))
    if kind in PIPELINES:
        options = ', aggregation_strategy="simple"' if kind == "ForTokenClassification" else ""
        text = 'f"a {model.tokenizer.mask_token} text"' if kind == "ForMaskedLM" else '"a text"'
        if _inputs(run) == PAIR:
            text = '{"text": "a text", "text_pair": "another text"}'
        return (
            "from transformers import pipeline\n\n"
            f'model = pipeline("{PIPELINES[kind]}", model={_quoted(folder)}{options})\n'
            f"print(model({text}))"
        )
    return (
        f"from transformers import AutoModel{kind}, AutoTokenizer\n\n"
        f"folder = {_quoted(folder)}\n"
        f"model = AutoModel{kind}.from_pretrained(folder)\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)"
    )
