"""The head of a trained model, carried into a new one: the rows of labels by their names, other layers as they are."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from finetune.errors import UserError
from finetune.models.head import Head
from finetune.models.model import EncoderWithHead


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks stay as they began.

    Raises UserError where the layers are of other forms.
    """
    parts = ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head))
    states = [[{} if part is None else part.state_dict() for part in pair] for pair in parts]
    outputs = {name: _layer_of(name, new.head) for name in states[1][1]}
    forms = ([_forms(state, outputs) for state in pair] for pair in states)
    if _reads(trained) != _reads(new) or any(given != own for given, own in forms):
        raise UserError(
            "keep_labels: the head of that run reads the encoder in another way",
            "Leave layers, bilstm, pooling and options of the head as they are in that run",
        )
    for given, state in states:
        for name, tensor in state.items():
            if layer := outputs.get(name):
                for place, before in _places(trained.head.rows_by_label[layer], new.head.rows_by_label[layer]):
                    tensor[place] = given[name][before]
            else:
                tensor.copy_(given[name])


def _reads(model: EncoderWithHead) -> tuple[str, tuple[int, ...]]:
    """The vector and the layers that a head reads."""
    return model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)


def _layer_of(name: str, head: Head) -> str:
    """The output layer that a parameter of a head is of; empty for other layers."""
    return next((layer for layer in head.rows_by_label if name.startswith(layer)), "")


def _forms(state: Mapping[str, Tensor], outputs: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes, of output layers without the number of their rows."""
    return {name: tuple(tensor.shape[1:] if outputs.get(name) else tensor.shape) for name, tensor in state.items()}


def _places(trained: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The row of each label in the new and in the trained layer; one without labels has a single row."""
    if not new:
        return [(0, 0)]
    return [(place, trained.index(label)) for place, label in enumerate(new) if label in trained]
