"""`finetune features`: embeddings from an encoder, one vector per token, word or text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal

import numpy as np
from torch import Tensor, nn

from finetune.commands.features.rows_to_embed import RowsToEmbed
from finetune.data.messages import so_many
from finetune.data.outputs import output_file
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision
from finetune.models.families import most_tokens
from finetune.models.head import Head
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Note, Watcher
from finetune.task_types.prepare import encode_rows

TokenPooling = Literal["none", "cls", "mean"]
SEQUENCES_AT_ONCE = 2_048  # sequences whose vectors are in memory together


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Of a row or one of its sequences: its id, tokens, and a vector per token `(n, width)` or for all `(1, width)`."""

    id: str
    tokens: list[str]
    vectors: np.ndarray


class EveryPosition(Head):
    """An identity head on the sequence output."""

    inputs = frozenset({"sequence"})

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`hidden`, unchanged."""
        return hidden


def write_features(
    given: RowsToEmbed, folder: Path, file: Path, *, pool: TokenPooling, watch: Watcher, device: str | None = None
) -> tuple[int, int]:
    """Writes the embeddings of rows by the encoder of a folder to a Parquet or .npz file; returns (rows, width).

    Raises UserError for a layer mix with learned weights, and for another file format.
    """
    writers: dict[str, Callable[..., tuple[int, int]]] = {
        ".parquet": partial(_write_parquet, tokens=pool == "none"),
        ".npz": partial(_write_npz, tokens=pool == "none"),
    }
    if file.suffix not in writers:
        raise UserError(f"{file}: features are written as {' or '.join(writers)}", "Use one of these suffixes")
    layers = given.recipe.layers
    if isinstance(layers, str) and layers.startswith("weighted"):
        raise UserError(f"layers = '{layers}' has weights that only training learns", "Choose a sum, or concat-last-4")
    for note in given.notes:
        watch(Note(note))
    pieces = _of_sequences(given, folder, pool=pool, watch=watch, device=device)
    with output_file(file) as scratch:
        return writers[file.suffix](scratch, _of_rows(given, pieces, pool))


def _of_rows(given: RowsToEmbed, pieces: Iterator[tuple[int, Vectors]], pool: TokenPooling) -> Iterator[Vectors]:
    """One item for each row, in order: the vectors of its sequences together, or their mean by tokens.

    A row that cannot be used has no tokens, and a vector of nan.
    """
    place, width = 0, 0
    for index, some in groupby(pieces, key=itemgetter(0)):
        one = _together([piece for _, piece in some], pool)
        width = one.vectors.shape[1]
        yield from (_nothing(name, width, pool) for name in given.ids[place : given.places[index]])
        yield one
        place = given.places[index] + 1
    yield from (_nothing(name, width, pool) for name in given.ids[place:])


def _together(parts: Sequence[Vectors], pool: TokenPooling) -> Vectors:
    """The windows or choices of one row as one."""
    tokens = [token for part in parts for token in part.tokens]
    if pool == "none":
        return replace(parts[0], tokens=tokens, vectors=np.concatenate([part.vectors for part in parts]))
    counts = [len(part.tokens) for part in parts]
    mean = np.average([part.vectors[0] for part in parts], axis=0, weights=counts)
    return replace(parts[0], tokens=tokens, vectors=mean[None].astype(np.float32))


def _nothing(name: str, width: int, pool: TokenPooling) -> Vectors:
    return Vectors(id=name, tokens=[], vectors=np.full((0 if pool == "none" else 1, width), np.nan, dtype=np.float32))


def _of_sequences(
    given: RowsToEmbed, folder: Path, *, pool: TokenPooling, watch: Watcher, device: str | None
) -> Iterator[tuple[int, Vectors]]:
    """(index of its row, vectors) of every sequence, in order."""
    where = resolve_device(device)
    model, _ = build_model(folder, lambda _: EveryPosition(()), given.recipe, device=where)
    tokenizer = load_tokenizer(folder)
    precision = resolve_precision(given.recipe.train.precision, where)
    engine = Engine(
        model=model, accelerator=build_accelerator(where, precision), pad_id=tokenizer.pad_token_id, watch=watch
    )
    features = encode_rows(
        given.task, given.rows, tokenizer, given.recipe.max_length, most_tokens(model.backbone.encoder)
    )
    if cut := len({feature.row for feature in features if feature.truncated}):
        truncated = given.task.codec.truncation_note(given.recipe.max_length)
        watch(Note(f"{cut:,} of {so_many(len(given.rows))} {truncated}"))
    sequences = list(chain.from_iterable(feature.choices or (feature,) for feature in features))
    if pool != "none":
        sequences = [replace(sequence, reads=None) for sequence in sequences]
    for begin in range(0, len(sequences), SEQUENCES_AT_ONCE):
        some = sequences[begin : begin + SEQUENCES_AT_ONCE]
        states = dict(engine.hidden_states(some, model.backbone.layer_indices(pooled=False)))
        for index, sequence in enumerate(some):
            tokens = tokenizer.convert_ids_to_tokens(list(sequence.input_ids))
            read = range(len(tokens)) if sequence.reads is None else sequence.reads
            vectors = _mixed(states[index], model.backbone.reader)
            mixed = _pooled(vectors, pool, last=model.backbone.left_to_right)
            name = str(given.rows[sequence.row].id)
            yield sequence.row, Vectors(id=name, tokens=[tokens[position] for position in read], vectors=mixed)


def _mixed(states: np.ndarray, reader: nn.Module | None) -> np.ndarray:
    """`(n, layers, width)` to `(n, width)` for a sum, or `(n, layers * width)`."""
    if reader is not None and reader.mix.how == "sum":  # type: ignore[union-attr]
        added: np.ndarray = states.sum(1)
        return added
    return states.reshape(len(states), -1)


def _pooled(vectors: np.ndarray, pool: TokenPooling, *, last: bool) -> np.ndarray:
    """The first or the last token's vector, the mean over all tokens (with [CLS] and [SEP]), or all vectors."""
    if pool == "none":
        return vectors
    if pool == "mean":
        mean: np.ndarray = vectors.mean(0, keepdims=True)
        return mean
    return vectors[-1:] if last else vectors[:1]


