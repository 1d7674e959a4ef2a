"""A table with one line per run."""

from collections.abc import Iterator

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import score_text
from finetune.runs.data_sizes import exact_percent, share_of
from finetune.runs.seeds import seed_words
from finetune.task_types.marked_text import cut

ORDER = 30
SHARED = ("task", "model", "seed", "finished", "headline")  # columns that runs may have in common


def blocks(page: PageRuns) -> Iterator[Block]:
    """Headline score and best baseline of each run; what is the same for all of several is in the note."""
    sizes = any(share_of(run.record) < 1 for run in page.runs)
    lines = [_line(run, sizes=sizes) for run in page.runs]
    same = {name: value for name, value in lines[0].items() if all(line[name] == value for line in lines)}
    common = [name for name in same if name in SHARED]
    columns = [name for name in lines[0] if name not in common]
    yield Block(
        title="Runs",
        note=f"All: {', '.join(_named(name, same[name]) for name in common)}." if common else "",
        table=TableBlock(
            columns=columns, rows=[[line[name] for name in columns] for line in lines], left=len(columns) - 2
        ),
        wide=True,
    )


def _named(name: str, value: str) -> str:
    """`model minilm`; `seed 42`, whose value names it."""
    return value if value.startswith(f"{name} ") else f"{name} {value}"


def _line(run: RunFiles, *, sizes: bool) -> dict[str, str]:
    """The cells of a run by column; with `sizes` also its share of the training rows."""
    record = run.record
    metric, best = record.metric(record.headline), record.best_baseline(record.first_split, record.headline)
    return {
        "id": record.id,
        "task": cut(record.task),
        "model": cut(record.model),
        **({"size": exact_percent(share_of(record))} if sizes else {}),
        "seed": cut(seed_words(record)),
        "finished": record.finished[:10],
        "headline": cut(f"{record.first_split} {record.headline}"),
        "score": metric.shown(record.score),
        "best baseline": score_text(best, metric),
    }
