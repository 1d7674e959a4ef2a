"""The table of training with the used word vectors alone, from results/benchmarks/used_rows.json."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table

BUSY = " Seconds that the processor computed, since the machine had other work: waiting is not counted."


def used_rows_table(measured: dict[str, Any]) -> str:
    """A row for each encoder, and how it was measured."""
    settings, cpu = measured["settings"], measured["cpu"]
    lines = list[Cells]()
    for name, ways in measured["medians"].items():
        used, every = ways["used"], ways["all"]
        rates = [each["examples_per_second"] for each in (used, every)]
        sizes = [f"{each['peak_bytes'] / 1e9:.2f}" for each in (used, every)]
        lines.append([name, f"{rates[0] / rates[1]:.2f} ({rates[0]:.1f} / {rates[1]:.1f})", " / ".join(sizes)])
    made = (
        f"Large vocabulary: {settings['vocabulary']:,} tokens, otherwise of MiniLM's shape, random. MRPC, "
        f"{settings['updates']} updates of {settings['train']['batch_size']} rows in {settings['train']['precision']}, "
        f"{cpu['threads']} thread{'s' * (cpu['threads'] > 1)} ({cpu['name']}), {measured['date'][:10]}."
        f"{BUSY if settings['clock'] == 'cpu' else ''}"
    )
    head = ["encoder", "examples/s: used words / all", "memory in GB: used words / all"]
    return "\n".join([markdown_table(head, lines), "", made])
