"""Prints the generated tables of the documents, from results/ and declarations; with --write, writes them there.

A page holds a table between `<!-- name -->` and `<!-- /name -->`, or a list between the same within a line (a line
that begins with one would be HTML).
"""

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import again_tables
import benchmark_tables
import declared
import korean_tables
import pretraining_tables
import record_tables
import reference
import scale_tables
from badges import badges_line
from decisions import decisions
from distil_table import distil_table, soups_table
from encoder_types_table import encoder_types_table, encoder_types_table_ko
from export_tables import exports_table, serving_table
from families_table import families_table
from few_rows_table import few_labels_table, few_rows_table
from gpu_table import gpu_table
from growth_chart import growth_chart, growth_table, growth_table_ko
from heads_charts import heads_charts
from heads_tables import equal_table, heads_facts, heads_table, off_table
from label_next_table import label_next_probe, label_next_runs, label_next_short
from memory_chart import memory_chart
from ordinal_table import ordinal_table
from overlapping_table import overlapping_table
from padding_table import padding_table
from pipeline_table import pipeline_table
from ranking_table import ranking_table
from sequences_table import beams_table, written_table
from shift_table import shift_table, shift_table_ko
from short_runs_table import short_runs_table
from techniques_table import techniques_table, techniques_table_ko
from together_table import together_table
from unsure_table import unsure_table
from used_rows_table import used_rows_table
from warmup_table import warmup_table

from finetune.runs.record_files import all_records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "benchmarks"
CHARTS = {"en": ROOT / "docs" / "explanation", "ko": ROOT / "docs" / "ko" / "explanation"}  # of charts in each language
SCALE: dict[str, tuple[str, Callable[..., str]]] = {
    "distil": ("distil.json", distil_table),
    "soups": ("soups.json", soups_table),
    "exports": ("exports.json", exports_table),
    "serving": ("serving.json", serving_table),
    "serving-export": ("serving_export.json", serving_table),
    "families-speed": ("families.json", families_table),
    "families-small": ("families_small.json", families_table),
    "used-rows": ("used_rows.json", used_rows_table),
    "padding": ("padding.json", padding_table),
    "against-pipeline": ("against_pipeline.json", pipeline_table),
    "short-runs": ("short_runs.json", short_runs_table),
    "growth": ("growth.json", growth_table),
    "growth-ko": ("growth.json", growth_table_ko),
    "keep-labels": ("keep_labels.json", again_tables.keep_labels_table),
    "robust": ("robust.json", again_tables.robust_table),
    "lora": ("lora.json", benchmark_tables.lora_table),
    "many-runs": ("many_runs.json", scale_tables.many_runs_table),
    "pretraining-speed": ("pretraining_speed.json", pretraining_tables.speed_table),
    "tokenizer-sizes": ("tokenizer_sizes.json", pretraining_tables.vocabularies_table),
    "tokenizer-training": ("train_tokenizers.json", pretraining_tables.training_table),
    "predict-rows": ("many_rows.json", scale_tables.predict_rows_table),
    "search": ("search.json", benchmark_tables.search_table),
    "together": ("together.json", together_table),
    "trackers": ("trackers.json", scale_tables.trackers_table),
    "optimizers": ("optimizers.json", techniques_table),
    "optimizers-ko": ("optimizers.json", techniques_table_ko),
    "word2vec": ("word2vec.json", techniques_table),
    "warmup": ("warmup.json", warmup_table),
}  # a table is empty until it was measured


