"""The table of padding in batches, from results/benchmarks/padding.json."""

from typing import Any

from finetune.analysis.table import Cells, markdown_table

COLUMNS = [(use, device) for use in ("training", "prediction") for device in ("cpu", "cuda")]


def padding_table(measured: dict[str, Any]) -> str:
    """A row for each task: the tokens of 100 that are padding, in training and in prediction, on a CPU and on a GPU."""
    lines, every = list[Cells](), list[list[float]]()
    for name, found in measured["tasks"].items():
        every.append([100 * found[use][device]["tokens"] for use, device in COLUMNS])
        size = [f"{found['rows']['train']:,} / {found['rows']['dev']:,}", f"{found['mean_tokens']:.0f}"]
        lines.append([name, *size, *(f"{share:.0f}" for share in every[-1])])
    head = ["task", "rows of train / dev", "mean tokens", "training, CPU", "on a GPU", "prediction, CPU", "on a GPU"]
    ranges = [f"{min(shares):.0f} to {max(shares):.0f}" for shares in zip(*every, strict=True)]
    made = (
        "Of 100 tokens that are computed, those that are padding: in an epoch of batches of 16 or 32 rows, and where "
        "the dev rows are predicted. Rows without padding could save these at most: "
        f"{ranges[0]} tokens in training on a CPU and {ranges[1]} on a GPU, {ranges[2]} and {ranges[3]} in prediction. "
        f"NSMC and KorSTS with vocabularies of their own rows, others with MiniLM's ({measured['date'][:10]})."
    )
    return "\n".join([markdown_table(head, lines), "", made])
