"""The head of a card: what the Hub's search and its page of a model read, in YAML (`model-index` has the scores)."""

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from finetune.data.characters import census, kind_number
from finetune.inference.card.calls import PIPELINES
from finetune.inference.card.described import DescribedRun
from finetune.metrics.scores import plain_metrics
from finetune.models.pretrained import MINILM
from finetune.runs.lineage import Lineage
from finetune.runs.record import RunRecord

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

TAGS = PIPELINES | {"ForQuestionAnswering": "question-answering", "ForMultipleChoice": "multiple-choice"}
OTHER = "other"  # the Hub's name of a task that it has no page for
MINILM_ON_HUB = "sentence-transformers/all-MiniLM-L6-v2"  # which the package of `minilm` carries
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_HUB = re.compile(r"([\w.-]+/[\w.-]+) \(.*\)")  # the origin of a data set of the Hub: `nyu-mll/glue (mrpc, train)`
LANGUAGES = {"Hangul": "ko", "Kana": "ja"}  # of scripts that one language alone is written in
MOST_TEXTS = 500  # of which the script is counted
LEAST_SHARE = 0.3  # of the letters, that are of a language's script
DIGITS = 6  # of a score


def metadata_yaml(run: DescribedRun) -> str:
    """The YAML, checked by huggingface_hub; what is not known is left out."""
    from huggingface_hub import ModelCardData

    record = run.told
    metrics = plain_metrics(record.scores[record.first_split])
    data = ModelCardData(
        base_model=base_model(record),
        datasets=_datasets(record) or None,
        language=_language(run),
        library_name="transformers" if run.architecture else "finetune",
        pipeline_tag=TAGS.get(run.architecture),
        tags=["finetune"],
        metrics=[name for name in metrics if "/" not in name],
        model_name=run.name.rpartition("/")[2],
        eval_results=list(_results(run, record)) or None,
    )
    return data.to_yaml(line_break="\n").strip()


def base_model(record: RunRecord) -> str | None:
    """The name on the Hub of the encoder that a run started from, or the first run of its lineage; None for another."""
    began: RunRecord | Lineage = record
    while began.lineage is not None:
        began = began.lineage
    if began.model == MINILM:
        return MINILM_ON_HUB
    return began.model if COMMIT.fullmatch(began.weights) and began.model.count("/") == 1 else None


def _datasets(record: RunRecord) -> list[str]:
    found = (ON_HUB.fullmatch(origin) for origin in record.data_origin.values())
    return list(dict.fromkeys(one[1] for one in found if one))


def _language(run: DescribedRun) -> str | None:
    """The language whose script the predicted rows are in, where one language alone has it."""
    texts = [text for line in run.lines[:MOST_TEXTS] for text in line.values() if isinstance(text, str)]
    counts = census(texts).sum(0)
    letters = counts[1 : kind_number("jamo")].sum()
    shares = {script: counts[kind_number(script)] / max(1, letters) for script in LANGUAGES}
    most = max(shares, key=shares.__getitem__)
    return LANGUAGES[most] if shares[most] >= LEAST_SHARE else None


def _results(run: DescribedRun, record: RunRecord) -> "Iterator[EvalResult]":
    """A result for each metric of each split, as computed; undefined scores are left out."""
    from huggingface_hub import EvalResult

    for split, scores in record.scores.items():
        margin = record.margins.get(split)
        for name in plain_metrics(scores):
            interval = margin.interval if margin is not None and name == record.headline else None
            if math.isfinite(scores[name]):
                yield EvalResult(
                    task_type=TAGS.get(run.architecture, OTHER), dataset_type=record.task, dataset_name=record.task,
                    dataset_split=split, dataset_args={"rows": record.rows[split], "fingerprint": record.data[:10]},
                    metric_type=name, metric_name=f"{split} {name}",
                    metric_value=round(scores[name], DIGITS),
                    metric_args=interval and {"95 % interval": [round(end, DIGITS) for end in interval]},
                )  # fmt: skip
