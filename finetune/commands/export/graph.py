"""A trained model as an ONNX graph: from ids, mask and segments, and perhaps the positions that are read, to logits."""

import ast
import logging
import re
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.export_facts import IDS, MASK, SEGMENTS, SPAN_ENDS, Input
from finetune.inference.exported_engine import load_onnxruntime
from finetune.models.families import takes_segments
from finetune.models.feature import LOGITS
from finetune.models.head import EncoderWithHead

BY_LENGTH = ("big_bird", "longformer")  # types of encoders whose attention depends on the length of a text
TEXTS, LENGTH = 3, 7  # that are traced; any other numbers would do, but 0 and 1
SCOPES = "pkg.torch.onnx.name_scopes"  # of a node: the modules that it is in, the outermost first, and itself
PRODUCTS = ("MatMul", "Gemm")  # operators
OPERATOR = re.compile(r"\baten[.:]+\w+")
SERVE = "Serve the run itself: finetune serve RUN"


def graph_inputs(model: EncoderWithHead) -> tuple[Input, ...]:
    """The names of a graph's inputs, as transformers has them."""
    return (IDS, MASK, SEGMENTS) if takes_segments(model.backbone.config) else (IDS, MASK)


def write_graph(model: EncoderWithHead, file: Path) -> list[str]:
    """Writes the graph of a model, any number of texts and tokens at once, whose attention is without kernels then.

    Returns the names of the nodes with most weights: the products of the encoder, and where words are looked up. Raises
    UserError, with the operator if one is named, for an encoder that has no graph.
    """
    kind = model.backbone.config.model_type
    if kind in BY_LENGTH or model.backbone.bilstm:
        what = "with a BiLSTM" if model.backbone.bilstm else f"of type '{kind}', which read a text by its length,"
        raise UserError(f"encoders {what} cannot be exported", SERVE)
    inputs = graph_inputs(model)
    ids = torch.arange(TEXTS * LENGTH).view(TEXTS, LENGTH) % (model.backbone.config.vocab_size - 1)
    example = {IDS: ids, MASK: torch.ones_like(ids).tril(LENGTH - 2), SEGMENTS: torch.zeros_like(ids)}
    axes = {name: {0: "batch", 1: "length"} for name in inputs}
    outputs = [LOGITS]
    if model.head.auto_class == "AutoModelForQuestionAnswering":
        outputs = SPAN_ENDS
        model.head.register_forward_hook(lambda *call: call[-1].unbind(-1))
    # The largest has the vectors of words: no encoder has as many positions.
    embeddings = [(part.num_embeddings, name) for name, part in model.named_modules() if isinstance(part, nn.Embedding)]
    try:
        model.backbone.encoder.set_attn_implementation("eager")
        with libraries_silent(), torch.no_grad():
            program: Any = torch.onnx.export(
                model.eval(), kwargs={name: example[name] for name in inputs}, dynamo=True, verbose=False,
                dynamic_shapes={name: axes[name] for name in inputs}, input_names=inputs, output_names=outputs,
            )  # fmt: skip
            nodes = _nodes_of_weights(program.model, words=max(embeddings)[1])
            program.save(file)
    except (*THEIRS, OSError):
        raise
    except Exception as error:  # an encoder may use whatever torch can compute
        operator = OPERATOR.search("".join(traceback.format_exception(error)))
        reason = f"ONNX has no operator for {operator[0]}" if operator else first_line(error)
        raise UserError(f"encoders of type '{kind}' cannot be exported ({reason})", SERVE) from error
    return nodes


def write_in_int8(graph: Path, file: Path, nodes: Sequence[str]) -> None:
    """Writes a graph with the weights of these nodes in int8; the other side of a product is scaled as it is computed.

    A scale for each column of a matrix, as by tensor MiniLM changed two to four times as many answers. 7 of the 8 bits
    are used: x86 without VNNI adds two products in 16 bits, which would overflow.
    """
    library = load_onnxruntime(".quantization")
    with libraries_silent():
        library.quantize_dynamic(
            graph, file, nodes_to_quantize=nodes, op_types_to_quantize=[*PRODUCTS, "Gather"], per_channel=True,
            reduce_range=True, weight_type=library.QuantType.QInt8,
        )  # fmt: skip


@contextmanager
def libraries_silent() -> Iterator[None]:
    """Without warnings and logs of the libraries that make graphs, which are for those who write them."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


def _nodes_of_weights(graph: Any, *, words: str) -> list[str]:
    """Removes what the graph keeps of its trace, such as paths of this machine; returns the names of the products of
    the encoder, and of the nodes of the module `words`.
    """
    names = []
    for number, node in enumerate(graph.graph):
        layer = next(filter(None, ast.literal_eval(node.metadata_props.get(SCOPES, "[]"))[-2::-1]), "")
        node.name = f"{node.op_type}:{number}"
        in_encoder = layer.startswith("backbone.encoder.") and "encoder.pooler" not in layer
        if (in_encoder and node.op_type in PRODUCTS) or (layer == words and node.op_type == "Gather"):
            names.append(node.name)
        for part in (node, *node.outputs):
            part.metadata_props.clear()
            part.doc_string = None
    for part in (graph, graph.graph, *graph.graph.initializers.values()):
        part.metadata_props.clear()
    return names
