"""Partial fine-tuning: frozen layers, re-initialised layers, and the depth of each for layer-wise learning rates."""

from collections.abc import Iterator, Sequence

from torch import nn
from transformers import PreTrainedModel

from finetune.data.messages import so_many
from finetune.errors import UserError


def set_trainable(encoder: PreTrainedModel, *, freeze: int, reinit: int) -> None:
    """Freezes the embeddings and the first layers; re-initialises the last ones and the pooler.

    New weights are initialised as for pre-training (Zhang et al. 2021, section 5). Raises UserError for more
    layers than there are, and for an encoder whose layers share their weights.
    """
    if not freeze and not reinit:
        return
    layers = layers_of(encoder)
    for name, count in (("freeze_layers", freeze), ("reinit_layers", reinit), ("the two together", freeze + reinit)):
        if count > len(layers):
            raise UserError(
                f"{name}: {count}, and this encoder has {so_many(len(layers), 'layer')}", "Give a smaller number"
            )
    if freeze:
        embeddings = getattr(encoder, "embeddings", None) or encoder.get_input_embeddings()
        for part in (embeddings, getattr(encoder, "embeddings_project", None), *layers[:freeze]):
            if part is not None:
                part.requires_grad_(False)
    if reinit:
        for part in (*layers[-reinit:], getattr(encoder, "pooler", None)):
            if part is not None:
                reinitialise(part, spread=encoder.config.initializer_range)


def layers_of(encoder: PreTrainedModel) -> Sequence[nn.Module]:
    """The transformer layers from the first to the last. Raises UserError where they share their weights."""
    stacks = [getattr(encoder, name, None) for name in ("encoder", "transformer")] + [encoder]
    for layers in (getattr(stack, name, None) for stack in stacks for name in ("layer", "layers")):
        if isinstance(layers, nn.ModuleList):
            return list(layers)
    raise UserError(
        f"an encoder of type '{encoder.config.model_type}' has no layers with separate weights",
        "Leave out freeze_layers, reinit_layers and train.layer_decay",
    )


def depths(encoder: PreTrainedModel) -> Iterator[tuple[nn.Parameter, int]]:
    """Each parameter of the encoder with its depth below the head: 0 for the pooler, 1 for the last layer, number of
    layers + 1 for the embeddings.
    """
    layers = layers_of(encoder)
    place = {id(p): len(layers) - index for index, layer in enumerate(layers) for p in layer.parameters()}
    pooler = {id(p) for p in pooler.parameters()} if (pooler := getattr(encoder, "pooler", None)) else set()
    for parameter in encoder.parameters():
        yield parameter, 0 if id(parameter) in pooler else place.get(id(parameter), len(layers) + 1)


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """The numbers of a model's weights: of all, and of those that are trained."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return {"all": sum(size for size, _ in sizes), "trained": sum(size for size, trained in sizes if trained)}


def reinitialise(part: nn.Module, *, spread: float) -> None:
    """New weights: normal truncated at two deviations, biases 0, LayerNorm 1 and 0, the padding token's vector 0."""
    for module in part.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=spread, a=-2 * spread, b=2 * spread)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.trunc_normal_(module.weight, std=spread, a=-2 * spread, b=2 * spread)
            if module.padding_idx is not None:
                nn.init.zeros_(module.weight.data[module.padding_idx])
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
