"""A graph for OpenVINO, in fp32, or in int8 with scales from rows that are looked at before (NNCF)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from finetune.commands.export.graph import libraries_silent

NO_TELEMETRY = {"NNCF_CI": "1"}  # NNCF tells Intel of each use, and asks nobody


def convert(graph: Path, file: Path) -> None:
    """Writes an ONNX graph as `file` (.xml), with its weights next to it (.bin)."""
    import openvino

    with _mute():
        openvino.save_model(openvino.Core().read_model(graph), file, compress_to_fp16=False)


def convert_to_int8(
    graph: Path, file: Path, inputs: Sequence[Mapping[str, np.ndarray]], *, kept: Sequence[str]
) -> None:
    """Writes an ONNX graph in int8; its scales are those that the `inputs` need. `kept` products stay in fp32."""
    import openvino

    with _mute():
        import nncf

        model = openvino.Core().read_model(graph)
        there = {one.get_friendly_name() for one in model.get_ops()}
        small = nncf.quantize(
            model, nncf.Dataset(list(inputs)), subset_size=len(inputs), model_type=nncf.ModelType.TRANSFORMER,
            ignored_scope=nncf.IgnoredScope(names=[name for name in kept if name in there], validate=False),
        )  # fmt: skip
        openvino.save_model(small, file, compress_to_fp16=False)


@contextmanager
def _mute() -> Iterator[None]:
    """Without what the libraries print, log and send."""
    before: dict[str, Any] = {name: os.environ.get(name) for name in NO_TELEMETRY}
    os.environ.update(NO_TELEMETRY)
    try:
        with libraries_silent(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
