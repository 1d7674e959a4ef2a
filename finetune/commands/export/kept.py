"""Layers that may stay in fp32 where the others are in int8."""

from collections.abc import Collection, Mapping
from typing import Literal

Kept = Literal["ends", "feed-forward"]
KEPT: Mapping[Kept, str] = {
    "ends": "the first and the last layer of the encoder",
    "feed-forward": "the second product of each feed-forward layer",
}
PRODUCTS = ("MatMul", "Gemm")
ENCODER, POOLER = "encoder.", "encoder.pooler"  # begin the names of its nodes


def kept_products(
    shapes: Mapping[str, tuple[int, int]], *, layers: int, keep: Collection[Kept]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the products that become int8, and of those that stay in fp32: of the head, and of what to `keep`.

    `shapes` are those of the matrices, by the products' names, in the order in which they are computed.
    """
    encoder = [name for name in shapes if name.startswith(ENCODER) and not name.startswith(POOLER)]
    each = max(1, len(encoder) // layers)  # products of a layer; before the first there may be one of the embeddings
    kept = shapes.keys() - set(encoder)
    if "ends" in keep:
        kept |= {*encoder[: len(encoder) - each * (layers - 1)], *encoder[-each:]}
    if "feed-forward" in keep:
        kept |= {name for name in encoder if shapes[name][0] > shapes[name][1]}
    return tuple(name for name in shapes if name not in kept), tuple(name for name in shapes if name in kept)
