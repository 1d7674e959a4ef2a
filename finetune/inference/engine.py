"""`Engine`: logits and hidden states of features, on any device and number of processes. It changes no weights."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from finetune.inference.feature_batches import (
    BATCH_TOKENS,
    feature_sizes,
    require_numbers_only,
    stepped,
    stepped_in_half,
    stepped_on_gpu,
    stepped_reads,
    token_batches,
)
from finetune.models.batch import Batch, collate
from finetune.models.caller_state import default_torch_modes
from finetune.models.device import build_accelerator, is_out_of_memory, resolve_device, usable_precision
from finetune.models.families import most_tokens
from finetune.models.fast_paths import take_fast_paths
from finetune.models.feature import Feature, label_counts, lengths, padded, read_positions
from finetune.models.head import EncoderWithHead, Head, as_float
from finetune.models.kernels.attention import register_attention
from finetune.models.kernels.cpu import trim_memory
from finetune.models.model_folder import load_config, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs import process
from finetune.runs.events import Encoded, Note, Predicted, Watcher, unwatched

LOSSES_AT_ONCE = 256  # features
IMPOSSIBLE = -1e4  # a logit; minus infinity would make losses of padding nan
TRIMMED = 8  # batches between returns of memory to the system, of a head with a `vocabulary`


def _unpickled(model: EncoderWithHead, device: torch.device, precision: str, pad_id: int) -> "Engine":
    register_attention()  # a new process has not done it
    return Engine(model=model, accelerator=build_accelerator(device, precision), pad_id=pad_id, watch=unwatched)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A model, its accelerator (device, precision, processes), and the id of the padding token."""

    model: EncoderWithHead
    accelerator: Accelerator
    pad_id: int
    watch: Watcher

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: an accelerator belongs to its process, a watcher to its caller."""
        return _unpickled, (self.model, self.accelerator.device, self.accelerator.mixed_precision, self.pad_id)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits, if they have any."""
        return tuple(self.model.head.labels)

    @property
    def most_tokens(self) -> int:
        """The most tokens for which the encoder has positions."""
        return most_tokens(self.model.backbone.encoder)

    @property
    def overlaps(self) -> bool:
        """Whether a thread encodes rows while the model predicts others: not on a CPU, where both need the cores."""
        return bool(self.accelerator.device.type != "cpu")

    @property
    def computes_in(self) -> tuple[str, str]:
        """The type of the device, and the precision."""
        return self.accelerator.device.type, self.accelerator.mixed_precision

    def undisturbed(self) -> AbstractContextManager[None]:
        """Within it the calling program's settings of torch and numpy do not apply."""
        return default_torch_modes()

    def logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Logits of every feature, without padding, in order; the same on every process.

        Each array is `(labels,)` for a head on the pooled output, `(choices,)` for multiple choice, and
        `(positions, labels)`, perhaps reduced by `Head.reduced`, for a head on the sequence output. Raises Diverged for
        nan logits, and Stopping after a signal.
        """
        self._evaluate()
        sizes = feature_sizes(lengths(features), read_positions(features), vocabulary=self.model.head.vocabulary)
        batches = token_batches(sizes, tokens=self.batch_tokens)
        mine = batches[self.accelerator.process_index :: self.accelerator.num_processes]
        pieces: list[tuple[int, np.ndarray]] = []
        done = 0
        with torch.inference_mode(), self.accelerator.autocast():
            ahead = (self._collated([features[i] for i in indices]) for indices in mine)
            ready = list(islice(ahead, 1))
            for number, indices in enumerate(mine):
                if process.asked():
                    break
                if self.model.head.vocabulary and number % TRIMMED == 0:
                    trim_memory()
                wait_for_logits = self._reader_of([features[i] for i in indices], ready.pop())
                ready += islice(ahead, 1)  # while a GPU computes
                pieces += zip(indices.tolist(), wait_for_logits(), strict=True)
                done += len(indices) * self.accelerator.num_processes
                self.watch(Predicted(done=min(done, len(features)), total=len(features)))
        if self.model.head.vocabulary:
            trim_memory()
        self.stop_if_asked_anywhere()
        if self.accelerator.num_processes > 1:
            pieces = gather_object(pieces)
        logits = [piece for _, piece in sorted(pieces, key=lambda piece: piece[0])]
        require_numbers_only(
            logits, way_out="Train again with a lower train.learning_rate, or with train.precision=fp32"
        )
        return logits

    def _evaluate(self) -> None:
        # A model that is served is there already: going through its modules takes time.
        if self.model.training or next(self.model.parameters()).device != self.accelerator.device:
            self.model.to(self.accelerator.device).eval()

    def stop_if_asked_anywhere(self) -> None:
        """Raises Stopping in all processes if one of them got a signal: none leaves while others wait for it."""
        asked = torch.tensor(float(process.asked()), device=self.accelerator.device)
        if self.accelerator.reduce(asked, "sum").item():
            raise process.Stopping

    def loss(self, logits: Sequence[np.ndarray], features: Sequence[Feature]) -> float | None:
        """The mean loss per label, from the result of `logits`; the sum of these if the head has several losses.

        None without labels, for a head with a `vocabulary`, and if it is not finite.
        """
        if self.model.head.vocabulary:
            return None
        totals, counts, device = Counter[str](), Counter[str](), self.accelerator.device
        for begin in range(0, len(features), LOSSES_AT_ONCE):
            part = [features[i] for i in range(begin, min(begin + LOSSES_AT_ONCE, len(features)))]
            if not (labelled := label_counts(part)):
                return None
            counts.update(labelled)
            labels = collate(part, pad_id=self.pad_id).to(device).labels
            stacked = padded(logits[begin : begin + len(part)], IMPOSSIBLE, dtype=np.float32)
            losses = self.model.head.losses(torch.from_numpy(stacked).to(device), labels)
            totals.update({name: float(loss) for name, loss in losses.items()})
        mean = sum(total / max(1, counts[name]) for name, total in totals.items())
        return mean if math.isfinite(mean) else None

    def hidden_states(
        self, sequences: Sequence[Feature], layers: Sequence[int], *, pooled: bool | None = None
    ) -> Iterator[tuple[int, np.ndarray]]:
        """(index, hidden states `(n, layers, width)`) of every sequence, longest first.

        By default n are the positions that the head reads; else it is 1, the vector of the text (`pooled`), or all
        tokens.
        """
        pooled = self.model.pooled if pooled is None else pooled
        self._evaluate()
        started, done = time.perf_counter(), 0
        with torch.inference_mode(), self.accelerator.autocast():
            for chosen in token_batches(lengths(sequences), tokens=self.batch_tokens):
                batch = self.batch([replace(sequences[i], label=None) for i in chosen])
                states, mask = self.model.backbone.hidden_states(layers, pooled=pooled, **batch.for_encoder())
                yield from zip(chosen.tolist(), _without_padding(states, mask), strict=True)
                done += len(chosen)
                rate = done / (time.perf_counter() - started)
                self.watch(Encoded(done=done, total=len(sequences), rate=rate))

    def batch(self, features: Sequence[Feature]) -> Batch:
        """The features as padded tensors on the device; `padded_length` says to how many tokens."""
        return self._collated(features).to(self.accelerator.device)

    def _collated(self, features: Sequence[Feature]) -> Batch:
        length, reads = self._padded_to(features)
        batch = collate(features, pad_id=self.pad_id, length=length, reads=reads)
        return batch.pinned() if self.accelerator.device.type == "cuda" else batch

    def padded_length(self, longest: int) -> int:
        """The tokens to which a batch is padded: of few lengths, where each takes a graph or compiled code."""
        device, precision = self.computes_in
        if device == "cuda":
            return stepped_on_gpu(longest, most=self.most_tokens)
        if self.model.head.vocabulary:
            return stepped(longest, most=self.most_tokens)
        return stepped_in_half(longest, most=self.most_tokens) if (device, precision) == ("cpu", "bf16") else longest

    def _padded_to(self, features: Sequence[Feature]) -> tuple[int, int]:
        """(tokens, positions) to which a batch is padded at least; 0 pads to its longest."""
        if features[0].states is not None:
            return 0, 0
        few = self.accelerator.device.type == "cuda" or self.model.head.vocabulary
        by_position = self.model.head.vocabulary or (self.model.by_position and features[0].reads is not None)
        reads = int(stepped_reads(read_positions(features)).max()) if few and by_position else 0
        longest = max(len(sequence) for feature in features for sequence in feature.choices or (feature,))
        return self.padded_length(longest), reads

    def _reader_of(self, features: Sequence[Feature], batch: Batch) -> Callable[[], list[np.ndarray]]:
        """Starts to compute a batch; returns a function that waits for its logits. Where memory runs out, in halves."""
        try:
            batch = batch.to(self.accelerator.device)
            logits = as_float(self.model(*batch.inputs()))
            if self.model.head.vocabulary:
                logits = self.model.head.reduced(logits, batch.labels)
            return lambda: self._unpadded(logits.cpu().numpy(), features)
        except RuntimeError as error:  # torch's own class for GPUs is one, too
            if not is_out_of_memory(error) or len(features) == 1:
                raise
        middle = len(features) // 2
        first, second = (
            self._reader_of(half, self._collated(half))() for half in (features[:middle], features[middle:])
        )
        return lambda: first + second

    @property
    def batch_tokens(self) -> int:
        """The tokens of a batch of predictions, with padding."""
        return BATCH_TOKENS.get(self.accelerator.device.type, BATCH_TOKENS["cuda"])

    def _unpadded(self, logits: np.ndarray, features: Sequence[Feature]) -> list[np.ndarray]:
        if self.model.by_position:
            return [row[:count] for row, count in zip(logits, read_positions(features), strict=True)]
        return [row[: len(feature.choices) or None] for row, feature in zip(logits, features, strict=True)]


def load_engine(
    name: str,
    folder: Path,
    settings: Mapping[str, Any],
    *,
    head: Callable[..., Head],
    device: str | None,
    watch: Watcher,
) -> tuple[Engine, PreTrainedTokenizerBase]:
    """The engine and the tokenizer of a model's folder; its run saved `settings` in the config.

    A note says where training used another precision. Raises UserError for a model without a trained head.
    """
    resolved, labels = resolve_device(device), getattr(load_config(folder), "id2label", None) or {}
    loaded = load_trained(folder, head)
    if len(loaded.head.labels) > 1 and str(labels.get(0)).lower() == "label_0":
        names = ", ".join(loaded.head.labels)
        watch(Note(f"{name} does not name its labels: assumed to be {names}, in that order"))
    trained_in = settings.get("precision", "auto")
    precision = usable_precision(trained_in, resolved)
    if trained_in not in (precision, "auto"):
        text = f"{name} was trained in {trained_in}, in which this {resolved.type} does not compute natively"
        watch(Note(f"{text}: it predicts in {precision}"))
    take_fast_paths(loaded, device=resolved)
    tokenizer = load_tokenizer(folder)
    accelerator = build_accelerator(resolved, precision)
    return Engine(model=loaded, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch), tokenizer


def _without_padding(states: Tensor, mask: Tensor) -> Iterator[np.ndarray]:
    for row, count in zip(states.float().cpu().numpy(), mask.sum(1).tolist(), strict=True):
        yield row[:count]
