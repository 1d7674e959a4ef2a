"""The tables of speed and memory by family, from results/benchmarks/families.json and families_small.json."""

from typing import Any

from speed_tables import CLOCKS

from finetune.analysis.table import Cells, markdown_table
from finetune.models.families import FAMILIES

SHAPE = "{layers} layers of width {width}"
Found = dict[tuple[str, str], dict[str, Any]]  # (precision, what is measured) -> a family's measurement


def families_table(measured: dict[str, Any]) -> str:
    """A table for each size, and how it was measured."""
    runs, settings, cpu = measured["runs"], measured["settings"], measured["cpu"]
    parts = list[str]()
    for size, shape in settings["shapes"].items():
        mine = [each for each in runs if each["size"] == size]
        if mine:
            parts += [f"{SHAPE.format(**shape).capitalize()}:", "", _of_size(mine), ""]
    updates = " and ".join(f"{count}" for count in settings["updates"].values())
    made = (
        "Examples/s: ours and, after the slash, that of `transformers.Trainer` with rows grouped by length; in front, "
        f"how many times as fast ours is{_failures(runs)}. {_legend(runs)}Random encoders, MRPC's rows, "
        f"{updates} updates of {settings['train']['batch_size']} rows, "
        f"{cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), "
        f"{measured['date'][:10]}.{CLOCKS[settings.get('clock', 'wall')]}"
    )
    return "\n".join([*parts, made])


def _failures(runs: list[dict[str, Any]]) -> str:
    """What a cell without their rate means."""
    return ", or *fails* where theirs stops with an error" if any("failed" in each for each in runs) else ""


def _legend(runs: list[dict[str, Any]]) -> str:
    """What the last columns are."""
    if not _has_memory(runs):
        return "As one function: which parts of a layer are. "
    return (
        "Memory: what a batch of 32 rows takes beyond weights and gradients, without and with "
        "`train.gradient_checkpointing=true`, and how many times as long the batch takes with it. "
    )


def _has_memory(runs: list[dict[str, Any]]) -> bool:
    return any(each["what"] == "memory" for each in runs)


def _of_size(runs: list[dict[str, Any]]) -> str:
    """A row for each family that was measured."""
    precisions, memory = list(dict.fromkeys(each["precision"] for each in runs)), _has_memory(runs)
    head = ["family", *(f"{what}, {each}" for each in precisions for what in ("training", "prediction"))]
    lines = list[Cells]()
    for family in (name for name in FAMILIES if any(each["family"] == name for each in runs)):
        found = {(each["precision"], each["what"]): each for each in runs if each["family"] == family}
        rates = [_rates(found, each, f"{what}_per_second") for each in precisions for what in ("trained", "predicted")]
        lines.append([FAMILIES[family].title, *rates, *(_memory(found) if memory else [_parts(found)])])
    return markdown_table([*head, *(("memory", "checkpointed") if memory else ("as one function",))], lines)


def _rates(found: Found, precision: str, measure: str) -> str:
    """How many times as fast ours is, and both rates."""
    if not {(precision, "finetune"), (precision, "Trainer")} <= set(found):
        return ""
    ours, theirs = (found[precision, name].get(measure) for name in ("finetune", "Trainer"))
    if ours is None or theirs is None:
        return " / ".join("fails" if rate is None else _figure(rate) for rate in (ours, theirs))
    return f"{ours / theirs:.2f} ({_figure(ours)} / {_figure(theirs)})"


def _parts(found: Found) -> str:
    """The parts of a layer that are functions of their own."""
    parts: list[list[str]] = [each["as_functions"] for each in found.values() if "as_functions" in each]
    return " and ".join(parts[0]) or "none" if parts else ""


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _memory(found: Found) -> list[str]:
    """The memory of a batch in MB, and what it and its time become with gradient checkpointing."""
    plain, less = (found.get(("fp32", name), {}) for name in ("memory", "memory, checkpointed"))
    cells = [f"{each['bytes'] / 1e6:,.0f} MB" if "bytes" in each else "" for each in (plain, less)]
    if "refused" in less:
        return [cells[0], "not in transformers"]
    return [cells[0], f"{cells[1]}, {less['seconds'] / plain['seconds']:.1f} times as long" if all(cells) else ""]
