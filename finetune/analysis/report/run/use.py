"""How to use a run's model: on the command line, in Python, and with transformers alone."""

import json
from collections.abc import Iterator

from finetune.analysis.report.blocks import Block, Code
from finetune.analysis.report.run_files import RunFiles

ORDER = 70
PIPELINES = {"ForSequenceClassification": "text-classification", "ForTokenClassification": "token-classification"}
INPUTS = {
    "ForQuestionAnswering": '"Who wrote it?", "The book was written by Ann Lee."',
    "ForMultipleChoice": '"She opened the door and", ["went in.", "was a door."]',
}


def blocks(run: RunFiles) -> Iterator[Block]:
    """Commands and code with the run's id."""
    name, kind = run.record.id, _architecture(run)
    inputs = INPUTS.get(kind, '"a text"')
    code = [
        Code(
            what="On the command line, for a file with the same columns",
            text=f"finetune predict {name} new.csv -o predictions.csv",
        ),
        Code(
            what="In Python",
            text=f'import finetune\n\nmodel = finetune.load("{name}")\nprint(model({inputs}))',
        ),
    ]
    if kind:
        code.append(Code(what="With transformers alone", text=_transformers(run, kind)))
    yield Block(
        title="How to use this model",
        note="In the folder that has the results."
        + ("" if kind else " The model's own folder was not there when this page was written: run it again first."),
        code=code,
    )


def _architecture(run: RunFiles) -> str:
    """What follows the family in transformers' name of the model, such as `ForMaskedLM`; empty without a model."""
    try:
        config = json.loads((run.folder.model / "config.json").read_text(encoding="utf-8"))
        name = str(config["architectures"][0])
        return name[name.index("For") :] if (run.folder.model / "model.safetensors").is_file() else ""
    except (OSError, ValueError, LookupError, TypeError):  # a report works without the model
        return ""


def _transformers(run: RunFiles, kind: str) -> str:
    folder = f"{run.folder.path.parent.parent.name or '.'}/{run.folder.path.parent.name}/{run.folder.path.name}/model"
    if kind in PIPELINES:
        options = ', aggregation_strategy="simple"' if kind == "ForTokenClassification" else ""
        return (
            "from transformers import pipeline\n\n"
            f'model = pipeline("{PIPELINES[kind]}", model={json.dumps(folder, ensure_ascii=False)}{options})\n'
            'print(model("a text"))'
        )
    return (
        f"from transformers import AutoModel{kind}, AutoTokenizer\n\n"
        f"folder = {json.dumps(folder, ensure_ascii=False)}\n"
        f"model = AutoModel{kind}.from_pretrained(folder)\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder)"
    )