@cache
def blocks() -> dict[str, str]:
    """Every generated block, by marker."""
    every = all_records(ROOT / "results")
    records = [
        record
        for record in every
        if not record.is_pretraining
        and record_tables.settings_of(record) in (record_tables.GLUE, record_tables.QUICKSTART)
    ]
    speed = [_benchmark(name) for name in ("against_trainer.json", "against_trainer_bf16.json")]
    return (
        declared.blocks()
        | reference.blocks()
        | record_tables.demo_blocks(records)
        | {"badges": badges_line()}
        | {
            "glue": record_tables.short_glue_table(every),
            "glue-sources": record_tables.whole_glue_table(every),
            "measured": record_tables.glue_table(records),
            "shapes": record_tables.shapes_table(every, _benchmark("rates.json")["rates"]),
            "spans": benchmark_tables.spans_table(_benchmark("squad_postprocessing.json")),
            "speed": benchmark_tables.speed_table(*speed),
            "speed-gpu": gpu_table(json.loads((ROOT / "results" / "gpu" / "speed.json").read_text())),
            "speed-half": benchmark_tables.speed_table(_benchmark("against_trainer_avx512.json")),
            "ablations": record_tables.ablations_table(every),
            "pretraining-growth": pretraining_tables.growth_table(every),
            "pretraining-korean": pretraining_tables.korean_table(every),
            "korean-published": korean_tables.published_table(),
            "korean-encoder": korean_tables.encoder_table(every),
            "korean-minutes": korean_tables.minutes_table(every),
            "korean-minutes-ko": korean_tables.minutes_table(every, korean=True),
            "pretraining-curve": pretraining_tables.curve_table(every),
            **{
                name: pretraining_tables.recipe_table(name, ROOT / "results")
                for name in ("table-5", "table-6", "adaptation")
            },
            "cached": benchmark_tables.cached_table(_benchmark("cached_epochs.json")),
            "memory-by-rows": benchmark_tables.memory_table(_benchmark("memory_by_rows.json")),
            "reliability": benchmark_tables.reliability_table(_benchmark("reliability.json")),
            "reliability-pretraining": benchmark_tables.reliability_table(_benchmark("reliability_pretraining.json")),
            "reliability-figures": benchmark_tables.reliability_figures(_benchmark("reliability.json")["figures"]),
            "api-start": benchmark_tables.api_start_table(_benchmark("api_start.json")),
            "encoder-types": encoder_types_table(_benchmark("encoder_types.json")),
            "encoder-types-ko": encoder_types_table_ko(_benchmark("encoder_types.json")),
            "label-errors": benchmark_tables.label_errors_table(_benchmark("label_errors.json")),
            "label-errors-of-types": benchmark_tables.label_errors_of_types_table(
                _benchmark("label_errors_of_types.json")
            ),
            "unsure": unsure_table(_benchmark("unsure.json")),
            "few-rows": few_rows_table(_benchmark("few_rows.json"), _benchmark("setfit_few_rows.json")),
            "few-labels": few_labels_table(
                *map(_benchmark, ("few_labels.json", "few_rows.json", "setfit_few_rows.json"))
            ),
            "ordinal": ordinal_table(_benchmark("ordinal.json")),
            "sequences": written_table(_benchmark("sequences.json")),
            "sequences-ko": written_table(_benchmark("sequences.json"), korean=True),
            "sequences-beams": beams_table(_benchmark("sequences.json")),
            "sequences-beams-ko": beams_table(_benchmark("sequences.json"), korean=True),
            "ranking": ranking_table(_benchmark("ranking.json")),
            "overlapping": overlapping_table(_benchmark("overlapping_spans.json")),
            "shift": shift_table(_benchmark("shift.json")),
            "shift-ko": shift_table_ko(_benchmark("shift.json")),
            **_heads_blocks(_benchmark("heads.json")),
            "label-next-probe": label_next_probe(_benchmark("label_next.json")),
            "label-next-runs": label_next_runs(_benchmark("label_next.json")),
            "label-next-short": label_next_short(_benchmark("label_next.json")),
            "report-page": benchmark_tables.report_page_table(_benchmark("report_page.json")),
            **{
                marker: table(_benchmark(file)) for marker, (file, table) in SCALE.items() if (RESULTS / file).is_file()
            },
            "structure": benchmark_tables.structure_table(_benchmark("structure.json")),
            "start-up": benchmark_tables.start_up_table(_benchmark("start_up.json")),
            "decisions": decisions(),
            "false-positives": benchmark_tables.false_positives_table(_benchmark("false_positives.json")),
            "measured-data": record_tables.own_data_table(
                every,
                _benchmark("check_speed.json"),
                [_benchmark(file.name) for file in sorted(RESULTS.glob("predict_*.json"))],
            ),
        }
    )


def _benchmark(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text())  # type: ignore[no-any-return]


def _heads_blocks(measured: dict[str, Any]) -> dict[str, str]:
    """The tables on heads in each language, and the figures within sentences."""
    tables = {"heads-look": heads_table, "heads-equal": equal_table, "heads-off": off_table}
    found = {f"{name}-{language}": table(measured, language) for name, table in tables.items() for language in CHARTS}
    return found | {f"heads-{name}": text for name, text in heads_facts(measured).items()}


def filled(text: str) -> str:
    """A document with every block generated again."""
    for marker, block in blocks().items():
        pattern = rf"(<!-- {marker} -->(\n?)).*?(<!-- /{marker} -->)"
        literal = block.replace("\\", r"\\")
        text = re.sub(pattern, rf"\g<1>{literal}\g<2>\g<3>", text, flags=re.S)
    return text


if __name__ == "__main__":
    if "--write" in sys.argv:
        chart = memory_chart(_benchmark("memory_by_rows.json"))
        (ROOT / "docs" / "explanation" / "memory-by-rows.svg").write_text(chart, encoding="utf-8")
        for language, folder in CHARTS.items():
            growth = growth_chart(_benchmark("growth.json"), language)
            (folder / "growth.svg").write_text(growth, encoding="utf-8")
            for name, chart in heads_charts(_benchmark("heads.json"), language).items():
                (folder / name).write_text(chart, encoding="utf-8")
    for document in (*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        if "--write" in sys.argv:
            document.write_text(filled(document.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n\n".join(blocks().values()))
