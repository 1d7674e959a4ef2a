"""The libraries that compute an exported graph, behind one small seam: arrays by name in, arrays by name out."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.exported.export_facts import AGAIN, ExportFacts
from finetune.inference.exported.this_machine import usable_cores

PACKAGES = {"onnx": "onnxruntime", "openvino": "openvino"}  # by engine, which is the extra's name too


class Session(Protocol):
    """A graph that is loaded."""

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name; ids, mask, segments and positions are int64 `(sequences, n)`."""


def open_session(folder: Path, facts: ExportFacts) -> Session:
    """The graph of an export's folder, loaded. Raises UserError for an engine that is not installed, and for a graph
    that it cannot load.
    """
    require_engine(facts.engine)
    kinds: dict[str, Callable[[Path, ExportFacts], Session]] = {"onnx": OnnxSession, "openvino": OpenVinoSession}
    try:
        return kinds[facts.engine](folder / facts.graph, facts)
    except THEIRS:
        raise
    except Exception as error:  # each library's own class, for an operator that it lacks as for a damaged graph
        raise UserError(
            f"{folder / facts.graph}: {PACKAGES[facts.engine]} cannot load it ({first_line(error)})", AGAIN
        ) from error


def is_installed(engine: str) -> bool:
    """Whether the package of an engine is installed."""
    return find_spec(PACKAGES[engine]) is not None


def require_engine(engine: str) -> None:
    """Raises UserError that names the extra of an engine that is not installed."""
    if not is_installed(engine):
        raise UserError(
            f"the engine {engine} needs a package that is not installed ({PACKAGES[engine]})",
            f"Install it: pip install 'bert-finetune[{engine}]'",
        )


class OnnxSession:
    """A graph in onnxruntime, on the CPU."""

    def __init__(self, graph: Path, facts: ExportFacts) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = usable_cores()
        options.log_severity_level = 3  # errors, which are raised too
        self.graph, self.facts = graph, facts
        self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        names = list(self.facts.outputs)
        return dict(zip(names, self.session.run(names, dict(inputs)), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the graph is loaded again."""
        return type(self), (self.graph, self.facts)


class OpenVinoSession:
    """A graph in OpenVINO, on the CPU; its one request is for one thread at a time."""

    def __init__(self, graph: Path, facts: ExportFacts) -> None:
        import openvino

        settings = {
            "INFERENCE_NUM_THREADS": usable_cores(),
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # by default bf16 where the processor has it, which changes answers
        }
        self.graph, self.facts, self.lock = graph, facts, Lock()
        self.compiled = openvino.Core().compile_model(str(graph), "CPU", settings)

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with self.lock:
            found = self.compiled(dict(inputs))
            return {name: np.array(found[name]) for name in self.facts.outputs}

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the graph is loaded again."""
        return type(self), (self.graph, self.facts)
