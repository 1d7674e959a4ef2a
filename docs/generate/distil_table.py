"""The table of docs/how-to/distil.md, from results/benchmarks/distil.json."""

import statistics
from collections import defaultdict
from typing import Any

from finetune.analysis.table import Cells, markdown_table

MODELS = ("teacher", "student", "student without a teacher")


def distil_table(measured: dict[str, Any]) -> str:
    """Dev scores by data set and student, means over seeds, and the student's lead over itself without a teacher."""
    cells: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for key, found in measured["parts"].items():
        name, student, _ = key.split(": ")
        cells[name, student].append(found)
    lines: list[Cells] = []
    for (name, student), every in cells.items():
        scores = [[100 * one["models"][model]["score"] for model in MODELS] for one in every]
        leads = [taught - plain for _, taught, plain in scores]
        size = every[0]["models"]["student"]["parameters"] / every[0]["models"]["teacher"]["parameters"]
        spread = f" ({min(leads):+.1f} to {max(leads):+.1f})" if len(leads) > 1 else ""
        shown = [f"{statistics.fmean(column):.1f}" for column in zip(*scores, strict=True)]
        lead = f"{statistics.fmean(leads):+.1f}{spread}"
        lines.append([name, student, every[0]["metric"], str(len(every)), *shown, lead, f"{size:.0%}"])
    head = ["data", "layers of the student", "score", "seeds", *MODELS, "lead", "weights"]
    text = (
        f"Scores of dev, minilm as teacher (six layers). Teacher and students have {measured['labelled_rows']:,} rows "
        "with labels where nothing else is named, three epochs; texts are sentences without labels. The "
        "lead is over the same student without a teacher, with the least and the greatest of the seeds; weights "
        "are the student's against the teacher's. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"
