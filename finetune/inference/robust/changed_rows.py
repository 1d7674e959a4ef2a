"""Predicts a run's dev rows changed in ways that keep their label, and finds the predictions that flip."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.inference.robust.flips import ChangedRow, Flip, KindFlips, Robustness
from finetune.inference.robust.kinds import KINDS, Edit, Kind
from finetune.runs.events import Watcher, Working, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record
from finetune.task_types.parts import Codec
from finetune.task_types.prediction_lines import row_of_line

MOST_ROWS = 200  # of a kind: a share of 5 % has an interval of 3 to 9 %
NUMBERS_APART = 0.1  # of the range of the predicted numbers, over which one counts as flipped
SEED = 0


def robustness(
    predictor: Predictor, folder: RunFolder, *, most: int = MOST_ROWS, seed: int = SEED, watch: Watcher = unwatched
) -> Robustness:
    """Predicts rows of the first dev split with and without each kind of change, up to `most` rows a kind.

    Raises UserError without saved predictions, and for a task whose texts cannot be changed.
    """
    split = load_record(folder.record_file).first_split
    rows = [row_of_line(predictor.task, line, folder.path) for line in read_lines(folder, split)]
    drawn = _drawn(predictor.task.codec, rows, most, seed)
    if not drawn:
        raise UserError(f"{folder.path}: no text of its rows can be changed", "Leave `robust` out")
    needed = sorted({index for some in drawn.values() for index in some})
    watch(Working(f"predicting {so_many(len(needed))} as they are"))
    answers = predictor.answers([_alone(predictor.task.codec, rows[index]) for index in needed])
    before = dict(zip(needed, (one.value for one in answers), strict=True))
    kinds = []
    for kind in KINDS:
        if some := drawn.get(kind.name):
            watch(Working(f"predicting {so_many(len(some))} with a change: {kind.name}"))
            kinds.append(_flips(predictor, kind, some, before))
    return Robustness(split=split, kinds=kinds)


def _alone(codec: Codec[Any], row: Row) -> Row:
    """The row unchanged, read as changed ones are: without its neighbours."""
    return codec.with_texts(row, codec.texts(row)) or row


def _drawn(codec: Codec[Any], rows: Sequence[Row], most: int, seed: int) -> dict[str, dict[int, ChangedRow]]:
    """By kind up to `most` rows, changed, by their places: the same rows for all kinds as far as they can be."""
    order = Random(seed).sample(range(len(rows)), len(rows))
    drawn: dict[str, dict[int, ChangedRow]] = {}
    for kind in KINDS:
        found = ((index, changed_row(codec, rows[index], kind, seed)) for index in order)
        some = dict(islice(((index, one) for index, one in found if one is not None), most))
        drawn |= {kind.name: some} if some else {}
    return drawn


def _flips(predictor: Predictor, kind: Kind, some: Mapping[int, ChangedRow], before: Mapping[int, Any]) -> KindFlips:
    """The changed rows of a kind whose predictions are others than before."""
    apart = _apart(list(before.values()))
    after = [one.value for one in predictor.answers([one.changed for one in some.values()])]
    flips = [
        Flip(where=one, before=before[index], after=value)
        for (index, one), value in zip(some.items(), after, strict=True)
        if _differs(_expected(before[index], one, kind), value, apart)
    ]
    return KindFlips(kind=kind, rows=len(some), flips=flips)


def changed_row(codec: Codec[Any], row: Row, kind: Kind, seed: int) -> ChangedRow | None:
    """The row with one change of a kind, by the seed and the row's id; None where it has no place for it."""
    texts = codec.texts(row)
    if codec.word_by_word and not kind.keeps_words:
        return None
    source = Random(f"{seed}:{kind.name}:{row.id}")
    names = list(texts)[: codec.leading]
    for name in source.sample(names, len(names)):
        edit = kind.change(texts[name], source)
        if edit is None:
            continue
        new = {**texts, name: edit.applied(texts[name])}
        if kind.everywhere:
            new = {each: _everywhere(text, texts[name], edit) for each, text in texts.items()}
        changed = codec.with_texts(row, new)
        if changed is not None:
            return ChangedRow(row=row, changed=changed, name=name, text=texts[name], edit=edit)
    return None


def _everywhere(text: str, of: str, edit: Edit) -> str:
    """A text with the change wherever the word is that an edit of another text replaces; Korean words go on."""
    old = of[edit.start : edit.end]
    pattern = rf"(?<!\w){re.escape(old)}(?!\w)" if old.isascii() else re.escape(old)
    return re.sub(pattern, lambda _: edit.new, text)


def _expected(value: Any, one: ChangedRow, kind: Kind) -> Any:
    """The prediction that is the same: an answer that is part of the texts is changed as they are."""
    if not kind.everywhere or not isinstance(value, str) or not hasattr(one.row, "context"):
        return value
    return _everywhere(value, one.text, one.edit)


def _apart(values: Sequence[Any]) -> float:
    """How far apart two numbers are that count as different."""
    numbers = [value for value in values if isinstance(value, float)]
    return NUMBERS_APART * (max(numbers) - min(numbers)) if numbers else 0.0


def _differs(before: Any, after: Any, apart: float) -> bool:
    if isinstance(before, float):
        return bool(abs(after - before) > apart)
    return bool(before != after)
