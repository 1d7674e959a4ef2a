"""The card of a model (README.md): its answers, scores and limits, from its run's record and predictions."""

import json
import math
import re
import shlex
from pathlib import Path

from finetune.analysis.pages.templates import templates_of
from finetune.data.in_memory import data_name_of
from finetune.data.messages import percent, so_many
from finetune.metrics.metric import plain_metrics
from finetune.models.pretrained import MINILM
from finetune.runs.folder import RunFolder, read_lines
from finetune.runs.record import RunRecord, without_folders
from finetune.runs.record_files import load_record, readable_records
from finetune.runs.seeds import changed_settings, same_but_seeds, seed_words
from finetune.runs.settings import SEEDS, Lineage, lineage_words
from finetune.runs.verdict import baseline_words, chosen_by_scored, dev_choices, known_to_model, verdict_of
from finetune.task_types.marked_text import clean
from finetune.task_types.saved_predictions import saved_config
from finetune.task_types.task import TEST

PIPELINES = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
}
TAGS = PIPELINES | {"ForQuestionAnswering": "question-answering", "ForMultipleChoice": "multiple-choice"}
MINILM_ON_HUB = "sentence-transformers/all-MiniLM-L6-v2"  # the model in the package of `minilm`
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_HUB = re.compile(r"([\w.-]+/[\w.-]+) \(.*\)")  # the origin of a data set of the Hub: `nyu-mll/glue (mrpc, train)`
MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
FEW_ROWS = 1_000  # training rows


def model_card(folder: RunFolder, *, hub_name: str = "") -> str:
    """The card of a finished run's model in Markdown, with a head in YAML for the Hub, and other seeds of the run.

    Its code loads the model by `hub_name` if there is one. No text of the data is in it. Raises UserError for a run
    without a model.
    """
    model, record = folder.require_model(), load_record(folder.record_file)
    others = readable_records(sorted(folder.path.resolve().parent.glob("*/record.json")))
    seeds = [record, *same_but_seeds(record, [other for _, other in others])]
    record = without_folders(record)
    split = TEST if TEST in record.scores else record.first_split
    lines = read_lines(folder, split) if folder.predictions(split).is_file() else []
    kind, settings = architecture(model), saved_config(model).get("finetune") or {}
    name = hub_name or "/".join(folder.path.resolve().parts[-3:])
    weights, metric = hub_name or f"{name}/{model.name}", record.metric(record.headline)
    templates = templates_of("finetune.analysis").overlay(autoescape=False)
    templates.filters = {
        **templates.filters, "code": code, "escaped": escaped, "percent": percent, "shown": metric.shown,
        "quoted": lambda text: json.dumps(text, ensure_ascii=False), "shell": shlex.quote,
    }  # fmt: skip
    text = templates.get_template("card.md.j2").render(
        head=_head(record, kind, name.rpartition("/")[2]), record=record, hub=hub_name, name=name, kind=kind,
        pipelines=PIPELINES, weights=weights, loading=loaded_in_transformers(model, weights),
        line=next(iter(lines), {}), plain_metrics=plain_metrics, baseline_words=baseline_words, settings=settings,
        columns=layout.get("text", ()) if isinstance(layout := settings.get("layout"), dict) else (),
        ending=Path(str(record.recipe["task"])).suffix or ".csv",
        verdict=verdict_of(seeds).sentence, mean=verdict_of(seeds, split=record.first_split),
        ranked=sorted((run.score for run in seeds), key=metric.rank), chosen=chosen_by_scored(record),
        # A file without its folders, which only this machine has; a data set of the Hub keeps its name.
        data={name: origin if ON_HUB.fullmatch(origin) else Path(data_name_of(Path(origin))).name
              for name, origin in record.data_origin.items()},
        lineage=lineage_words(record.lineage), seed=seed_words(record).removeprefix("seed "),
        changed={key: value for key, (value,) in changed_settings([record]).items() if key not in ("model", *SEEDS)},
        limits=_limits(record),
    )  # fmt: skip
    return f"{clean(text)}\n"


