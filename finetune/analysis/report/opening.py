"""The first thing on a page: the verdict in words, and the headline score next to the best baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.analysis.report.run_files import RunFiles
from finetune.runs.verdict import Verdict, baseline_words, verdict_of
from finetune.task_types.marked_text import cut


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The verdict on a run or on seeds: `level` is better, unclear, worse or alone. `facts` are (name, value)."""

    level: str
    sentence: str
    score: str
    under: str
    facts: Sequence[tuple[str, str]]
    link: str


def headline(group: Sequence[RunFiles], *, link: str) -> Headline:
    """The headline of runs that differ only in seeds."""
    record, found = group[0].record, verdict_of([one.record for one in group])
    sentence = found.sentence[:1].upper() + found.sentence[1:]
    rows = ", ".join(f"{split} {count:,}" for split, count in record.rows.items())
    facts = {
        "task": record.task,
        "model": record.model,
        "data": _origin(group[0]),
        "rows": rows,
        "finished": record.finished[:10],
        f"run{'s' * (len(group) > 1)}": ", ".join(one.record.id for one in group),
    }
    return Headline(
        level=found.level, sentence=cut(sentence), score=found.metric.shown(found.score), under=_under(found),
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
    return ", ".join(dict.fromkeys(one.record.data_origin.values()))
