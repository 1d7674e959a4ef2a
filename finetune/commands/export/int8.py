"""Weights of a graph in int8 by onnxruntime, which scales the other side of each product as it is computed.

Each column of a matrix has a scale of its own: by tensor, onnxruntime's default, MiniLM changed 23 of MRPC's 408 dev
answers and 33 of SST-2's 872, by column 6 and 14. The second product of each feed-forward layer in fp32 made it 5 of
408, at two thirds of the speed. The vectors of words in int8 made it 5 and 15, with a graph of 23 in place of 59 MB.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from finetune.commands.export.graph import libraries_silent
from finetune.commands.export.wanted import Kept, WantedExport
from finetune.errors import UserError

PRODUCTS, LOOK_UP = ("MatMul", "Gemm"), "Gather"  # operators, whose names end those of nodes
ENCODER, POOLER = "encoder.", "encoder.pooler"  # begin the names of its nodes


def quantize(graph: Path, file: Path, wanted: WantedExport, *, layers: int) -> tuple[str, ...]:
    """Writes a graph with words and products of its encoder of `layers` layers in int8; the names of those in fp32.

    With 7 bits two products can be added in 16 bits, as x86 without VNNI does. Raises UserError where none is left.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    small, kept = _products(graph, wanted, layers=layers)
    with libraries_silent():
        quantize_dynamic(
            graph, file, op_types_to_quantize=[*PRODUCTS, LOOK_UP], per_channel=True, reduce_range=wanted.bits == 7,
            weight_type=QuantType.QInt8, nodes_to_quantize=list(small),
        )  # fmt: skip
    return kept


def _products(graph: Path, wanted: WantedExport, *, layers: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The products of a graph that become int8, and those that stay in fp32. Raises UserError where all would stay."""
    import onnx

    loaded: Any = onnx.load(graph, load_external_data=False).graph
    shapes = {one.name: (one.dims[0], one.dims[1]) for one in loaded.initializer if len(one.dims) == 2}
    words = max((shapes[node.input[0]][0] for node in loaded.node if _looks_up(node, shapes)), default=0)
    matrices = {}
    for node in loaded.node:
        if node.op_type in PRODUCTS and node.input[1] in shapes:
            matrices[node.name] = shapes[node.input[1]]
        elif _looks_up(node, shapes) and shapes[node.input[0]][0] == words:  # not positions, of which there are fewer
            matrices[node.name] = shapes[node.input[0]]
    found = kept_products(matrices, layers=layers, keep=wanted.keep)
    if not found[0]:
        raise UserError("no product of this model is left for int8", "Leave `keep_fp32` out, or export it in fp32")
    return found


def _looks_up(node: Any, shapes: dict[str, tuple[int, int]]) -> bool:
    return node.op_type == LOOK_UP and node.input[0] in shapes


def kept_products(
    shapes: Mapping[str, tuple[int, int]], *, layers: int, keep: Collection[Kept]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the products that become int8, and of those that stay in fp32: of the head, and of what to `keep`.

    `shapes` are those of the matrices, by the names of the products and of where words are looked up, in the order in
    which they are computed.
    """
    words = {name for name in shapes if LOOK_UP in name.rpartition("/")[2]}
    encoder = [name for name in shapes if name.startswith(ENCODER) and name not in words and POOLER not in name]
    each = max(1, len(encoder) // layers)  # products of a layer; before the first there may be one of the embeddings
    kept = shapes.keys() - {*encoder, *(words if "embeddings" not in keep else ())}
    if "ends" in keep:
        kept |= {*encoder[: len(encoder) - each * (layers - 1)], *encoder[-each:]}
    if "feed-forward" in keep:
        kept |= {name for name in encoder if shapes[name][0] > shapes[name][1]}
    return tuple(name for name in shapes if name not in kept), tuple(name for name in shapes if name in kept)
