"""Training rate with each CPU speed-up of models/kernels, added one at a time.

python benchmarks/cpu_parts.py --data DIR --out results/cpu_parts.json
"""

from functools import partial
from itertools import pairwise

from measuring import as_in_a_run, compare, train_ours

from finetune.models.backbone import Backbone
from finetune.models.head import EncoderWithHead, Head
from finetune.models.kernels import cpu
from finetune.models.kernels.layers import last_layer_for_first_token, take_whole_layers

PLAIN, MEMORY, DROPOUT, ATTENTION, FIRST, LAYERS = PARTS = (
    *("plain", "+ kept memory", "+ fast dropout", "+ own attention", "+ first token", "+ whole layers"),
)  # plain: transformers' attention, torch's dropout and products, and the last layer for all tokens


def with_parts(last: str, backbone: Backbone, head: Head) -> EncoderWithHead:
    """A model with the parts up to the last; each contestant has its own process."""
    parts = PARTS[: PARTS.index(last) + 1]
    setattr(cpu, "is_faster_by_onednn", lambda: False)  # noqa: B010
    before, model = backbone.config._attn_implementation, EncoderWithHead(backbone, head)
    if last == MEMORY:
        cpu.keep_memory()
    if DROPOUT in parts:
        cpu.speed_up(model, backbone.encoder)  # attention too, and memory
    if last == DROPOUT:
        backbone.encoder.set_attn_implementation(before)  # whose dropout is torch's
    if FIRST in parts:
        last_layer_for_first_token(backbone.encoder)
    if LAYERS in parts:
        take_whole_layers(backbone.encoder)
    return model


CONTESTANTS = {
    **{name: partial(train_ours, partial(with_parts, name)) for name in PARTS},
    "+ faster products": partial(train_ours, as_in_a_run),
}
RATIOS = {
    "this / before": {name: (name, before) for before, name in pairwise(CONTESTANTS)},
    "this / plain": {name: (name, PLAIN) for name in CONTESTANTS if name != PLAIN},
}

if __name__ == "__main__":
    compare(CONTESTANTS, RATIOS, about="Cumulative effect of each CPU speed-up on training, MRPC")
