"""Weights of a graph in int8: by onnxruntime, which scales the other side of each product as it is computed.

Each column of a matrix has a scale of its own. By tensor, onnxruntime's default, a few large weights decide the scale
of all others.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from finetune.commands.export.graph import silent
from finetune.errors import UserError

Kept = Literal["ends", "feed-forward"]
KEPT: Mapping[Kept, str] = {
    "ends": "the first and the last layer of the encoder",
    "feed-forward": "the second product of each feed-forward layer",
}
PRODUCTS = ("MatMul", "Gemm")
ENCODER = "encoder."  # begins the names of its nodes


def quantize(graph: Path, file: Path, *, bits: int, layers: int, keep: Collection[Kept]) -> tuple[str, ...]:
    """Writes a graph with the products of its encoder of `layers` layers in int8, and returns the names of those that
    are not: of the head, and of the layers to `keep`.

    With 7 bits two products can be added in 16 bits, as x86 without VNNI does. Raises UserError where none is left.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    shapes = _products(graph)
    kept = _kept(shapes, layers=layers, keep=keep)
    if len(kept) == len(shapes):
        raise UserError("no product of this model is left for int8", "Keep fewer layers in fp32, or export it in fp32")
    with silent():
        quantize_dynamic(
            graph, file, op_types_to_quantize=list(PRODUCTS), per_channel=True, reduce_range=bits == 7,
            weight_type=QuantType.QInt8, nodes_to_exclude=list(kept), extra_options={"WeightSymmetric": True},
        )  # fmt: skip
    return kept


def _products(graph: Path) -> dict[str, tuple[int, int]]:
    """The shapes of the matrices that are multiplied with, by the nodes' names, in the order of the layers."""
    import onnx

    loaded: Any = onnx.load(graph, load_external_data=False).graph
    shapes = {one.name: tuple(one.dims) for one in loaded.initializer if len(one.dims) == 2}
    return {node.name: shapes[node.input[1]] for node in loaded.node if _is_product(node, shapes)}


def _is_product(node: Any, shapes: Collection[str]) -> bool:
    return node.op_type in PRODUCTS and node.input[1] in shapes


def _kept(shapes: Mapping[str, tuple[int, int]], *, layers: int, keep: Collection[Kept]) -> tuple[str, ...]:
    """The names of the products that stay in fp32, in their order."""
    encoder = [name for name in shapes if name.startswith(ENCODER) and not name.startswith(f"{ENCODER}pooler")]
    kept = shapes.keys() - set(encoder)
    each = max(1, len(encoder) // layers)  # products of a layer; before the first there may be one of the embeddings
    if "ends" in keep:
        kept |= {*encoder[: len(encoder) - each * (layers - 1)], *encoder[-each:]}
    if "feed-forward" in keep:
        kept |= {name for name in encoder if shapes[name][0] > shapes[name][1]}
    return tuple(name for name in shapes if name in kept)
