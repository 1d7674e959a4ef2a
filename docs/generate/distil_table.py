"""The tables of docs/how-to/distil.md, from results/benchmarks/distil.json and soups.json."""

import statistics
from collections import defaultdict
from typing import Any

from finetune.commands.table.files import Cells, markdown_table
from finetune.runs.compared_model import ENSEMBLE, MEAN, PLAIN, SOUP, STUDENT, TEACHER

SEVERAL = (MEAN, SOUP, ENSEMBLE)
MODELS = (TEACHER, STUDENT, PLAIN)


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


def soups_table(measured: dict[str, Any]) -> str:
    """Test scores of the runs' mean, of their soup and of their ensemble, and the leads of both, by data set."""
    cells: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, found in measured["draws"].items():
        cells[key.split()[0]].append(found)
    lines: list[Cells] = []
    for name, draws in cells.items():
        scores = [[100 * one["scores"][model] for model in SEVERAL] for one in draws]
        shown = [f"{statistics.fmean(column):.1f}" for column in zip(*scores, strict=True)]
        leads = [[each[at] - each[0] for each in scores] for at in (1, 2)]
        ranges = [f" ({min(each):+.1f} to {max(each):+.1f})" if len(each) > 1 else "" for each in leads]
        best = statistics.fmean(100 * max(one["runs"]) for one in draws)
        several = [f"{shown[at]}{ranges[at - 1]}" for at in (1, 2)]
        lines.append([name, draws[0]["metric"], str(len(draws)), shown[0], *several, f"{best:.1f}"])
    head = ["data", "score", "draws", *SEVERAL, "best run, chosen on test"]
    text = (
        f"Scores of test rows that chose nothing, minilm, three epochs: {measured['about']}; in brackets the lead over "
        "the mean of the runs, with the least and the greatest of the draws of the training rows. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"
