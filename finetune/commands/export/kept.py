"""Layers that may stay in fp32 where the others are in int8."""

from collections.abc import Collection, Mapping
from typing import Literal

Kept = Literal["ends", "feed-forward", "embeddings"]
KEPT: Mapping[Kept, str] = {
    "ends": "the first and the last layer of the encoder",
    "feed-forward": "the second product of each feed-forward layer",
    "embeddings": "the vectors of words",
}
PRODUCTS, LOOK_UP = ("MatMul", "Gemm"), "Gather"  # operators, whose names end those of nodes
ENCODER, POOLER = "encoder.", "encoder.pooler"  # begin the names of its nodes


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
