"""A table with one line per run."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.page_runs import PageRuns
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.text import score_text
from finetune.runs.data_sizes import percent, share_of
from finetune.runs.seeds import seed_words
from finetune.task_types.marked_text import cut

ORDER = 30


def blocks(page: PageRuns) -> Iterator[Block]:
    """Headline score and best baseline of each run."""
    sizes = any(share_of(run.record) < 1 for run in page.runs)
    columns = ["task", "id", "model", *["size"] * sizes, "seed", "finished", "headline", "score", "best baseline"]
    rows = [_line(run, sizes=sizes) for run in page.runs]
    yield Block(title="Runs", table=Table(columns=columns, rows=rows, left=6 + sizes), wide=True)


def _line(run: RunFiles, *, sizes: bool) -> list[str]:
    """The cells of a run; with `sizes` also its share of the training rows."""
    record = run.record
    size = [percent(share_of(record))] if sizes else []
    metric, best = record.metric(record.headline), record.best_baseline(record.first_split, record.headline)
    headline = f"{record.first_split} {record.headline}"
    words = [record.task, record.id, record.model, *size, seed_words(record), record.finished, headline]
    return [*map(cut, words), metric.shown(record.score), score_text(best, metric)]
