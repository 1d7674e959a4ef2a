"""A trained model as an ONNX graph: from ids, mask and segments, and perhaps the positions that are read, to logits."""

import ast
import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from finetune.commands.export.plain import make_plain
from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.exported.export_facts import IDS, MASK, POSITIONS, SEGMENTS
from finetune.models.families import takes_segments
from finetune.models.feature import LOGITS
from finetune.models.model import EncoderWithHead

EXAMPLE = (3, 7)  # texts and tokens that are traced; any other numbers would do, but 0 and 1
MARKERS = 2  # positions that a head joins
SCOPES = "pkg.torch.onnx.name_scopes"  # of a node's metadata: the modules that it is in, the outermost first
OPERATOR = re.compile(r"\baten[.:]+\w+")


class Graph(nn.Module):
    """A model whose inputs are tensors by position, in the order of `inputs`."""

    def __init__(self, model: EncoderWithHead, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self.inputs = inputs

    def forward(self, *given: Tensor) -> Any:
        """The logits."""
        named = dict(zip(self.inputs, given, strict=True))
        return self.model(named[IDS], named[MASK], named.get(SEGMENTS), None, named.get(POSITIONS))


def graph_inputs(model: EncoderWithHead) -> tuple[str, ...]:
    """The names of a graph's inputs; with positions where the head reads those of each text and no others."""
    head = model.head
    segments = [SEGMENTS] if takes_segments(model.backbone.config) else []
    positions = [POSITIONS] if head.reads_words or head.joins else []
    return (IDS, MASK, *segments, *positions)


def write_graph(model: EncoderWithHead, file: Path) -> None:
    """Writes the graph of a model, any number of texts and tokens at once; see `make_plain`.

    Raises UserError, with the operator if one is named, for an encoder that has no graph.
    """
    inputs = graph_inputs(model)
    try:
        make_plain(model)
        with libraries_silent(), torch.no_grad():
            program = torch.onnx.export(
                Graph(model.eval(), inputs), _example(model, inputs), dynamo=True, verbose=False,
                dynamic_shapes=(tuple(_axes(model, name) for name in inputs),), input_names=list(inputs),
                output_names=[LOGITS],
            )  # fmt: skip
            assert program is not None  # with dynamo
            _name_layers(program.model)
            program.save(file)
    except (*THEIRS, OSError, UserError):
        raise
    except Exception as error:  # an encoder may use whatever torch can compute
        raise _no_graph(model, error) from error


@contextmanager
def libraries_silent() -> Iterator[None]:
    """Without warnings and logs of the libraries that make graphs, which are for those who write them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _example(model: EncoderWithHead, inputs: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Made-up texts, of which the last two have padding; what is traced does not depend on them."""
    texts, length = EXAMPLE
    ids = torch.arange(texts * length).view(EXAMPLE) % (model.backbone.config.vocab_size - 1)
    mask = (torch.arange(length) < torch.tensor([[length], [length - 1], [length - 2]])).long()
    reads = torch.arange(MARKERS if model.head.joins else length - MARKERS).repeat(texts, 1)
    every = {IDS: ids, MASK: mask, SEGMENTS: torch.zeros_like(ids), POSITIONS: reads}
    return tuple(every[name] for name in inputs)


def _axes(model: EncoderWithHead, name: str) -> dict[int, str]:
    """The axes of an input that are of any size: batch and length, of positions their number unless it is fixed."""
    if name == POSITIONS:
        return {0: "batch"} if model.head.joins else {0: "batch", 1: "reads"}
    return {0: "batch", 1: "length"}


def _name_layers(graph: Any) -> None:
    """Gives each node the name of the layer that it computes, and removes what else is kept of the trace, such as paths
    of this machine. A layer that is computed several times, as ALBERT's are, has a number from the second time on.
    """
    times = Counter[str]()
    for node in graph.graph:
        scopes = ast.literal_eval(node.metadata_props.get(SCOPES, "['']"))
        layer = next((name for name in scopes[::-1] if "." in name), "graph").removeprefix("model.")
        name = f"{layer.removeprefix('backbone.')}/{node.op_type}"
        times[name] += 1
        node.name = name if times[name] == 1 else f"{name}:{times[name]}"
        for part in (node, *node.outputs):
            part.metadata_props.clear()
            part.doc_string = None
    for value in graph.graph.initializers.values():
        value.metadata_props.clear()
    graph.graph.metadata_props.clear()
    graph.metadata_props.clear()


def _no_graph(model: EncoderWithHead, error: BaseException) -> UserError:
    """The error for an encoder that cannot be exported, with its first reason."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    operators = [found[0] for cause in causes if (found := OPERATOR.search(str(cause)))]
    reason = f"ONNX has no operator for {operators[0]}" if operators else first_line(causes[-1])
    kind = model.backbone.config.model_type
    return UserError(
        f"encoders of type '{kind}' cannot be exported ({reason})", "Serve the run itself: finetune serve RUN"
    )
