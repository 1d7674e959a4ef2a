"""The table of warm-up against divergence, of docs/how-to/encoders.md and its Korean page."""

import statistics
from typing import Any

from finetune.commands.table.files import Cells, markdown_table

NORMS = {"post": "post-norm (BERT)", "pre": "pre-norm (`-prenorm`)"}
NEAR = 0.1  # nats; a loss so near to that of the frequencies, or above it, is of a run that learned nothing else


def warmup_table(measured: dict[str, Any]) -> str:
    """A line for each norm and warm-up, a column for each learning rate, and how it was measured."""
    settings, runs = measured["settings"], measured["runs"]
    rates = settings["learning_rates"]
    lines: list[Cells] = []
    for norm in settings["norms"]:
        for warmup in settings["warmups"]:
            chosen = [run for run in runs if (run["norm"], run["warmup"]) == (norm, warmup)]
            cells = [_cell([run for run in chosen if run["learning_rate"] == rate], measured) for rate in rates]
            lines.append([NORMS[norm], f"{warmup:.0%}".replace("%", " %") if warmup else "none", *cells])
    made = (
        f"Loss of a masked token in nats, mean of {len(settings['seeds'])} seeds (lowest to highest), in the last of "
        f"{settings['updates']} updates of {settings['batch_size']} texts; new:{settings['size']}, with gradients "
        f"clipped at 1. Knowing the frequencies alone is {measured['frequencies']:.2f}: a run within {NEAR} of it, or "
        f"above, learned nothing ({measured['cpu']['name']}, {measured['date'][:10]})."
    )
    return "\n".join([markdown_table(["encoder", "warm-up", *(f"rate {rate:g}" for rate in rates)], lines), "", made])


def _cell(runs: list[dict[str, Any]], measured: dict[str, Any]) -> str:
    """`0.52 (0.48 to 0.55)`, and how many runs diverged or learned nothing."""
    losses = [run["loss"] for run in runs if "loss" in run]
    nothing = sum(loss > measured["frequencies"] - NEAR for loss in losses)
    failures = [(len(runs) - len(losses), "diverged"), (nothing, "learned nothing")]
    parts = [f"{count} of {len(runs)} {what}" for count, what in failures if count]
    if losses:
        parts.insert(0, f"{statistics.mean(losses):.2f} ({min(losses):.2f} to {max(losses):.2f})")
    return "; ".join(parts)
