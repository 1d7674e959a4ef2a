"""Training rate with each CPU speed-up of models/kernels, added one at a time.

python benchmarks/cpu_parts.py --data DIR --out results/cpu_parts.json
"""

from functools import partial
from itertools import pairwise

from comparing import compare
from measuring import as_in_a_run, train_ours

from finetune.models.backbone import Backbone
from finetune.models.head import EncoderWithHead, Head
from finetune.models.kernels import cpu, products
from finetune.models.kernels.cpu import keep_memory
from finetune.models.kernels.layers import last_layer_for_first_token, take_whole_layers


def plain(backbone: Backbone, head: Head) -> EncoderWithHead:
    """transformers' attention, torch's dropout and products, and the last layer for all tokens."""
    setattr(products, "is_faster_by_onednn", lambda: False)  # noqa: B010 - each contestant has its own process
    return EncoderWithHead(backbone, head)


def kept_memory(backbone: Backbone, head: Head) -> EncoderWithHead:
    """Plain, with freed memory kept by the allocator."""
    keep_memory()
    return plain(backbone, head)


def fast_dropout(backbone: Backbone, head: Head) -> EncoderWithHead:
    """Kept memory, with FastDropout for nn.Dropout; dropout inside attention is still torch's."""
    before = backbone.config._attn_implementation
    model = own_attention(backbone, head)
    backbone.encoder.set_attn_implementation(before)
    return model


def own_attention(backbone: Backbone, head: Head) -> EncoderWithHead:
    """Fast dropout, with attention as plain matrix products: all of cpu.py and dropout.py."""
    model = plain(backbone, head)
    cpu.speed_up(model, backbone.encoder)
    return model


def first_token(backbone: Backbone, head: Head) -> EncoderWithHead:
    """Own attention, with the last layer for the first token alone."""
    model = own_attention(backbone, head)
    last_layer_for_first_token(backbone.encoder)
    return model


def whole_layers(backbone: Backbone, head: Head) -> EncoderWithHead:
    """First token, with layers as functions."""
    model = first_token(backbone, head)
    take_whole_layers(backbone.encoder)
    return model


CONTESTANTS = {
    "plain": partial(train_ours, plain),
    "+ kept memory": partial(train_ours, kept_memory),
    "+ fast dropout": partial(train_ours, fast_dropout),
    "+ own attention": partial(train_ours, own_attention),
    "+ first token": partial(train_ours, first_token),
    "+ whole layers": partial(train_ours, whole_layers),
    "+ faster products": partial(train_ours, as_in_a_run),
}
RATIOS = {
    "this / before": {name: (name, before) for before, name in pairwise(CONTESTANTS)},
    "this / plain": {name: (name, "plain") for name in CONTESTANTS if name != "plain"},
}

if __name__ == "__main__":
    compare(CONTESTANTS, RATIOS, about="Cumulative effect of each CPU speed-up on training, MRPC")
