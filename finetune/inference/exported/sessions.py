"""An exported graph in onnxruntime: arrays by name in, logits out."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.exported.export_facts import AGAIN
from finetune.inference.exported.this_machine import usable_cores
from finetune.models.feature import LOGITS


class OnnxSession:
    """A graph that is loaded, on the CPU."""

    def __init__(self, graph: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = usable_cores()
        options.log_severity_level = 3  # errors, which are raised too
        self.graph = graph
        self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """The logits; ids, mask, segments and positions are int64 `(sequences, n)`."""
        found: np.ndarray = self.session.run([LOGITS], dict(inputs))[0]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the graph is loaded again."""
        return type(self), (self.graph,)


def open_session(graph: Path) -> OnnxSession:
    """A graph, loaded. Raises UserError where onnxruntime is not installed, and for a graph that it cannot load."""
    require_onnxruntime()
    try:
        return OnnxSession(graph)
    except THEIRS:
        raise
    except Exception as error:  # onnxruntime's own class, for an operator that it lacks as for a damaged graph
        raise UserError(f"{graph}: onnxruntime cannot load it ({first_line(error)})", AGAIN) from error


def require_onnxruntime() -> None:
    """Raises UserError that names the extra where onnxruntime is not installed."""
    if find_spec("onnxruntime") is None:
        raise UserError(
            "the engine onnx needs a package that is not installed (onnxruntime)",
            "Install it: pip install 'bert-finetune[onnx]'",
        )
