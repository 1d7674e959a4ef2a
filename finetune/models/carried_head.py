"""The head of a trained model, carried into a new one: the rows of labels by their names, other layers as they are."""

from collections.abc import Mapping

from torch import Tensor

from finetune.errors import UserError
from finetune.models.head import Head
from finetune.models.model import EncoderWithHead

OUTPUT = "output."


def carry_head(trained: EncoderWithHead, new: EncoderWithHead) -> None:
    """Copies the head, and the layer mix or BiLSTM below it; rows of labels that `trained` lacks stay as they began.

    Raises UserError where the layers are of other forms.
    """
    parts = ((trained.backbone.reader, new.backbone.reader), (trained.head, new.head))
    states = [[{} if part is None else part.state_dict() for part in pair] for pair in parts]
    if _reads(trained) != _reads(new) or any(_forms(given) != _forms(state) for given, state in states):
        raise UserError(
            "keep_labels: the head of that run reads the encoder in another way",
            "Leave layers, bilstm, pooling and options of the head as they are in that run",
        )
    for given, state in states:
        for name, tensor in state.items():
            if name.startswith(OUTPUT):
                for place, before in _places(trained.head, new.head):
                    tensor[place] = given[name][before]
            else:
                tensor.copy_(given[name])


def _reads(model: EncoderWithHead) -> tuple[str, tuple[int, ...]]:
    """The vector and the layers that a head reads."""
    return model.backbone.pooling, model.backbone.layer_indices(pooled=model.pooled)


def _forms(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: _form(name, tensor) for name, tensor in state.items()}


def _form(name: str, tensor: Tensor) -> tuple[int, ...]:
    """The shape, of the output layer without the number of its rows."""
    return tuple(tensor.shape[1:] if name.startswith(OUTPUT) else tensor.shape)


def _places(trained: Head, new: Head) -> list[tuple[int, int]]:
    """The row of each label in the new and in the trained head; a head without labels has a single row."""
    if not new.labels:
        return [(0, 0)]
    return [(place, trained.labels.index(label)) for place, label in enumerate(new.labels) if label in trained.labels]