def _write_parquet(file: Path, found: Iterator[Vectors], *, tokens: bool) -> tuple[int, int]:
    """Columns id and vector; or id, tokens and vectors, one per token."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, width, writer = 0, 0, None
    for some in _parts(found):
        width = some[0].vectors.shape[1]
        flat = pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate([v.vectors for v in some]).ravel()), width)
        columns: dict[str, Any] = {"id": pa.array([each.id for each in some])}
        if tokens:
            ends = np.cumsum([0, *(len(each.vectors) for each in some)]).astype(np.int32)
            columns["tokens"] = pa.array([each.tokens for each in some])
            columns["vectors"] = pa.ListArray.from_arrays(pa.array(ends), flat)
        else:
            columns["vector"] = flat
        part = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part)
        count += len(some)
    if writer is not None:
        writer.close()
    return count, width


def _write_npz(file: Path, found: Iterator[Vectors], *, tokens: bool) -> tuple[int, int]:
    """Arrays ids `(rows,)`, vectors `(all, width)`, starts `(rows + 1,)` of each row's vectors, and tokens `(all,)`."""
    ids: list[str] = []
    words: list[str] = []
    counts: list[int] = []
    width = 0
    with TemporaryFile(dir=file.parent) as scratch:
        for some in _parts(found):
            width = some[0].vectors.shape[1]
            ids += [each.id for each in some]
            counts += [len(each.vectors) for each in some]
            words += [token for each in some for token in each.tokens] if tokens else []
            scratch.write(np.concatenate([each.vectors for each in some]).astype(np.float32).tobytes())
        scratch.flush()
        vectors = np.memmap(scratch, dtype=np.float32, mode="r", shape=(sum(counts), width))
        with file.open("wb") as opened:
            arrays: dict[str, Any] = {"ids": np.array(ids), "vectors": vectors, "starts": np.cumsum([0, *counts])}
            np.savez(opened, **arrays | ({"tokens": np.array(words)} if tokens else {}))
    return len(ids), width


def _parts(found: Iterator[Vectors]) -> Iterator[Sequence[Vectors]]:
    part: list[Vectors] = []
    for each in found:
        part.append(each)
        if len(part) == SEQUENCES_AT_ONCE:
            yield part
            part = []
    if part:
        yield part
