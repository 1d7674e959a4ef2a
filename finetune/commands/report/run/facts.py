"""Facts of a run: data, model, device, versions."""

from collections.abc import Iterator
from pathlib import Path

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import value_text
from finetune.data.messages import so_many
from finetune.runs.lineage import lineage_words
from finetune.storage.stored import data_name_of
from finetune.task_types.marked_text import cut

ORDER = 150


def blocks(run: RunFiles) -> Iterator[Block]:
    """A table of facts from the record."""
    record = run.record
    trained, every = record.trained_of_all
    facts = {
        "finished": record.finished,
        "model": f"{record.model} ({record.weights[:10]})",
        **lineage_words(record.lineage),
        "data": record.data[:10],
        **{
            f"rows of {split}": f"{count:,}, from {data_name_of(Path(record.data_origin.get(split, '')))}"
            for split, count in record.rows.items()
        },
        "options of the task": ", ".join(f"{name} {value_text(value)}" for name, value in record.options.items()),
        "device": f"{record.device}, {record.precision}, {so_many(record.processes, 'process')}",
        "training": f"{record.seconds.get('training', 0):,.0f} s, {record.examples_per_second:.1f} rows/s",
        "trained weights": f"{trained:,} of {every:,}" if every else "",
        "peak memory": f"{record.peak_memory_bytes / 2**30:.2f} GiB",
        "commit": record.git_commit or "",
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
    }
    rows = [[name, cut(text)] for name, text in facts.items() if text]
    yield Block(title="Facts", table=TableBlock(columns=["fact", "value"], rows=rows, left=2))
