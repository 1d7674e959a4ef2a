"""The table of docs/how-to/overlapping-spans.md, from results/benchmarks/overlapping_spans.json."""

import statistics
from collections import defaultdict
from typing import Any

from finetune.analysis.form import Cells, markdown_table

SETS = {"flat": "entities", "nested": "entities, and names in them"}
FORMS = {"tagging": "one tagger (`tagging`)", "overlapping-spans": "one for each label (`overlapping-spans`)"}
PARTS = ("f1", "precision", "recall")


def overlapping_table(measured: dict[str, Any]) -> str:
    """Strict scores over all spans by data and form, means over seeds; the interval is that of the first seed."""
    cells: defaultdict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for key, found in measured["draws"].items():
        name, size, _, form = key.split()
        cells[name, size, form].append(found)
    lines: list[Cells] = []
    for (name, size, form), draws in sorted(cells.items(), key=lambda cell: (cell[0][0], -ord(cell[0][2][0]))):
        f1, precision, recall = (
            f"{100 * statistics.fmean(one['scores'][part] for one in draws):.1f}" for part in PARTS
        )
        low, high = (f"{100 * edge:.1f}" for edge in draws[0]["interval"])
        share = f"{draws[0]['overlapping']} of {draws[0]['spans']}"
        lines.append(
            [SETS[name], share, size, str(len(draws)), FORMS[form], f"{f1} ({low} to {high})", precision, recall]
        )
    head = ["data", "spans that overlap", "rows", "seeds", "form", "strict F1", "precision", "recall"]
    settings = " ".join(f"{name}={value}" for name, value in measured["settings"].items())
    text = (
        f"Sentences of CoNLL-2003, {measured['dev_rows']} of its dev file, `{settings}`. All spans count, those that a "
        "tagger cannot have too. In brackets the 95 % interval over the rows, of the first seed. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}"
