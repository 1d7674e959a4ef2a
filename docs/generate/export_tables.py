"""The tables of docs/how-to/export.md and serve.md, from results/benchmarks/exports.json and serving.json."""

import statistics
from typing import Any

from finetune.analysis.table import Cells, markdown_table

FIGURES = {"rows/s": "rows/s", "p50 ms": "one row, ms", "p99 ms": "p99", "start s": "start, s", "memory MB": "peak MB"}
ENGINES = ("torch fp32", "torch bf16", "onnx fp32", "onnx int8, 7 bits")
SERVER = {"requests_per_second": "requests/s", "p50_ms": "p50, ms", "p99_ms": "p99, ms"}


def exports_table(measured: dict[str, Any]) -> str:
    """By task and engine: size, speed, and what the export changed."""
    lines: list[Cells] = []
    for task, engines in measured["tasks"].items():
        if all(found["rounds"] for found in engines.values()):
            lines += [[task, name, *_export_cells(engines[name])] for name in ENGINES]
    head = ["task", "engine", "MB", *FIGURES.values(), "answers changed", "score lost, points"]
    text = (
        "MiniLM trained on 1,000 rows a task; medians of rounds in which the engines took turns, "
        f"{measured['limit']} dev rows in batches and one by one. Changed answers and lost score are the "
        "export's check, on all dev rows of the run, against its weights in fp32. "
        f"{_machine(measured)}"
    )
    return f"{markdown_table(head, lines)}\n\n{text}"


def _export_cells(found: dict[str, Any]) -> list[str]:
    medians = {name: statistics.median(one[name] for one in found["rounds"]) for name in FIGURES}
    speed = [f"{medians[name]:,.{0 if medians[name] >= 100 else 1}f}" for name in FIGURES]
    if "MB" not in found:
        return ["", *speed, "", ""]
    lost = f"{found['score']['run'] - found['score']['export']:+z.1f}" if found["score"] else ""
    return [f"{found['MB']:.1f}", *speed, f"{found['changed']} of {found['rows']:,}", lost]


def serving_table(measured: dict[str, Any]) -> str:
    """Requests a second and their times, by server and number of clients."""
    lines: list[Cells] = []
    for clients, servers in measured["clients"].items():
        for name, rounds in servers.items():
            medians = [statistics.median(one[key] for one in rounds) for key in SERVER]
            lines.append([clients, name, *(f"{value:,.0f}" for value in medians)])
    table = markdown_table(["clients", "server", *SERVER.values()], lines)
    hostile = measured["hostile"]
    text = (
        f"Engine {measured['engine']}, one row a request; medians of rounds in which the servers took turns. "
        f"{hostile['requests']:,} damaged and odd requests: {hostile['faults']} faults of the server. "
        f"{_machine(measured)}"
    )
    if kept := measured.get("memory"):
        first, last = kept[min(1, len(kept) - 1)], kept[-1]
        text += (
            f" Under the load of 8 clients it had {first['megabytes']:,.0f} MB after {first['minute']} minutes and "
            f"{last['megabytes']:,.0f} MB after {last['minute']}."
        )
    return f"{table}\n\n{text}"


def _machine(measured: dict[str, Any]) -> str:
    facts = measured["machine"]
    threads = facts["cpu"]["threads"]
    return f"{facts['cpu']['name']}, {threads} thread{'s' * (threads > 1)}, {facts['date'][:10]}."
