"""The first thing on a page: the verdict in words, and the headline score next to the best baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.commands.report import comparison
from finetune.commands.report.other_seeds import other_seeds
from finetune.commands.report.page_runs import PageRuns
from finetune.commands.report.run_files import RunFiles
from finetune.data.messages import noun
from finetune.data.stored import data_name_of
from finetune.runs.verdict import Verdict, baseline_words, verdict_of
from finetune.task_types.marked_text import cut

MOST_HEADLINES = 6


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The verdict on a run or on seeds: `level` is better, unclear, worse or alone. `facts` are (name, value)."""

    level: str
    sentence: str
    score: str
    under: str
    facts: Sequence[tuple[str, str]]
    link: str


@dataclass(frozen=True, kw_only=True)
class Headlines:
    """The headlines of a page, `more` than which there are not shown, and sentences on all of them together.

    `letters`: the headlines are those of A and B, which are compared.
    """

    headlines: Sequence[Headline]
    more: int
    sentences: Sequence[str]
    letters: bool


def opening(page: PageRuns) -> Headlines:
    """A headline for each group of seeds; of a learning curve, for the largest size."""
    curves, found = page.curves, page.comparison
    smaller = {record.id for curve in curves for size in curve.sizes[:-1] for record in size.records}
    leading = [group for group in page.groups if group[0].record.id not in smaller]
    return Headlines(
        headlines=[headline(some, link=f"run-{page.runs.index(some[0]) + 1}") for some in leading[:MOST_HEADLINES]],
        more=max(0, len(leading) - MOST_HEADLINES),
        sentences=[curve.answer for curve in curves]
        + ([comparison.sentence(found), *other_seeds(page.groups)] if found else []),
        letters=found is not None,
    )


def headline(group: Sequence[RunFiles], *, link: str) -> Headline:
    """The headline of runs that differ only in seeds."""
    record, found = group[0].record, verdict_of([one.record for one in group])
    rows = ", ".join(f"{split} {count:,}" for split, count in record.rows.items())
    facts = {
        "task": record.task,
        "model": record.model,
        "data": _origin(group[0]),
        "rows": rows,
        "finished": record.finished[:10],
        noun(len(group), "run"): ", ".join(one.record.id for one in group),
    }
    return Headline(
        level=found.level, sentence=cut(found.sentence), score=found.metric.shown(found.score), under=_under(found),
        facts=[(name, cut(value)) for name, value in facts.items() if value], link=link,
    )  # fmt: skip


def _under(found: Verdict) -> str:
    """What is written under the score: metric, interval, best baseline."""
    shown, text = found.metric.shown, f"{found.split} {found.metric.name}"
    if found.interval is not None:
        text += f", 95 % {' to '.join(map(shown, found.interval))}"
    if found.baseline is not None and found.difference is not None:
        text += f"; {baseline_words(found.baseline)} {shown(found.score - found.difference)}"
    return text


def _origin(one: RunFiles) -> str:
    return ", ".join(dict.fromkeys(data_name_of(Path(origin)) for origin in one.record.data_origin.values()))
