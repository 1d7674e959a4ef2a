"""Two runs, or two groups of seeds, on the same rows: what differs between them, in words."""

from collections.abc import Sequence
from itertools import starmap

from finetune.analysis.compare import compare_runs
from finetune.analysis.comparison import Comparison
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import NAME
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference
from finetune.runs.seeds import differing_settings
from finetune.task_types.marked_text import cut


def compared(groups: Sequence[Sequence[RunFiles]]) -> Comparison | None:
    """The comparison of two groups of one task on the first split.

    None for other numbers of groups, where rows differ, predictions are missing or the task is unknown.
    """
    if len(groups) != 2 or groups[0][0].record.task != groups[1][0].record.task:
        return None
    try:
        return compare_runs(*([one.folder for one in group] for group in groups))
    except (UserError, KeyError):
        return None


def sentence(found: Comparison) -> str:
    """`B is better than A in dev f1: B - A is +1.2 points (95 % +0.3 to +2.1, p 0.01).`"""
    name, each = next(iter(found.differences.items()))
    metric = found.metrics[name]
    if not each.value:
        return f"A and B have the same {found.split} {name}."
    unit = " points" if metric.scale == 100 else ""
    word = "better" if metric.rank(each.b) > metric.rank(each.a) else "worse"
    between = f"95 % {_interval(each, metric)}, " if each.interval else ""
    chance = ", which may be chance" if each.p > 0.05 else ""
    text = f"B is {word} than A in {found.split} {name}{chance}: B - A is {metric.signed(each.value)}{unit}"
    return f"{text} ({between}p {each.p:.2g})."


def letter_titles(groups: Sequence[Sequence[RunFiles]]) -> list[str]:
    """A title for each of two sides, with what differs: `A: frozen, 3 seeds`."""
    settings = differing_settings([group[0].record for group in groups])
    return [
        f"{letter}: {', '.join([*starmap(_in_words, one.items()), so_many(len(group), 'seed')])}"
        for letter, group, one in zip("AB", groups, settings, strict=True)
    ]


def _in_words(key: str, value: object) -> str:
    """`frozen`, `not frozen`, `train.epochs 3`"""
    return cut({True: key, False: f"not {key}"}[value] if isinstance(value, bool) else f"{key} {value}", NAME)


def _interval(each: Difference, metric: Metric) -> str:
    return " to ".join(map(metric.signed, each.interval or ()))
