"""An exported graph in onnxruntime: logits of features, as `engine.py` computes them by the model. No torch.

Batches by tokens, the positions that are read, and the choices of a row are made here, outside of the graph.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.export_facts import AGAIN, IDS, MASK, POSITIONS, SEGMENTS, SPAN_ENDS, ExportFacts, graph_of
from finetune.inference.feature_batches import BATCH_TOKENS, require_numbers_only, token_batches
from finetune.models.feature import LOGITS, Feature, Ids, Sequences, default_numpy_errors, lengths, padded
from finetune.models.tokenizers.load import load_fast_tokenizer
from finetune.runs import process
from finetune.runs.events import Predicted, Watcher

NO_POSITION = -1

Session = Callable[[Mapping[str, np.ndarray]], np.ndarray]  # from the graph's inputs by name to its logits


@dataclass(frozen=True, kw_only=True)
class ExportedEngine:
    """A loaded graph, the facts in its folder, and the id of the padding token."""

    session: Session
    exported: ExportFacts
    pad_id: int
    watch: Watcher

    overlaps = False  # encoding in a thread would need the cores of the graph

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits, if they have any."""
        return self.exported.head.labels

    @property
    def most_tokens(self) -> int:
        """The most tokens for which the encoder has positions."""
        return self.exported.head.most_tokens

    @property
    def computes_in(self) -> tuple[str, str]:
        """The engine and the precision of its products."""
        return self.exported.engine, self.exported.precision

    def undisturbed(self) -> AbstractContextManager[None]:
        """Within it the calling program's settings of numpy do not apply."""
        return default_numpy_errors()

    def logits(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Logits of every feature, without padding, in order; shapes and errors as of `Engine.logits`."""
        sequences, by_position = Sequences(features), self.exported.head.by_position
        by_sequence: list[np.ndarray] = [np.zeros(0)] * len(sequences)
        done = 0
        for indices in token_batches(lengths(sequences), tokens=BATCH_TOKENS["cpu"]):
            if process.asked():
                raise process.Stopping
            batch = [sequences[i] for i in indices]
            for index, sequence, logits in zip(indices, batch, self.session(self._inputs(batch)), strict=True):
                reads = _reads(sequence)
                if by_position and POSITIONS in self.exported.inputs:
                    logits = logits[: len(reads)]
                elif by_position:
                    logits = logits[np.asarray(reads, dtype=np.int64)]
                by_sequence[index] = logits
            done += len(indices)
            self.watch(Predicted(done=done, total=len(sequences)))
        require_numbers_only(by_sequence, way_out=AGAIN)
        return [np.concatenate(by_sequence[first:end]) for first, end in pairwise(sequences.bounds)]

    def _inputs(self, batch: Sequence[Feature]) -> dict[str, np.ndarray]:
        """The padded inputs of the graph by name, int64 `(sequences, n)`."""
        rows: dict[str, list[Ids]] = {
            IDS: [sequence.input_ids for sequence in batch],
            MASK: [[1] * len(sequence) for sequence in batch],
            SEGMENTS: [[0] * len(part) if part.token_type_ids is None else part.token_type_ids for part in batch],
            POSITIONS: list(map(_reads, batch)),
        }
        fill = {IDS: self.pad_id, POSITIONS: NO_POSITION}
        return {name: padded(rows[name], fill.get(name, 0)) for name in self.exported.inputs}


def _reads(sequence: Feature) -> Ids:
    return range(len(sequence)) if sequence.reads is None else sequence.reads


class OnnxSession:
    """A graph on the CPU. Raises UserError for a graph that onnxruntime cannot load."""

    def __init__(self, graph: Path) -> None:
        library = load_onnxruntime()
        options = library.SessionOptions()
        options.intra_op_num_threads = usable_cores()
        options.log_severity_level = 3  # log errors alone
        self.graph = graph
        try:
            self.session = library.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except THEIRS:
            raise
        except Exception as error:  # onnxruntime raises its own class for an unknown operator and for a damaged graph
            raise UserError(f"{graph}: onnxruntime cannot load it ({first_line(error)})", AGAIN) from error

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The logits; `inputs` are int64 `(sequences, n)`."""
        if self.session.get_outputs()[0].name == LOGITS:
            return self.session.run([LOGITS], dict(inputs))[0]  # type: ignore[no-any-return]
        return np.stack(self.session.run(SPAN_ENDS, dict(inputs)), axis=-1)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy, which load the graph again."""
        return type(self), (self.graph,)


def load_onnxruntime(part: str = "") -> Any:
    """onnxruntime, or a `part` of it such as `.quantization`, with its telemetry off unless the user set it.

    Raises UserError where it is not installed.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # telemetry stores events and an id in the home folder
    try:
        return import_module(f"onnxruntime{part}")
    except ModuleNotFoundError as error:
        raise UserError(
            "an export needs a package that is not installed (onnxruntime)",
            "Install it: pip install 'bert-finetune[onnx]'",
        ) from error


def usable_cores() -> int:
    """The number of threads: OMP_NUM_THREADS, as for torch, or the cores that this process may use; 0 means all."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal():
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def load_exported(
    folder: Path, facts: ExportFacts, *, device: str | None, watch: Watcher
) -> tuple[ExportedEngine, Any]:
    """The engine and the tokenizer of an export's folder.

    Raises UserError for a device that is not a CPU, without onnxruntime, and for a damaged graph.
    """
    if device not in (None, "cpu"):
        raise UserError(f"{folder} is an export, which predicts on a CPU and not on {device}", "Leave `device` out")
    session, tokenizer = OnnxSession(graph_of(folder, facts)), load_fast_tokenizer(folder)
    return ExportedEngine(session=session, exported=facts, pad_id=tokenizer.pad_token_id, watch=watch), tokenizer
