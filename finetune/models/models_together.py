"""Several tasks' models that share the weights of one encoder (MT-DNN, Liu et al. 2019)."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from finetune.errors import UserError
from finetune.models.batch import Batch
from finetune.models.model import EncoderWithHead


class ModelsTogether(EncoderWithHead):
    """Models, each a whole one of its task, whose encoders have the same parameters.

    Each keeps the modules of its own encoder, since what is read of it decides how it is computed: a head on the
    pooled output computes the last layer for the first token alone, and one on tokens has no pooler.
    """

    def __init__(self, models: Sequence[EncoderWithHead]) -> None:
        super().__init__(models[0].backbone, models[0].head)
        self.models = nn.ModuleList(models)

    @property
    def members(self) -> list[EncoderWithHead]:
        """The model of each task."""
        return list(self.models)  # type: ignore[arg-type]

    def forward(self, *inputs: Any) -> Any:
        """Logits of a batch of one task, whose number is the last argument (`Batch.inputs`)."""
        *tensors, task = inputs
        return self.models[task](*tensors)

    def losses(self, logits: Any, batch: Batch) -> dict[str, Tensor]:
        """Each loss of the task that a batch is of, as `Head.losses`."""
        assert batch.task is not None
        return self.members[batch.task].head.losses(logits, batch.labels)


def share_encoder(models: Sequence[EncoderWithHead], names: Sequence[str]) -> ModelsTogether:
    """Gives all models the parameters of the first encoder that has each. Raises UserError where these differ in shape,
    as where one task adds tokens.
    """
    shared: dict[str, tuple[str, nn.Parameter]] = {}
    for model, task in zip(models, names, strict=True):
        for prefix, module in list(model.backbone.encoder.named_modules()):
            for name, own in list(module.named_parameters(recurse=False)):
                first, parameter = shared.setdefault(f"{prefix}.{name}", (task, own))
                if parameter.shape != own.shape:
                    raise UserError(
                        f"{first} and {task} cannot share an encoder: one adds tokens, as the markers of spans are",
                        "Leave that one out, and run it alone",
                    )
                parameter.requires_grad_(parameter.requires_grad or own.requires_grad)
                setattr(module, name, parameter)
    return ModelsTogether(models)
