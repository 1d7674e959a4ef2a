"""Partial fine-tuning: layers left out, frozen or re-initialised, and the depth of each for layer-wise rates."""

from collections.abc import Iterator, Sequence

from torch import nn
from transformers import PreTrainedModel

from finetune.data.messages import so_many
from finetune.errors import UserError

BY_LAYER = ("layer_types", "attention_window")  # settings of a config with a value for each layer


def set_trainable(encoder: PreTrainedModel, *, freeze: int, reinit: int) -> None:
    """Freezes the embeddings and the first `freeze` layers; re-initialises the last `reinit` layers and the pooler.

    New weights are drawn as for pre-training (Zhang et al. 2021, section 5). Raises UserError for more layers than
    there are, and for an encoder whose layers share their weights.
    """
    if not freeze and not reinit:
        return
    layers = layers_of(encoder)
    for name, count in (("freeze_layers", freeze), ("reinit_layers", reinit), ("the two together", freeze + reinit)):
        if count > len(layers):
            raise UserError(
                f"{name}: {count}, and this encoder has {so_many(len(layers), 'layer')}", "Give a smaller number"
            )
    embeddings = getattr(encoder, "embeddings", None) or encoder.get_input_embeddings()
    below = [embeddings, getattr(encoder, "embeddings_project", None), *layers[:freeze]] if freeze else []
    for part in filter(None, below):
        part.requires_grad_(False)
    for part in filter(None, [*layers[-reinit:], getattr(encoder, "pooler", None)] if reinit else []):
        reinitialise(part, spread=encoder.config.initializer_range)


def leave_out_layers(encoder: PreTrainedModel, *, keep: Sequence[int]) -> None:
    """Removes all layers but those in `keep`, counted from 0 as in the names of weights; an empty `keep` removes none.

    Raises UserError for numbers that do not rise, for a layer that is not there, and for an encoder whose layers share
    weights or differ by their index: a checkpoint of fewer layers would load as another model.
    """
    if not keep:
        return
    stack, config = layers_of(encoder), encoder.config
    depth = len(stack)
    if list(keep) != sorted(set(keep)) or not 0 <= keep[0] <= keep[-1] < depth:
        raise UserError(
            f"keep_layers = {list(keep)}, and this encoder has the layers 0 to {depth - 1}",
            "Give some of them in rising order, such as keep_layers=[1,3,5]",
        )
    if len(set(getattr(config, "layer_types", None) or ())) > 1:
        raise UserError(
            f"keep_layers: the layers of an encoder of type '{config.model_type}' differ by their place",
            "Leave it out, or name another encoder",
        )
    for name in BY_LAYER:
        value = getattr(config, name, None)
        if isinstance(value, list) and len(value) == depth:
            setattr(config, name, [value[number] for number in keep])
    config.num_hidden_layers = len(keep)
    for index, number in enumerate(keep):
        layer = stack[index] = stack[number]
        for module in layer.modules():
            for name in {"layer_idx", "layer_id", "layer_num"} & vars(module).keys():
                setattr(module, name, index)
    del stack[len(keep) :]


def layers_of(encoder: PreTrainedModel) -> nn.ModuleList:
    """The transformer layers from the first to the last. Raises UserError where they share their weights."""
    stacks = [getattr(encoder, name, None) for name in ("encoder", "transformer")] + [encoder]
    for layers in (getattr(stack, name, None) for stack in stacks for name in ("layer", "layers")):
        if isinstance(layers, nn.ModuleList):
            return layers
    raise UserError(
        f"an encoder of type '{encoder.config.model_type}' has no layers with separate weights",
        "Leave out keep_layers, freeze_layers, reinit_layers, train.layer_decay",
    )


def depths(encoder: PreTrainedModel) -> Iterator[tuple[nn.Parameter, int]]:
    """Each parameter of the encoder with its depth below the head: 0 for the pooler, 1 for the last layer, number of
    layers + 1 for the embeddings.
    """
    layers, pooler = layers_of(encoder), getattr(encoder, "pooler", None)
    parts = [*layers, pooler] if pooler else layers
    depth_of = {p: len(layers) - index for index, part in enumerate(parts) for p in part.parameters()}
    for parameter in encoder.parameters():
        yield parameter, depth_of.get(parameter, len(layers) + 1)


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """The numbers of weights: of `all`, and of those that are `trained`."""
    parameters = list(model.parameters())
    return {"all": sum(p.numel() for p in parameters), "trained": sum(p.numel() for p in parameters if p.requires_grad)}


def reinitialise(part: nn.Module, *, spread: float) -> None:
    """New weights: normal truncated at two deviations, biases 0, LayerNorm 1 and 0, the padding token's vector 0."""
    for module in part.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(module.weight, std=spread, a=-2 * spread, b=2 * spread)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
        if isinstance(module, nn.Linear | nn.LayerNorm) and module.bias is not None:
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight.data[module.padding_idx])
