"""How to use a run's model: on the command line, in Python, and with transformers alone."""

import json
from collections.abc import Iterator

from finetune.analysis.report.blocks import Block, Code
from finetune.analysis.report.run_files import RunFiles

ORDER = 70
PIPELINES = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
}
INPUTS = {
    "ForQuestionAnswering": '"Who wrote it?", "The book was written by Ann Lee."',
    "ForMultipleChoice": '"She opened the door and", ["went in.", "was a door."]',
}


def blocks(run: RunFiles) -> Iterator[Block]:
    """Commands and code with the run's id."""
    kind = _architecture(run)
    code = _fine_tuning(run.record.id) if run.record.is_pretraining else _predicting(run.record.id, kind)
    if kind:
        code.append(Code(what="With transformers alone", text=_transformers(run, kind)))
    yield Block(
        title="How to use this model",
        note="In the folder that has the results."
        + ("" if kind else " The model's own folder was not there when this page was written: run it again first."),
        code=code,
    )


def _predicting(name: str, kind: str) -> list[Code]:
    inputs = INPUTS.get(kind, '"a text"')
    return [
        Code(
            what="On the command line, for a file with the same columns",
            text=f"finetune predict {name} new.csv -o predictions.csv",
        ),
        Code(
            what="In Python",
            text=f'import finetune\n\nmodel = finetune.load("{name}")\nprint(model({inputs}))',
        ),
    ]


def _fine_tuning(name: str) -> list[Code]:
    """The encoder of a pre-training run as the start of others."""
    return [
        Code(what="On the command line, to fine-tune it on labelled data", text=f"finetune run YOURS.csv model={name}"),
        Code(
            what="In Python", text=f'import finetune\n\nrun = finetune.train("YOURS.csv", model="{name}")\nprint(run)'
        ),
    ]


def _architecture(run: RunFiles) -> str:
    """What follows the family in transformers' name of the model, such as `ForMaskedLM`; empty without a model."""
    try:
        config = json.loads((run.folder.model / "config.json").read_text(encoding="utf-8"))
        name = str(config["architectures"][0])
        name = name.replace("LMHeadModel", "ForCausalLM")  # of the auto class
        return name[name.index("For") :] if (run.folder.model / "model.safetensors").is_file() else ""
    except (OSError, ValueError, LookupError, TypeError):  # a report works without the model
        return ""


def _transformers(run: RunFiles, kind: str) -> str:
    folder = f"{run.folder.path.parent.parent.name or '.'}/{run.folder.path.parent.name}/{run.folder.path.name}/model"
    if kind in PIPELINES:
        options = ', aggregation_strategy="simple"' if kind == "ForTokenClassification" else ""
        text = 'f"a {model.tokenizer.mask_token} text"' if kind == "ForMaskedLM" else '"a text"'
        return (
            "from transformers import pipeline\n\n"
            f'model = pipeline("{PIPELINES[kind]}", model={json.dumps(folder, ensure_ascii=False)}{options})\n'
            f"print(model({text}))"
        )
    return (
        f"from transformers import AutoModel{kind}, AutoTokenizer\n\n"
        f"folder = {json.dumps(folder, ensure_ascii=False)}\n"
        f"model = AutoModel{kind}.from_pretrained(folder)\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)"
    )