def _limits(record: RunRecord) -> list[str]:
    rows = record.rows.get("train", 0)
    few = f"trained on {so_many(rows)}: another seed or other rows may give quite another score" * (rows < FEW_ROWS)
    notes = [few, *dev_choices(record), known_to_model(record), *(finding.what for finding in record.findings)]
    return [f"{note[:1].upper()}{note[1:]}." for note in notes if note]


def code(text: object, longest: int = 60) -> str:
    """A name as code on one line, also for the cell of a table."""
    words = " ".join(clean(str(text)).split())
    words = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return (f"`` {words} ``" if "`" in words else f"`{words}`").replace("|", "\\|")


def escaped(text: str) -> str:
    """A sentence with the signs of Markdown and HTML in it escaped."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def base_model(record: RunRecord) -> str | None:
    """The Hub's name of the encoder that a run, or the first run of its lineage, started from; None for another."""
    first: RunRecord | Lineage = record
    while first.lineage is not None:
        first = first.lineage
    if first.model == MINILM:
        return MINILM_ON_HUB
    return first.model if COMMIT.fullmatch(first.weights) and first.model.count("/") == 1 else None


def architecture(model: Path) -> str:
    """The end of the name of transformers' auto class that loads a model, such as `ForMaskedLM`; empty without one."""
    config = saved_config(model) if (model / "model.safetensors").is_file() else {}
    code, classes = config.get("auto_map"), config.get("architectures")
    name = str(next(iter(code if isinstance(code, dict) and code else classes or []), ""))
    name = name.replace("LMHeadModel", "ForCausalLM")  # of the auto class
    return name[name.index("For") :] if "For" in name else ""


def loaded_in_transformers(model: Path, name: str) -> str:
    """The line of Python that loads a model by its folder or name in transformers alone; empty where none does."""
    kind, quoted = architecture(model), json.dumps(name, ensure_ascii=False)
    trusted = ", trust_remote_code=True" if saved_config(model).get("auto_map") else ""
    if kind in PIPELINES:
        grouped = ', aggregation_strategy="simple"' if kind == "ForTokenClassification" else ""
        return f'pipeline("{PIPELINES[kind]}", model={quoted}{grouped}{trusted})'
    return f"AutoModel{kind}.from_pretrained({quoted}{trusted})" if kind else ""


def _head(record: RunRecord, kind: str, name: str) -> str:
    """The facts for the Hub's search and its page of a model, in YAML, without unknown facts and undefined scores."""
    from huggingface_hub import EvalResult, ModelCardData

    results = []
    for split, scores in record.scores.items():
        for metric in plain_metrics(scores):
            margin = record.margins.get(split) if metric == record.headline else None
            ends = None if margin is None else margin.interval
            if math.isfinite(scores[metric]):
                results.append(EvalResult(
                    task_type=TAGS.get(kind, "other"), dataset_type=record.task, dataset_name=record.task,
                    dataset_split=split, dataset_args={"rows": record.rows[split], "fingerprint": record.data[:10]},
                    metric_type=metric, metric_name=f"{split} {metric}", metric_value=round(scores[metric], 6),
                    metric_args=ends and {"95 % interval": [round(end, 6) for end in ends]},
                ))  # fmt: skip
    sets = {origin[1]: None for text in record.data_origin.values() if (origin := ON_HUB.fullmatch(text))}
    data = ModelCardData(
        base_model=base_model(record), datasets=list(sets) or None, pipeline_tag=TAGS.get(kind), tags=["finetune"],
        library_name="transformers" if kind else "finetune", metrics=plain_metrics(record.scores[record.first_split]),
        model_name=name, eval_results=results or None,
    )  # fmt: skip
    return data.to_yaml(line_break="\n").strip()
