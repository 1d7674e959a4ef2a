"""The table of training speed on a GPU, of docs/explanation/speed.md."""

from statistics import fmean
from typing import Any

from finetune.commands.table.files import Cells, markdown_table


def gpu_table(file: dict[str, Any]) -> str:
    """Means over rounds, a line for each shape of batches."""
    lines = [_line(shape, found, file["peak_tflops"]) for shape, found in file["speed"].items()]
    columns = ("lengths of, BERT, batch", "finetune", "Trainer", "ratio", "of the limit", "launches an update", "idle")
    rounds = sorted({len(each) for found in file["speed"].values() for each in found.values()})
    made = (
        "Examples/s in bf16; after each slash Trainer's. The limit is a large matrix product, "
        f"{file['peak_tflops']:.0f} TFLOP/s; idle is the share of the time in which the GPU computes nothing. BERT "
        "with random weights, made-up rows with the lengths of each task, 40 updates timed after as many, means of "
        f"{' or '.join(map(str, rounds))} rounds ({file['device']}, torch {file['versions']['torch']}, transformers "
        f"{file['versions']['transformers']}, {file['date'][:10]})."
    )
    return "\n".join([markdown_table(columns, lines), "", made])


def _line(shape: str, found: dict[str, list[dict[str, float]]], peak: float) -> Cells:
    ours, theirs = (_mean(found[name]) for name in ("finetune", "trainer"))
    rate = "examples_per_second"

    def both(name: str, form: str, scale: float = 1.0) -> str:
        return " / ".join(form.format(each[name] * scale) for each in (ours, theirs))

    return [
        shape,
        f"{ours[rate]:,.0f}",
        f"{theirs[rate]:,.0f}",
        f"**{ours[rate] / theirs[rate]:.1f}**",
        both("tflops", "{:.0f} %", 100 / peak),
        both("launches_an_update", "{:,.0f}"),
        both("idle_in_profile", "{:.0f} %", 100),
    ]


def _mean(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: fmean(each[name] for each in rounds) for name in rounds[0]}
