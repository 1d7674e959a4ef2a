"""Weights of a graph in int8 by onnxruntime, which scales the other side of each product as it is computed.

Each column of a matrix has a scale of its own: by tensor, onnxruntime's default, MiniLM changed 23 of MRPC's 408 dev
answers and 33 of SST-2's 872, by column 6 and 14. The vectors of words in int8 made it 5 and 15, with a graph of 23 in
place of 59 MB.
"""

from pathlib import Path
from typing import Any

from finetune.commands.export.graph import libraries_silent

PRODUCTS, LOOK_UP = ("MatMul", "Gemm"), "Gather"  # operators
ENCODER, POOLER = "encoder.", "encoder.pooler"  # begin the names of its nodes


def quantize(graph: Path, file: Path, *, bits: int) -> None:
    """Writes a graph with the words and the products of its encoder in int8; those of the head stay in fp32.

    With 7 `bits` two products can be added in 16 bits, as x86 without VNNI does.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with libraries_silent():
        quantize_dynamic(
            graph, file, op_types_to_quantize=[*PRODUCTS, LOOK_UP], per_channel=True, reduce_range=bits == 7,
            weight_type=QuantType.QInt8, nodes_to_quantize=_nodes_in_int8(graph),
        )  # fmt: skip


def _nodes_in_int8(graph: Path) -> list[str]:
    """The names of the products of an encoder, and of where words are looked up."""
    import onnx

    loaded: Any = onnx.load(graph, load_external_data=False).graph
    rows = {one.name: one.dims[0] for one in loaded.initializer if len(one.dims) == 2}
    look_ups = [node for node in loaded.node if node.op_type == LOOK_UP and node.input[0] in rows]
    words = max((rows[node.input[0]] for node in look_ups), default=0)  # more than there are positions
    names = [node.name for node in look_ups if rows[node.input[0]] == words]
    for node in loaded.node:
        of_encoder = node.name.startswith(ENCODER) and POOLER not in node.name
        if node.op_type in PRODUCTS and node.input[1] in rows and of_encoder:
            names.append(node.name)
    return names
