"""The refusal of int8 that loses too much: the figures, and the ways out, those worth trying first."""

import math

from finetune.commands.export.check import CheckedExport
from finetune.commands.export.kept import KEPT
from finetune.commands.export.wanted import MOST_TOLERANCE, WantedExport
from finetune.errors import UserError

FEW = 200  # rows, of which one answer is 0.5 % and more


def lost_too_much(checked: CheckedExport, wanted: WantedExport) -> UserError:
    """The error, with the score of both, the interval of their difference, and what was not tried yet."""
    facts, metric = checked.facts, checked.metric
    changed = f"{len(checked.changed):,} of {facts.rows:,} answers changed"
    if facts.rows < FEW:
        changed += f"; of so few rows one answer is {100 / facts.rows:.1f} %"
    if facts.score is None:
        what = f"int8 has {metric.name} undefined, and {changed}, where `tolerance` is {wanted.tolerance:g} % of them"
    else:
        low, high = facts.score.interval or (facts.score.difference, facts.score.difference)
        unit = "%" if metric.magnitudes else "points"
        what = (
            f"int8 loses {checked.lost:.2f} {unit} of {metric.name}, and `tolerance` is {wanted.tolerance:g}: "
            f"{facts.score.run:.2f} became {facts.score.export:.2f} (95 %: {low:+.2f} to {high:+.2f}), {changed}"
        )
    return UserError(what, f"Try in this order: {', '.join(_ways_out(checked, wanted))}")


def _ways_out(checked: CheckedExport, wanted: WantedExport) -> list[str]:
    """What may lose less. Weights have a scale by column in any case."""
    ways = ["`bits` 7"] if wanted.bits == 8 and wanted.engine == "onnx" else []
    ways += [f"`keep_fp32` {name}" for name in KEPT if name not in wanted.keep]
    ways += ["`engine` openvino, which is scaled by training rows"] if wanted.engine == "onnx" else []
    ways += [f"`tolerance` {math.ceil(10 * checked.lost) / 10:g}"] if checked.lost <= MOST_TOLERANCE else []
    return [*ways, "no `int8`"]
