"""The card of a model (README.md): what it answers, how well, and its limits, of its run's record and predictions."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from finetune.analysis.limits import limits_of
from finetune.analysis.model_calls import PIPELINES, architecture, data_ending, example_inputs, transformers_code, usage
from finetune.analysis.pages.templates import require_jinja2
from finetune.data.characters import census, kind_number
from finetune.data.messages import percent
from finetune.errors import UserError
from finetune.inference.exported.export_facts import ExportFacts, is_export, read_export_facts
from finetune.metrics.scores import plain_metrics
from finetune.models.fingerprint import fingerprint_of
from finetune.models.pretrained import MINILM
from finetune.runs.dev_choices import chosen_by_scored
from finetune.runs.folder import RunFolder
from finetune.runs.lineage import SEEDS, Lineage, lineage_words
from finetune.runs.predictions import read_lines
from finetune.runs.recipe_diff import settings_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records
from finetune.runs.seeds import same_but_seeds, seed_words, summarised
from finetune.runs.verdict import baseline_words, interval_of, verdict_of
from finetune.runs.without_folders import without_folders
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import clean, cut
from finetune.task_types.predictions import Line, Predictions
from finetune.task_types.saved_predictions import run_predictions, saved_config, type_of_run
from finetune.task_types.task import TEST

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

TAGS = PIPELINES | {"ForQuestionAnswering": "question-answering", "ForMultipleChoice": "multiple-choice"}
MINILM_ON_HUB = "sentence-transformers/all-MiniLM-L6-v2"  # which the package of `minilm` carries
COMMIT = re.compile(r"[0-9a-f]{40}")
ON_HUB = re.compile(r"([\w.-]+/[\w.-]+) \(.*\)")  # the origin of a data set of the Hub: `nyu-mll/glue (mrpc, train)`
LANGUAGES = {"Hangul": "ko", "Kana": "ja"}  # of scripts that one language alone is written in
LEAST_SHARE = 0.3  # of the letters, that are of a language's script
MARK = re.compile(r"\n<!-- finetune card ([0-9a-f]{16}) -->\n\Z")
MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
EXAMPLES_SHOWN = 3  # rows that are right, and rows that are wrong
MOST_LABELS, MOST_TEXTS = 60, 500


def model_card(
    folder: RunFolder,
    *,
    hub_name: str = "",
    exports: Mapping[str, ExportFacts] = MappingProxyType({}),
    with_examples: bool = False,
) -> str:
    """The card of a finished run's model in Markdown, with a head in YAML for the Hub, and other seeds of the run.

    With a name on the Hub, its model is loaded by that; `exports` are known by the names of their folders. Texts of the
    data are in it with `with_examples` alone. Raises UserError for a run without a model.
    """
    require_jinja2()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    model, record = folder.require_model(), load_record(folder.record_file)
    others = readable_records(sorted(folder.path.resolve().parent.glob("*/record.json")), load_record)
    seeds = [record, *same_but_seeds(record, [other for _, other in others])]
    record = without_folders(record)
    split = TEST if TEST in record.scores else record.first_split
    lines = read_lines(folder, split) if folder.predictions(split).is_file() else []
    table = run_predictions(record, folder, split, lines)
    table = table if table is not None and table.annotated else None
    kind, use = architecture(model), saved_config(model).get("finetune") or {}
    name = hub_name or "/".join(folder.path.resolve().parts[-3:])
    made = Environment(
        loader=PackageLoader(__package__, "."), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=False,
    )  # fmt: skip
    made.filters |= {"code": code, "escaped": escaped, "percent": percent}
    text = made.get_template("card.md.j2").render(
        head=_head(record, kind, lines, name.rpartition("/")[2]), record=record, verdict=verdict_of(seeds).sentence,
        facts=_facts(record, folder, table, use), hub=hub_name, results=name.split("/")[0], exports=exports,
        calls=_calls(record, kind, name, hub_name or f"{name}/{model.name}", example_inputs(next(iter(lines), {}))),
        ending=data_ending(record), scores=_scores(record), chosen=chosen_by_scored(record), spread=_spread(seeds),
        labels=_labels(record), data={name: _data_name(origin) for name, origin in record.data_origin.items()},
        training=_training(record), limits=limits_of(seeds, table, split),
        examples=list(_examples(table)) if with_examples and table is not None else (),
    )  # fmt: skip
    card = clean(text)
    return f"{card}\n<!-- finetune card {_digest(card)} -->\n"


def is_edited(file: Path) -> bool:
    """Whether a card is there that is not as `model_card` made it."""
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8", errors="replace")
    found = MARK.search(text)
    return found is None or found[1] != _digest(text[: found.start()])


def export_facts_of(folder: Path, run: RunFolder) -> ExportFacts:
    """What an export of a run says of itself. Raises UserError where there is none, or of another model."""
    if not is_export(folder):
        raise UserError(f"{folder}: is not an export", f"Write one: finetune export {run.path.name} -o {folder}")
    facts = read_export_facts(folder)
    if facts.source.fingerprint != fingerprint_of(run.model):
        what = f"{folder}: is an export of run {facts.source.run}, not of the model of {run.path.name}"
        raise UserError(what, f"Write one: finetune export {run.path.name} -o FOLDER")
    return facts


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


def _head(record: RunRecord, kind: str, lines: Sequence[Line], name: str) -> str:
    """What the Hub's search and its page of a model read, in YAML; what is not known is left out."""
    from huggingface_hub import ModelCardData

    sets = dict.fromkeys(one[1] for origin in record.data_origin.values() if (one := ON_HUB.fullmatch(origin)))
    data = ModelCardData(
        base_model=base_model(record), datasets=list(sets) or None, language=_language(lines),
        library_name="transformers" if kind else "finetune", pipeline_tag=TAGS.get(kind), tags=["finetune"],
        metrics=plain_metrics(record.scores[record.first_split]), model_name=name,
        eval_results=list(_results(record, kind)) or None,
    )  # fmt: skip
    return data.to_yaml(line_break="\n").strip()


