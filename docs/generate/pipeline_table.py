"""The table of prediction next to transformers' pipeline, from results/benchmarks/against_pipeline.json."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table

NAMES = {
    "pipeline": "one row at a time, the default",
    "pipeline, sorted batches": "batches of 32 rows sorted by length",
}
CLOCKS = {
    "wall": "",
    "cpu": " Seconds that the processor computed, since the machine had other work: waiting is not counted.",
}


def pipeline_table(measured: dict[str, Any]) -> str:
    """A row for each way to call the pipeline, and how it was measured."""
    settings, cpu, rates = measured["settings"], measured["cpu"], measured["median_rows_per_second"]
    lines = list[Cells]()
    for name, title in NAMES.items():
        pairs = [(found["finetune"], found[name]) for found in rates.values()]
        lines.append([title, *(f"{ours / theirs:.2f} ({ours:.1f} / {theirs:.1f})" for ours, theirs in pairs)])
    most = max(measured["largest_difference_of_a_probability"].values())
    made = (
        f"Rows/s: ours and, after the slash, the pipeline's; in front, how many times as fast ours is. MiniLM, "
        f"{settings['rows']} pairs of MRPC, {cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), "
        f"{measured['date'][:10]}; probabilities differ by at most {most:.4f}.{CLOCKS[settings['clock']]}"
    )
    return "\n".join([markdown_table(["pipeline", *rates], lines), "", made])
