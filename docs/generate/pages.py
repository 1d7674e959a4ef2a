"""Prints the generated tables of the documents, from results/ and declarations; with --write, writes them there.

A page holds a table between `<!-- name -->` and `<!-- /name -->`, or a list between the same within a line (a line
that begins with one would be HTML).
"""

import json
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import again_tables
import benchmark_tables
import declared
import korean_tables
import pretraining_tables
import record_tables
import reference
from badges import badges_line
from decisions import decisions
from distil_table import distil_table
from export_tables import exports_table, serving_table
from families_table import families_table
from few_rows_table import few_labels_table, few_rows_table
from growth_chart import growth_chart, growth_table, growth_table_ko
from heads_charts import heads_charts
from heads_tables import equal_table, heads_facts, heads_table, off_table
from memory_chart import memory_chart
from padding_table import padding_table
from ranking_table import ranking_table
from speed_tables import (
    cpu_parts_table,
    gpu_table,
    pipeline_table,
    step_profile_table,
    used_rows_table,
)
from unsure_table import unsure_table

from finetune.runs.record_files import all_records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "benchmarks"
CHARTS = {"en": ROOT / "docs" / "explanation", "ko": ROOT / "docs" / "ko" / "explanation"}  # of charts in each language
Table = Callable[..., str]
MEASURED: dict[str, tuple[Table, *tuple[str, ...]]] = {
    "distil": (distil_table, "distil"),
    "exports": (exports_table, "exports"),
    "serving": (serving_table, "serving"),
    "families-speed": (families_table, "families"),
    "families-small": (families_table, "families_small"),
    "cpu-parts": (cpu_parts_table, "cpu_parts", "cpu_parts_bf16"),
    "step-profile": (step_profile_table, "step_profile"),
    "used-rows": (used_rows_table, "used_rows"),
    "padding": (padding_table, "padding"),
    "against-pipeline": (pipeline_table, "against_pipeline"),
    "growth": (growth_table, "growth"),
    "growth-ko": (growth_table_ko, "growth"),
    "keep-labels": (again_tables.keep_labels_table, "keep_labels"),
    "lora": (benchmark_tables.lora_table, "lora"),
    "pretraining-speed": (pretraining_tables.speed_table, "pretraining_speed"),
    "tokenizer-sizes": (pretraining_tables.vocabularies_table, "tokenizer_sizes"),
    "search": (benchmark_tables.search_table, "search"),
    "speed": (benchmark_tables.speed_table, "against_trainer", "against_trainer_bf16"),
    "speed-half": (benchmark_tables.speed_table, "against_trainer_avx512"),
    "cached": (benchmark_tables.cached_table, "cached_epochs"),
    "memory-by-rows": (benchmark_tables.memory_table, "memory_by_rows"),
    "reliability": (benchmark_tables.reliability_table, "reliability"),
    "reliability-pretraining": (benchmark_tables.reliability_table, "reliability_pretraining"),
    "reliability-figures": (lambda file: benchmark_tables.reliability_figures(file["figures"]), "reliability"),
    "label-errors": (benchmark_tables.label_errors_table, "label_errors"),
    "label-errors-of-types": (benchmark_tables.label_errors_of_types_table, "label_errors_of_types"),
    "unsure": (unsure_table, "unsure"),
    "few-rows": (few_rows_table, "few_rows", "setfit_few_rows"),
    "few-labels": (few_labels_table, "few_labels", "few_rows", "setfit_few_rows"),
    "ranking": (ranking_table, "ranking"),
    "false-positives": (benchmark_tables.false_positives_table, "false_positives"),
}  # a table, and the measurements that it reads
OF_RECORDS: dict[str, Table] = {
    "glue": record_tables.short_glue_table,
    "glue-sources": record_tables.whole_glue_table,
    "ablations": record_tables.ablations_table,
    "pretraining-growth": pretraining_tables.growth_table,
    "pretraining-korean": pretraining_tables.korean_table,
    "pretraining-curve": pretraining_tables.curve_table,
    "korean-encoder": korean_tables.encoder_table,
    "korean-minutes": korean_tables.minutes_table,
    "korean-minutes-ko": partial(korean_tables.minutes_table, korean=True),
}  # a table of all committed runs

PRETRAINING = ("table-5", "table-6", "adaptation")  # recipes


@cache
def blocks() -> dict[str, str]:
    """Every generated block, by marker."""
    every = all_records(ROOT / "results")
    own = (record_tables.GLUE, record_tables.QUICKSTART)
    records = [one for one in every if not one.is_pretraining and record_tables.settings_of(one) in own]
    return (
        declared.blocks()
        | reference.blocks()
        | record_tables.demo_blocks(records)
        | {marker: table(*map(_benchmark, files)) for marker, (table, *files) in MEASURED.items()}
        | {marker: table(every) for marker, table in OF_RECORDS.items()}
        | {
            name: pretraining_tables.recipe_table(name, ROOT / "results")
            for name in ("table-5", "table-6", "adaptation")
        }
        | _heads_blocks(_benchmark("heads"))
        | {
            "badges": badges_line(),
            "measured": record_tables.glue_table(records),
            "shapes": record_tables.shapes_table(every, _benchmark("rates")["rates"]),
            "speed-gpu": gpu_table(json.loads((ROOT / "results" / "gpu" / "speed.json").read_text())),
            "korean-published": korean_tables.published_table(),
            "decisions": decisions(),
            "measured-data": record_tables.own_data_table(every),
        }
    )


def _benchmark(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())  # type: ignore[no-any-return]


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
        chart = memory_chart(_benchmark("memory_by_rows"))
        (ROOT / "docs" / "explanation" / "memory-by-rows.svg").write_text(chart, encoding="utf-8")
        for language, folder in CHARTS.items():
            growth = growth_chart(_benchmark("growth"), language)
            (folder / "growth.svg").write_text(growth, encoding="utf-8")
            for name, chart in heads_charts(_benchmark("heads"), language).items():
                (folder / name).write_text(chart, encoding="utf-8")
    for document in (*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        if "--write" in sys.argv:
            document.write_text(filled(document.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n\n".join(blocks().values()))
