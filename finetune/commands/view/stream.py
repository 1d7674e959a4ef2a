"""What the two sub-layers of each layer add to a token's vector, and what LayerNorm makes of the sum.

LayerNorm(x + sub-layer(x)) in Vaswani et al. (2017, section 3.1), x + sub-layer(LayerNorm(x)) in pre-norm encoders
(Xiong et al. 2020). Both are read from what the encoder's own LayerNorms get and give.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from finetune.commands.view.parts import ResidualStream

CLOSE = 1e-4  # of the largest number: what a sum is computed to
POST = ("input", "attention", "attention_sum", "attention_norm", "feed_forward", "feed_forward_sum", "output")
PRE = ("input", "attention_norm", "attention", "attention_sum", "feed_forward_norm", "feed_forward", "output")


@dataclass(frozen=True, kw_only=True)
class LayerCall:
    """One layer: its input, what each LayerNorm got and gave, and its output, `(tokens, width)` each."""

    given: Tensor
    norms: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    output: list[Tensor] = field(default_factory=list)


def residual_stream(encoder: PreTrainedModel, inputs: dict[str, Any]) -> ResidualStream | None:
    """The sums in each layer; None for a family whose layers are neither of the two forms."""
    with watched_layers(encoder) as calls, torch.inference_mode():
        encoder(**inputs)
    tokens = inputs["input_ids"].shape[1]
    for names, steps_of in ((POST, post_norm_steps), (PRE, pre_norm_steps)):
        found = [steps_of(call) for call in calls]
        if len(found) == encoder.config.num_hidden_layers and all(found):
            stages = torch.stack([torch.stack(list(steps)) for steps in found if steps])[:, :, :tokens]
            return ResidualStream(stages=names, vectors=stages.numpy())
    return None


def post_norm_steps(call: LayerCall) -> Sequence[Tensor] | None:
    """The steps of POST in a layer that is LayerNorm(x + attention), and LayerNorm(x + feed-forward); else None."""
    if len(call.norms) != 2 or not is_close(call.norms[1][1], call.output[0]):
        return None
    (first, middle), (second, after) = call.norms
    if is_close(first, call.given):  # normalised first, and again at the end
        return None
    return call.given, first - call.given, first, middle, second - middle, second, after


def pre_norm_steps(call: LayerCall) -> Sequence[Tensor] | None:
    """The steps of PRE in a layer that is x + attention(LayerNorm(x)), and so on; else None.

    ModernBERT's first layer has no LayerNorm before its attention.
    """
    norms = call.norms if len(call.norms) != 1 else [(call.given, call.given), *call.norms]
    if len(norms) != 2 or not is_close(norms[0][0], call.given) or is_close(norms[1][1], call.output[0]):
        return None
    (_, read), (middle, normed) = norms
    return call.given, read, middle - call.given, middle, normed, call.output[0] - middle, call.output[0]


@contextmanager
def watched_layers(encoder: PreTrainedModel) -> Iterator[list[LayerCall]]:
    """Within it, a forward pass over one sequence adds a LayerCall each time that a layer is called."""
    calls: list[LayerCall] = []
    layers = next((part for part in encoder.modules() if isinstance(part, nn.ModuleList)), nn.ModuleList())

    def begin(_module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        calls.append(LayerCall(given=(given or (named["hidden_states"],))[0][0]))

    def norm(_module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        if calls and not calls[-1].output and output.shape[1:] == calls[-1].given.shape:
            calls[-1].norms.append((given[0][0], output[0]))

    def end(_module: nn.Module, _given: Any, output: Any) -> None:
        calls[-1].output.append((output if isinstance(output, Tensor) else output[0])[0])

    hooks = [layer.register_forward_pre_hook(begin, with_kwargs=True) for layer in layers]
    hooks += [layer.register_forward_hook(end) for layer in layers]
    hooks += [part.register_forward_hook(norm) for part in layers.modules() if type(part).__name__.endswith("Norm")]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def is_close(one: Tensor, other: Tensor) -> bool:
    """Whether two are of one shape and equal, up to rounding."""
    return one.shape == other.shape and float((one - other).abs().max()) <= CLOSE * float(other.abs().max())
