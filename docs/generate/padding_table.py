"""The table of padding in batches, from results/benchmarks/padding.json."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table


def padding_table(measured: dict[str, Any]) -> str:
    """A row for each task: the share of padding in training and in prediction, on a CPU and on a GPU."""
    lines = list[Cells]()
    for name, found in measured["tasks"].items():
        cells = [name, f"{found['rows']['train']:,}", f"{found['batch_size']}", f"{found['mean_tokens']:.0f}"]
        cells += [
            f"{100 * found[pass_][device]['tokens']:.0f}"
            for pass_ in ("training", "prediction")
            for device in ("cpu", "cuda")
        ]
        lines.append(cells)
    head = [
        "task",
        "rows",
        "batch",
        "mean tokens",
        "training, CPU",
        "training, GPU",
        "prediction, CPU",
        "prediction, GPU",
    ]
    made = (
        "Padding in 100 tokens that are computed: batches of an epoch, and of the dev rows as they are predicted. NSMC "
        f"and KorSTS with a vocabulary of their own rows, others with MiniLM's ({measured['date'][:10]})."
    )
    return "\n".join([markdown_table(head, lines), "", made])
