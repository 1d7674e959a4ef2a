"""The table of docs/how-to/unsure.md, from results/benchmarks/unsure.json."""

from typing import Any

from finetune.analysis.table import Cells, markdown_table
from finetune.data.messages import percent


def unsure_table(measured: dict[str, Any]) -> str:
    """How often a promised risk was broken, by data set and number of dev rows."""
    lines = [
        [f"{name}: {one['kind']}", percent(one["right"]), f"{int(rows):,}", *_risk(one, found)]
        for name, one in measured["sets"].items()
        if one["right"] is not None
        for rows, found in one["sizes"].items()
    ]
    head = ["data", "right of all", "dev rows", "risk", "promised", "broken", "answered"]
    text = (
        f"{measured['draws']} draws of dev rows, with replacement, from rows that the model did not see "
        f"({measured['model']}, trained on 2,000 rows or half of the data): so the risk of a threshold is known, it is "
        "that of all these rows. *Promised*: draws in which it was. *Broken*: of all draws those in which it was "
        "promised and more was wrong; by the guarantee at most 5 %. *Answered*: the mean share of what is answered, "
        "where promised. nsmc is predicted by the small encoder of [Korean data sets](korean.md), not by minilm. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(head, lines)}\n\n{text}" + _chosen(measured)


def _chosen(measured: dict[str, Any]) -> str:
    """What choosing among runs on the same dev rows costs."""
    found = measured.get("chosen")
    if not found:
        return ""
    lines: list[Cells] = [
        [f"{int(rows):,}", *(cell for one in by.values() for cell in _counts(one))]
        for rows, by in found["sizes"].items()
    ]
    head = ["dev rows", "best of them: promised", "broken", "one of them: promised", "broken"]
    runs = len(found["runs"])
    text = (
        f"What it costs that dev chose the model: {runs} runs of {found['task']} that differ by their seed; on "
        f"each of {found['draws']} draws the best was taken, with its threshold for a risk of {percent(found['risk'])} "
        "from the same rows."
    )
    return f"\n\n{text}\n\n{markdown_table(head, lines)}"


def _counts(found: dict[str, Any]) -> list[str]:
    draws = found["draws"]
    return [percent(found["promised"] / draws), percent(found.get("broken", 0) / draws)]


def _risk(one: dict[str, Any], found: dict[str, Any]) -> list[str]:
    answered = percent(found["coverage"]) if "coverage" in found else ""
    return [percent(one["risk"]), *_counts(found), answered]
