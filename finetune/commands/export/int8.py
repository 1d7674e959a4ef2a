"""Weights of a graph in int8 by onnxruntime, which scales the other side of each product as it is computed.

Each column of a matrix has a scale of its own: by tensor, onnxruntime's default, MiniLM changed 23 of MRPC's 408 dev
answers, by column 6. The second product of each feed-forward layer in fp32 made it 5, at two thirds of the speed, so it
is only kept where it is asked for.
"""

from pathlib import Path
from typing import Any

from finetune.commands.export.graph import silent
from finetune.commands.export.kept import PRODUCTS, kept_products
from finetune.commands.export.wanted import WantedExport
from finetune.errors import UserError


def quantize(graph: Path, file: Path, wanted: WantedExport, *, layers: int) -> tuple[str, ...]:
    """Writes a graph with the products of its encoder of `layers` layers in int8; the names of those in fp32.

    With 7 bits two products can be added in 16 bits, as x86 without VNNI does. Raises UserError where none is left.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    _, kept = products(graph, wanted, layers=layers)
    with silent():
        quantize_dynamic(
            graph, file, op_types_to_quantize=list(PRODUCTS), per_channel=True, reduce_range=wanted.bits == 7,
            weight_type=QuantType.QInt8, nodes_to_exclude=list(kept),
        )  # fmt: skip
    return kept


def products(graph: Path, wanted: WantedExport, *, layers: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The products of a graph that become int8, and those that stay in fp32. Raises UserError where all would stay."""
    import onnx

    loaded: Any = onnx.load(graph, load_external_data=False).graph
    shapes = {one.name: (one.dims[0], one.dims[1]) for one in loaded.initializer if len(one.dims) == 2}
    matrices = {
        node.name: shapes[node.input[1]] for node in loaded.node if node.op_type in PRODUCTS and node.input[1] in shapes
    }
    found = kept_products(matrices, layers=layers, keep=wanted.keep)
    if not found[0]:
        raise UserError("no product of this model is left for int8", "Leave `keep_fp32` out, or export it in fp32")
    return found
