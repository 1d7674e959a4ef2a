"""How a run's model is called: what a row of its task is in Python, and code for transformers alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
