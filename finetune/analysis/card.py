"""The card of a model (README.md): what it answers, how well, and its limits, of its run's record and predictions."""

import json
import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.analysis.limits import limits_of
from finetune.analysis.pages.templates import templates_of
from finetune.data.messages import percent
from finetune.metrics.metric import plain_metrics
from finetune.models.pretrained import MINILM
from finetune.runs.folder import RunFolder, read_lines
from finetune.runs.lineage import SEEDS, Lineage, lineage_words
from finetune.runs.record import RunRecord, without_folders
from finetune.runs.record_files import load_record, readable_records
from finetune.runs.seeds import same_but_seeds, seed_words, settings_of
from finetune.runs.verdict import baseline_words, chosen_by_scored, verdict_of
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import clean
from finetune.task_types.saved_predictions import run_predictions, saved_config
from finetune.task_types.task import TEST

PIPELINES = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
}
QUESTION = '"Who wrote it?", "The book was written by Ann Lee."'
TOKENS = 'tokens=["Ann", "Lee", "lives", "in", "Rome"]'
PAIR = '"a text", "another text"'
TAGS = PIPELINES | {"ForQuestionAnswering": "question-answering", "ForMultipleChoice": "multiple-choice"}
MINILM_ON_HUB = "sentence-transformers/all-MiniLM-L6-v2"  # which the package of `minilm` carries
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_HUB = re.compile(r"([\w.-]+/[\w.-]+) \(.*\)")  # the origin of a data set of the Hub: `nyu-mll/glue (mrpc, train)`
MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
MOST_LABELS = 60


def model_card(
    folder: RunFolder,
    *,
    hub_name: str = "",
) -> str:
    """The card of a finished run's model in Markdown, with a head in YAML for the Hub, and other seeds of the run.

    With a name on the Hub, its model is loaded by that. No text of the data is in it. Raises
    UserError for a run without a model.
    """
    model, record = folder.require_model(), load_record(folder.record_file)
    others = readable_records(sorted(folder.path.resolve().parent.glob("*/record.json")))
    seeds = [record, *same_but_seeds(record, [other for _, other in others])]
    record = without_folders(record)
    split = TEST if TEST in record.scores else record.first_split
    lines = read_lines(folder, split) if folder.predictions(split).is_file() else []
    table = run_predictions(record, folder, split, lines)
    table = table if table is not None and table.annotated else None
    kind, use = architecture(model), saved_config(model).get("finetune") or {}
    name = hub_name or "/".join(folder.path.resolve().parts[-3:])
    inputs, layout = example_inputs(next(iter(lines), {})), use.get("layout")
    counts = {name: of_split for name, of_split in record.labels.items() if of_split}
    labels = sorted(
        dict.fromkeys(label for of_split in counts.values() for label in of_split),
        key=lambda label: -max(of_split.get(label, 0) for of_split in counts.values()),
    )
    command, python = usage(record, name, inputs)
    templates, shown = templates_of("finetune.analysis").overlay(autoescape=False), record.metric(record.headline).shown
    templates.filters = {**templates.filters, "code": code, "escaped": escaped, "percent": percent, "shown": shown}
    text = templates.get_template("card.md.j2").render(
        head=_head(record, kind, name.rpartition("/")[2]), record=record, hub=hub_name,
        plain_metrics=plain_metrics, baseline_words=baseline_words,
        columns=layout.get("text", ()) if isinstance(layout, dict) else (), length=use.get("max_length"),
        results=name.split("/")[0], command=command, python=python, ending=data_ending(record),
        transformers=kind and transformers_code(hub_name or f"{name}/{model.name}", kind, inputs),
        verdict=verdict_of(seeds).sentence, mean=verdict_of(seeds, split=record.first_split),
        ranked=sorted((one.score for one in seeds), key=record.metric(record.headline).rank),
        chosen=chosen_by_scored(record),
        # A file without its folders, which are those of a machine; a data set of the Hub keeps its name.
        data={name: origin if ON_HUB.fullmatch(origin) else Path(data_name_of(Path(origin))).name
              for name, origin in record.data_origin.items()},
        counts=counts, labels=labels[:MOST_LABELS],
        lineage=lineage_words(record.lineage), seed=seed_words(record).removeprefix("seed "),
        settings=[one for one in settings_of([record]) if one.changed and one.key not in ("model", *SEEDS)],
        limits=limits_of(seeds, table, split),
    )  # fmt: skip
    return f"{clean(text)}\n"


def code(text: object, longest: int = 60) -> str:
    """A name as code on one line, which also holds in the cell of a table."""
    words = " ".join(clean(str(text)).split())
    words = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return f"`{words}`".replace("|", "\\|") if "`" not in words else f"`` {words} ``".replace("|", "\\|")


def escaped(text: str) -> str:
    """A sentence in which a label may have signs of Markdown or HTML."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def base_model(record: RunRecord) -> str | None:
    """The name on the Hub of the encoder that a run started from, or the first run of its lineage; None for another."""
    began: RunRecord | Lineage = record
    while began.lineage is not None:
        began = began.lineage
    if began.model == MINILM:
        return MINILM_ON_HUB
    return began.model if COMMIT.fullmatch(began.weights) and began.model.count("/") == 1 else None


def _head(record: RunRecord, kind: str, name: str) -> str:
    """What the Hub's search and its page of a model read, in YAML; unknown facts and undefined scores are left out."""
    from huggingface_hub import EvalResult, ModelCardData

    results = []
    for split, scores in record.scores.items():
        margin = record.margins.get(split)
        for metric in plain_metrics(scores):
            ends = margin.interval if margin is not None and metric == record.headline else None
            if math.isfinite(scores[metric]):
                results.append(EvalResult(
                    task_type=TAGS.get(kind, "other"), dataset_type=record.task, dataset_name=record.task,
                    dataset_split=split, dataset_args={"rows": record.rows[split], "fingerprint": record.data[:10]},
                    metric_type=metric, metric_name=f"{split} {metric}", metric_value=round(scores[metric], 6),
                    metric_args=ends and {"95 % interval": [round(end, 6) for end in ends]},
                ))  # fmt: skip
    sets = dict.fromkeys(one[1] for origin in record.data_origin.values() if (one := ON_HUB.fullmatch(origin)))
    data = ModelCardData(
        base_model=base_model(record), datasets=list(sets) or None, pipeline_tag=TAGS.get(kind), tags=["finetune"],
        library_name="transformers" if kind else "finetune", metrics=plain_metrics(record.scores[record.first_split]),
        model_name=name, eval_results=results or None,
    )  # fmt: skip
    return data.to_yaml(line_break="\n").strip()


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


def usage(record: RunRecord, name: str, inputs: str) -> tuple[str, str]:
    """How the model of a run is used on the command line and in Python, by its `name`; of a pre-training run as the
    start of others.
    """
    if record.is_pretraining:
        words = ["run", "YOURS.csv", f"model={name}"]
        python = f'run = finetune.run("YOURS.csv", model={quoted(name)})\nprint(run)'
    else:
        ending = data_ending(record)
        words = ["predict", name, f"new{ending}", "-o", f"predictions{ending}"]
        python = f"model = finetune.load({quoted(name)})\nprint(model({inputs}))"
    return shlex.join(["finetune", *words]), f"import finetune\n\n{python}"


def data_ending(record: RunRecord) -> str:
    """The ending of files like those that a run was trained on."""
    return Path(str(record.recipe["task"])).suffix or ".csv"
