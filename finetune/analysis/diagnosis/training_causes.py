"""Causes in the training: a learning rate or a length that does not fit, or weights of a late epoch."""

import math
from typing import Any

from finetune.analysis.diagnosis.cause import Cause
from finetune.analysis.diagnosis.commands import run_again, typed_words
from finetune.analysis.diagnosis.figures import Figures
from finetune.runs.seeds import CONSTANT

NO_STEP = 2e-5  # the sum of all steps that Adam can have made: one of the paper's
FAR = 4  # times the usual learning rate, or a fraction of it, that explains a failure
VERY_HIGH = 10  # times it, which explains one by itself
FLAT = 0.01  # share of the first epoch's loss by which no later one is lower
FALLEN = 0.03  # the same of one that has begun to fall
STILL_HIGH = 0.5  # share of the first epoch's loss above which training has not come far
STILL_FALLS, SURELY_FALLS = 0.002, 0.02  # shares of the loss on dev that the last epoch took off
FEW_UPDATES = 50  # after which a new head is near random
ENOUGH_UPDATES, TIMES = 200, 3  # of a longer run
RISEN, SOME_RISEN = 1.5, 1.1  # times the lowest loss on dev; the latter where the score has fallen too
RISE_TO_SEE = 0.1  # share of the first loss on dev: of tiny losses no rise matters
LEARNED = 0.7  # share of the first epoch's loss on the training rows that is left


def no_step(found: Figures) -> Cause | None:
    """The learning rate is so low that no weight can have moved."""
    rate, updates = found.rate, found.updates
    if rate is None or not found.losses or rate * updates >= NO_STEP or found.is_better or found.is_right:
        return None
    moved = f"{updates:,} updates with train.learning_rate {rate:g} move no weight by more than {rate * updates:.1g}"
    evidence = f"{moved}{_from_to(found, '; the loss went')}"
    return _with_rate(found, "loss never fell", evidence)


def one_class_by_rate(found: Figures) -> Cause | None:
    """One prediction for all rows, after a learning rate that is far too high."""
    rate = found.rate
    if rate is None or rate < VERY_HIGH * found.usual_rate:
        return None
    return one_class(found)


def one_class(found: Figures) -> Cause | None:
    """One prediction for all rows of dev, whose labels differ."""
    record = found.record
    if record.is_pretraining or (constant := _constant(found)) is None:
        return None
    most = max(record.labels.get("train", {}).values(), default=0) / max(1, record.rows.get("train", 0))
    evidence = f"each of the {found.dev_rows:,} rows of {record.first_split} is predicted as {constant}"
    evidence += f", which {most:.0%} of the training rows have" * (f"'{_frequent(found)}'" == constant)
    rate, usual = found.rate, found.usual_rate
    if rate is not None and not usual / FAR <= rate < usual * FAR:
        side = "high" if rate > usual else "low"
        return _with_rate(found, "collapsed to one class", f"{evidence}; train.learning_rate {rate:g} is {side}")
    return Cause(name="collapsed to one class", evidence=evidence, words=_longer(found))


def loss_never_fell(found: Figures) -> Cause | None:
    """No epoch had a lower loss than the first."""
    losses = found.losses
    if len(losses) < 2 or found.is_better or found.is_right or min(losses) < (1 - FLAT) * losses[0]:
        return None
    rate, usual = found.rate, found.usual_rate
    if found.updates < FEW_UPDATES and rate is not None and rate >= usual / FAR:
        return None
    evidence = f"over {len(losses)} epochs{_from_to(found, ' it went')}"
    typed = any(word.startswith("train.learning_rate=") for word in typed_words(found.record))
    if typed and rate is not None and usual / FAR <= rate <= usual * FAR:  # else one rate would follow another
        return Cause(name="loss never fell", evidence=evidence, words=_longer(found))
    if rate is not None and usual / FAR < rate <= usual:
        return _with_rate(found, "loss never fell", evidence, rate=rate / FAR)
    return _with_rate(found, "loss never fell", evidence)


