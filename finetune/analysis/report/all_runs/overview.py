"""A table with one line per run."""

from collections.abc import Iterator

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.page_runs import PageRuns
from finetune.analysis.report.run_files import RunFiles
from finetune.analysis.report.text import score_text
from finetune.runs.seeds import seed_words
from finetune.task_types.marked_text import cut

ORDER = 30


def blocks(page: PageRuns) -> Iterator[Block]:
    """Headline score and best baseline of each run."""
    columns = ["task", "id", "model", "seed", "finished", "headline", "score", "best baseline"]
    yield Block(title="Runs", table=Table(columns=columns, rows=[_line(run) for run in page.runs], left=6), wide=True)


def _line(run: RunFiles) -> list[str]:
    record = run.record
    metric, best = record.metric(record.headline), record.best_baseline(record.first_split, record.headline)
    headline = f"{record.first_split} {record.headline}"
    words = [record.task, record.id, record.model, seed_words(record), record.finished, headline]
    return [*map(cut, words), metric.shown(record.score), score_text(best, metric)]
