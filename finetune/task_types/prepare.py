"""From a task and a source to rows and features, with checks in between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.characters import same_text
from finetune.data.rows import Row, Rows, chosen_rows, grouped
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature, TextFeatures, lengths, text_arrays, truncated_rows
from finetune.runs.events import Watcher, Working
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 10_000  # rows that are encoded at once, to bound memory


def load_splits(
    task: Task, source: Source, *, limit: int | None = None, names: Sequence[str] | None = None
) -> dict[str, Rows]:
    """The rows of the splits that a run needs, all labelled, or of those named, labelled or not.

    `limit` is how many rows of each are drawn at random. Raises UserError for a split that is empty.
    """
    labelled = names is None
    splits = {}
    for name in names or (task.train_split, *task.dev_splits):
        loaded = task.load(source, name)
        if not loaded.rows and loaded.drawn:
            way = f"Label more rows, or give {name} other rows: {name}=FILE"
            raise UserError(f"{loaded.origin}: has too few rows to hold some out as {name}", way)
        if not loaded.rows:
            raise UserError(f"{loaded.origin}: the split '{name}' of {task.name} has no rows", "Give it at least one")
        if labelled and not all(row.gold is not None for row in loaded.rows):
            raise UserError(
                f"{loaded.origin}: rows of the split '{name}' have no label", "Label them or leave them out"
            )
        splits[name] = loaded
    return splits if limit is None else {name: _drawn(task, loaded, limit) for name, loaded in splits.items()}


def drawn_ids(splits: Mapping[str, Rows]) -> dict[str, list[str]]:
    """The ids of the rows of sampled splits that the file has, for a run to save."""
    return {name: [row.id for row in loaded.rows] for name, loaded in splits.items() if loaded.drawn}


def encode_rows(
    task: Task, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int, most_tokens: int
) -> list[Feature]:
    """The features of one split. Raises UserError for a max_length that exceeds the encoder's positions."""
    require_positions(tokenizer, max_length, most_tokens)
    return task.encode(rows, tokenizer, max_length)


def array_features(
    task: Task, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: Watcher
) -> Sequence[Feature]:
    """The features of a split, as `task.encode` gives them; in arrays if they are of texts, else packed.

    The encoder has positions for `max_length` (`require_positions`).
    """
    parts = list[Sequence[Feature]]()
    for begin, end in row_chunks(task, rows):
        watch(Working("encoding rows", begin, len(rows)))
        encoded = task.encode(rows[begin:end], tokenizer, max_length)  # these number the rows of their part
        arrays = text_arrays(encoded, first_row=begin)
        parts.append(TextFeatures([arrays]) if arrays else [feature.packed(first_row=begin) for feature in encoded])
    texts = [part.arrays for part in parts if isinstance(part, TextFeatures)]
    same = len({(*part, part["labels"].shape[1:]) for part in texts}) == 1 and len(texts) == len(parts)
    return TextFeatures(texts) if same else list(chain.from_iterable(parts))


def row_chunks(task: Task, rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """(begin, end) of parts of the rows that are encoded one after another, of about ROWS_AT_ONCE rows."""
    begin = 0
    while begin < len(rows):
        end = min(begin + ROWS_AT_ONCE, len(rows))
        while end < len(rows) and task.encode_together(rows[end - 1], rows[end]):
            end += 1
        yield begin, end
        begin = end


def scoring_groups(task: Task, rows: Sequence[Row]) -> list[str] | None:
    """What rows that are scored together share, such as their query `(rows,)`; None where each is scored alone."""
    return [same_text(getattr(row, task.scored_by)) for row in rows] if task.scored_by else None


def require_positions(tokenizer: "PreTrainedTokenizerBase", max_length: int, most_tokens: int) -> None:
    """Raises UserError for a max_length that exceeds the encoder's positions."""
    most = min(most_tokens, tokenizer.model_max_length)
    if max_length > most:
        raise UserError(
            f"max_length is {max_length}; this encoder has positions for {most} tokens", f"Set max_length={most}"
        )


def truncated_share(features: Sequence[Feature]) -> float:
    """The share of features that were truncated, 0 to 1."""
    return float(truncated_rows(features)[1].mean())


def length_summary(features: Sequence[Feature]) -> dict[str, Any]:
    """Tokens per feature: mean, median, 95th percentile and maximum."""
    token_counts = lengths(features)
    return {
        "mean": float(token_counts.mean()),
        "median": float(np.median(token_counts)),
        "95 %": float(np.percentile(token_counts, 95)),
        "most": int(token_counts.max()),
    }


def _drawn(task: Task, loaded: Rows, limit: int) -> Rows:
    """`limit` rows in order, sampled with a fixed seed, since data files are often sorted; groups that are scored
    together stay whole, the last beyond the limit if need be.
    """
    count = len(loaded.rows)
    if limit >= count:
        return loaded
    groups = scoring_groups(task, loaded.rows)
    chosen = sorted(np.random.default_rng(0).choice(count, limit, replace=False))
    if groups is not None:
        chosen = _whole_groups(groups, limit)
    slices = {name: [values[i] for i in chosen] for name, values in loaded.slices.items()}
    return replace(loaded, rows=chosen_rows(loaded.rows, chosen), slices=slices)


def _whole_groups(groups: Sequence[Any], limit: int) -> list[int]:
    """The rows, in order, of so many groups in a fixed random order that they are `limit` or more."""
    members, chosen = grouped(groups), list[int]()
    for number in np.random.default_rng(0).permutation(len(members)):
        if len(chosen) >= limit:
            break
        chosen += members[number]
    return sorted(chosen)