def _results(record: RunRecord, kind: str) -> "Iterator[EvalResult]":
    """A result for each metric of each split; undefined scores are left out."""
    from huggingface_hub import EvalResult

    for split, scores in record.scores.items():
        margin = record.margins.get(split)
        for name in plain_metrics(scores):
            interval = margin.interval if margin is not None and name == record.headline else None
            if math.isfinite(scores[name]):
                yield EvalResult(
                    task_type=TAGS.get(kind, "other"), dataset_type=record.task, dataset_name=record.task,
                    dataset_split=split, dataset_args={"rows": record.rows[split], "fingerprint": record.data[:10]},
                    metric_type=name, metric_name=f"{split} {name}", metric_value=round(scores[name], 6),
                    metric_args=interval and {"95 % interval": [round(end, 6) for end in interval]},
                )  # fmt: skip


def _language(lines: Sequence[Line]) -> str | None:
    """The language whose script the predicted rows are in, where one language alone has it."""
    texts = [text for line in lines[:MOST_TEXTS] for text in line.values() if isinstance(text, str)]
    counts = census(texts).sum(0)
    letters = max(1, counts[1 : kind_number("jamo")].sum())
    shares = {script: counts[kind_number(script)] / letters for script in LANGUAGES}
    most = max(shares, key=shares.__getitem__)
    return LANGUAGES[most] if shares[most] >= LEAST_SHARE else None


def _facts(record: RunRecord, folder: RunFolder, table: Predictions | None, use: Mapping[str, Any]) -> dict[str, str]:
    """What a prediction is, for which columns, of how many tokens at most."""
    kind = None if table is None else type_of_run(record, folder)
    layout = use.get("layout")
    length, columns = use.get("max_length"), layout.get("text", ()) if isinstance(layout, dict) else ()
    facts = {
        "Answers": "" if kind is None else kind.answers,
        "Reads": ", ".join(map(code, columns)),
        "At once": f"{length} tokens at most" if length else "",
        "Encoder": code(record.model),
        "Task": code(record.task),
        "Run": code(record.id),
    }
    return {name: text for name, text in facts.items() if text}


