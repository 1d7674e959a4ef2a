"""Describes, from a run's record, what was chosen on dev, which makes dev scores optimistic."""

from finetune.data.paths import is_file
from finetune.runs.record import RunRecord

OWN_DATA = ("shape", "text", "label")  # options that only user data has


def dev_choices(record: RunRecord) -> list[str]:
    """Sentences on options that were chosen on the scored rows, and on those chosen on other rows."""
    split, *others = record.scores
    options, chosen, sentences = _options(record), chosen_by_scored(record), []
    if record.cross_fitted and options:
        plural = len(options) > 1 or options[0].endswith("s")  # such as `thresholds`
        were, those = ("were", "those") if plural else ("was", "that")
        sentences.append(
            f"{split}: the {' and '.join(options)} for each row, of the baselines too, {were} chosen on other rows of "
            f"{split}; the saved model has {those} chosen on all"
        )
    if chosen:
        sentences.append(f"{split} chose {chosen}, so that its scores are optimistic{_unbiased(record, others)}")
    return sentences


def chosen_by_scored(record: RunRecord) -> str:
    """What the rows of dev chose that they are themselves predicted with, in words; may be empty."""
    return " and ".join([*_epoch(record), *([] if record.cross_fitted else _options(record))])


def known_to_model(record: RunRecord) -> str:
    """Why the saved model knows rows that it is scored on, in words; may be empty."""
    split = record.first_split
    if split in record.learned:
        return f"the saved model has learned the rows of {split} too, after these predictions"
    return ""


def chosen_for_model(record: RunRecord) -> str:
    """What was chosen on all of dev for the saved model, in words; may be empty."""
    return " and ".join((*_epoch(record), *_options(record)))


def _options(record: RunRecord) -> list[str]:
    given = record.recipe.get("options") or {}
    return [name for name in record.chosen if record.options.get(name) is not None and name not in given]


def _epoch(record: RunRecord) -> list[str]:
    """The best of several epochs or parts, or the one at which early stopping ended training."""
    train, count = record.recipe.get("train", {}), len(record.epochs)
    part, planned = record.parts
    if train.get("solver") == "logistic":  # fitted once
        return []
    if train.get("select", "last") == "best" and count > 1:
        return [f"{part} {record.selected_epoch} of {count}"]
    return [f"the number of {part}s"] if 0 < count < planned else []


def _unbiased(record: RunRecord, others: list[str]) -> str:
    if others:
        unseen = [split for split in others if not record.leaks(split)]
        return f"; those of {' and '.join(unseen)} are not" if unseen else ""
    if record.is_pretraining:
        return f"; finetune evaluate {record.id} FILE scores documents that chose nothing"
    options = record.recipe.get("options") or {}
    own = any(name in options for name in OWN_DATA) or is_file(str(record.recipe["task"]))
    return "; test=FILE scores rows that chose nothing" if own else ""