def over_fitted(found: Figures) -> Cause | None:
    """The loss on dev rose after an epoch while that of training fell, and the saved weights are of a later one, though
    those of an earlier one scored better.
    """
    dev, losses, last = found.dev_losses, found.losses, found.record.selected_epoch
    if len(dev) != len(losses) or not 1 < last <= len(dev):
        return None
    if found.record.recipe.get("train", {}).get("select") == "best" or max(found.ranks[:last]) <= found.ranks[last - 1]:
        return None  # `select=best` would keep the same weights
    best = min(range(last), key=lambda epoch: dev[epoch]) + 1
    rose, lost = dev[last - 1] / max(dev[best - 1], 1e-9), _lost(found, best, last)
    if best == last or losses[last - 1] > LEARNED * losses[0] or dev[last - 1] - dev[best - 1] < RISE_TO_SEE * dev[0]:
        return None
    not_gained = lost >= (0 if found.is_better else -found.noise)
    if not ((rose >= RISEN and not_gained) or (rose >= SOME_RISEN and lost > found.noise)):
        return None
    (low, high), (before, after) = ((each[best - 1], each[last - 1]) for each in (dev, losses))
    evidence = f"then the loss on dev rose from {low:.3g} to {high:.3g} and that of training fell from {before:.3g}"
    evidence += f" to {after:.3g}; {found.record.headline} was {found.shown(best)}, and is {found.shown(last)}"
    words = run_again(found.record, found.folder, {"train.select": "best"})
    return Cause(name=f"over-fitted after epoch {best}", evidence=evidence, words=words)


def under_trained(found: Figures) -> Cause | None:
    """Training ended while the loss was falling."""
    if found.record.is_pretraining or found.is_better or found.is_right or not found.losses or not _still_falls(found):
        return None
    losses, dev = found.losses, found.dev_losses
    evidence = f"after {found.updates:,} updates the loss was still falling"
    evidence += f", from {losses[0]:.3g} to {losses[-1]:.3g}" if len(losses) > 1 else f", {losses[0]:.3g} on average"
    evidence += f", and on dev {dev[-1]:.3g}" if dev else ""
    name = "under-trained"
    if found.rate is not None and found.rate <= found.usual_rate / FAR:
        return _with_rate(found, name, f"{evidence}; train.learning_rate {found.rate:g} is low")
    return Cause(name=name, evidence=evidence, words=_longer(found))


def _still_falls(found: Figures) -> bool:
    losses, dev, collapsed = found.losses, found.dev_losses, _constant(found) is not None
    if found.updates < FEW_UPDATES:
        return True
    if len(losses) == 1:
        return bool(dev and dev[0] < (1 - FALLEN) * losses[0])
    if losses[-1] >= losses[-2] or losses[-1] > (1 - FLAT) * losses[0]:
        return False
    if losses[-1] < STILL_HIGH * losses[0] and not collapsed:
        return False
    if dev:
        return dev[-1] == min(dev) and dev[-1] <= (1 - (SURELY_FALLS if collapsed else STILL_FALLS)) * dev[-2]
    gained = found.ranks[-1] - found.ranks[-2]
    return found.verdict.level == "worse" and found.ranks[-1] == max(found.ranks) and gained > found.noise / 2


def _lost(found: Figures, best: int, last: int) -> float:
    """By how much the headline score of an epoch is better than that of a later one."""
    lost = found.ranks[best - 1] - found.ranks[last - 1]
    return 0.0 if math.isnan(lost) else lost


def _constant(found: Figures) -> str | None:
    """The one prediction of all rows; of a record that does not say, that of a baseline whose scores the model has."""
    record = found.record
    if record.observed is not None:
        return None if record.observed.constant is None else f"'{record.observed.constant}'"
    split = record.first_split
    scores = record.scores[split]
    for name, given in record.baselines.get(split, {}).items():
        known = [metric for metric in given if metric in scores]
        if name in CONSTANT and known and all(math.isclose(given[one], scores[one]) for one in known):
            return f"by the baseline '{name}'"
    return None


def _frequent(found: Figures) -> str:
    counts = found.record.labels.get("train", {})
    return max(counts, key=lambda name: counts[name], default="")


def _from_to(found: Figures, verb: str) -> str:
    losses = found.losses
    return f"{verb} from {losses[0]:.4g} to {losses[-1]:.4g}" if len(losses) > 1 else ""


def _with_rate(found: Figures, name: str, evidence: str, rate: float = 0.0) -> Cause:
    """The run again with another learning rate, by default that which is usual; no command where the number has
    another meaning.
    """
    changes = {"train.learning_rate": rate or found.usual_rate}
    words = () if found.rate is None else run_again(found.record, found.folder, changes)
    return Cause(name=name, evidence=evidence, words=words)


def _longer(found: Figures) -> tuple[str, ...]:
    """The run again, three times as long or more, in the unit that its length has; nothing where it has none."""
    if not found.trains_by_updates:
        return ()
    train, updates = found.record.recipe.get("train", {}), found.updates
    wanted = max(TIMES * updates, ENOUGH_UPDATES)
    if train.get("updates"):
        return run_again(found.record, found.folder, {"train.updates": wanted})
    epochs = max(1, len(found.record.epochs))
    an_epoch = math.ceil(found.record.features.get("train", 0) / train.get("batch_size", 32)) or updates / epochs
    changes: dict[str, Any] = {"train.epochs": max(TIMES * epochs, math.ceil(wanted / max(1, an_epoch)))}
    return run_again(found.record, found.folder, changes)