def _calls(record: RunRecord, kind: str, name: str, weights: str, inputs: str) -> dict[str, tuple[str, str]]:
    """Ways to call the model, by what they need: (language, code)."""
    command, python = usage(record, name, inputs)
    calls = {
        "In Python, with `pip install bert-finetune`": ("python", python),
        "On the command line, for a file with the same columns": ("bash", command),
    }
    alone = {"With transformers alone": ("python", transformers_code(weights, kind, inputs))} if kind else {}
    return calls | alone


def _scores(record: RunRecord) -> dict[str, list[list[str]]]:
    """For each split a heading, and a line each of the model and its baselines."""
    found = {}
    for split, own in record.scores.items():
        metrics, margin = [record.metric(name) for name in plain_metrics(own)], record.margins.get(split)
        ends = " to ".join(map(record.metric(record.headline).shown, (margin and margin.interval) or ()))
        methods = {"**this model**": own}
        methods |= {baseline_words(name): given for name, given in record.baselines.get(split, {}).items()}
        found[split] = [["method", *(metric.name for metric in metrics), f"95 % interval of {record.headline}"]]
        for name, given in methods.items():
            shown = [metric.shown(given[metric.name]) if metric.name in given else "" for metric in metrics]
            found[split].append([name, *shown, ends if given is own else ""])
    return found


def _spread(seeds: Sequence[RunRecord]) -> str:
    """`Over 3 seeds macro f1 on dev has mean 83.1 (81.0 to 85.2), worst 82.0, best 84.3.`; empty for a single run."""
    if len(seeds) < 2:
        return ""
    first = seeds[0]
    metric, values = first.metric(first.headline), [record.score for record in seeds]
    ends = " to ".join(map(metric.shown, interval_of(seeds, first.first_split, metric.name) or ()))
    found, worst = summarised(values, metric), min(values, key=metric.rank)
    return (
        f"Over {len(seeds)} seeds {metric.name} on {first.first_split} has mean {metric.shown(found.mean)}"
        f"{f' ({ends})' if ends else ''}, worst {metric.shown(worst)}, best {metric.shown(found.best)}."
    )


def _labels(record: RunRecord) -> list[list[str]]:
    """A heading, and how often each label occurs in each split, the most frequent ones."""
    counts = {split: found for split, found in record.labels.items() if found}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    names.sort(key=lambda name: -max(found.get(name, 0) for found in counts.values()))
    lines = [[code(name), *(f"{found.get(name, 0):,}" for found in counts.values())] for name in names[:MOST_LABELS]]
    return [["label", *counts], *lines] if lines else []


def _data_name(origin: str) -> str:
    """The name of a file without its folders, which are those of a machine; a data set of the Hub keeps its name."""
    return origin if ON_HUB.fullmatch(origin) else Path(data_name_of(Path(origin))).name


def _training(record: RunRecord) -> dict[str, str]:
    """The lineage, the settings that differ from their defaults, the seed and versions."""
    changed = [one for one in settings_of([record]) if one.changed and one.key not in ("model", *SEEDS)]
    facts = {name.capitalize(): words for name, words in lineage_words(record.lineage).items()}
    facts |= {code(one.key): code(one.values[0], 200) for one in changed}
    facts["Seed"] = seed_words(record).removeprefix("seed ")
    facts["Device"] = f"{record.device}, {record.precision}"
    facts["Versions"] = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    return facts


def _examples(table: Predictions) -> Iterator[str]:
    """The first rows that are right and the first that are wrong, with label and prediction."""
    for side in (~table.wrong, table.wrong):
        for row in side.nonzero()[0][:EXAMPLES_SHOWN].tolist():
            texts = (cut(text) for text in dict.fromkeys(table.texts[row].values()))
            label, prediction = map(code, table.words(row))
            yield f"{' / '.join(code(text, 300) for text in texts)}: label {label}, prediction {prediction}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
