"""How a run's model is called: on the command line, in Python, and with transformers alone."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.runs.record import RunRecord

PIPELINES = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
}
QUESTION = '"Who wrote it?", "The book was written by Ann Lee."'
TOKENS = 'tokens=["Ann", "Lee", "lives", "in", "Rome"]'
PAIR = '"a text", "another text"'


def quoted(text: Any) -> str:
    """A text as Python and JSON write it."""
    return json.dumps(text, ensure_ascii=False)


def example_inputs(line: Mapping[str, Any]) -> str:
    """What a row is for `model(...)`, by a line of a task's predictions."""
    if "words" in line:
        return TOKENS
    if "question" in line:
        return QUESTION
    if choices := line.get("choices"):
        return f'"a text", {quoted([f"choice {number}" for number in range(1, len(choices) + 1)])}'
    return PAIR if line.get("pair") is not None else '"a text"'


def architecture(model: Path) -> str:
    """What follows the family in transformers' name of the model, such as `ForMaskedLM`; empty where transformers has
    no class for it, or without a model.
    """
    try:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        name = str(config["architectures"][0])
        name = name.replace("LMHeadModel", "ForCausalLM")  # of the auto class
        return name[name.index("For") :] if (model / "model.safetensors").is_file() else ""
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # a report works without the model
        return ""


def transformers_code(folder: str, kind: str, inputs: str) -> str:
    """Code that loads a model by transformers alone, from a folder or the Hub; with a pipeline where there is one."""
    if kind in PIPELINES:
        options = ', aggregation_strategy="simple"' if kind == "ForTokenClassification" else ""
        text = 'f"a {model.tokenizer.mask_token} text"' if kind == "ForMaskedLM" else '"a text"'
        if inputs == PAIR:
            text = '{"text": "a text", "text_pair": "another text"}'
        return (
            "from transformers import pipeline\n\n"
            f'model = pipeline("{PIPELINES[kind]}", model={quoted(folder)}{options})\n'
            f"print(model({text}))"
        )
    return (
        f"from transformers import AutoModel{kind}, AutoTokenizer\n\n"
        f"folder = {quoted(folder)}\n"
        f"model = AutoModel{kind}.from_pretrained(folder)\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)"
    )


def usage(record: RunRecord, name: str, inputs: str, *, out: str = "") -> tuple[str, str]:
    """How the model of a run is used on the command line and in Python, by its `name`; of a pre-training run as the
    start of others. `out` is the folder of runs, where it is not `results`.
    """
    named = quoted(name) + f", out={quoted(out)}" * bool(out)  # `"5f0c2d6e1a", out="my runs"`
    if record.is_pretraining:
        words = ["run", "YOURS.csv", f"model={name}"]
        python = f'run = finetune.train("YOURS.csv", model={named})\nprint(run)'
    else:
        ending = data_ending(record)
        words = ["predict", name, f"new{ending}", "-o", f"predictions{ending}"]
        python = f"model = finetune.load({named})\nprint(model({inputs}))"
    return shlex.join(["finetune", *words, *(["--out", out] if out else [])]), f"import finetune\n\n{python}"


def data_ending(record: RunRecord) -> str:
    """The ending of files like those that a run was trained on."""
    return Path(str(record.recipe["task"])).suffix or ".csv"
