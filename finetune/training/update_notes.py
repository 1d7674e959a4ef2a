"""Notes on what optimizer, schedule and unfreezing will do in a run, where that may not be what was meant."""

from collections.abc import Iterator

from finetune.data.messages import so_many
from finetune.models.model import EncoderWithHead
from finetune.runs.recipe_tables import Train
from finetune.training.schedules import noam
from finetune.training.unfreezing import unfreezing_of

ADAM_RATE = 1e-4  # at which Adam trains a pretrained encoder, and SGD hardly moves it
HIGH = 1e-3  # a rate of Adam at which most pretrained encoders diverge


def update_notes(model: EncoderWithHead, train: Train, *, updates: int) -> Iterator[str]:
    """The peak of noam, a rate of SGD at which it hardly learns, and layers that a run ends too early to unfreeze.

    `train` has its final length, which is so many `updates`.
    """
    if train.schedule == "noam":
        warmup, width = train.warmup_updates(updates), model.backbone.config.hidden_size
        peak = train.noam_factor * noam(warmup, width=width, warmup=warmup)
        high = ": far above what a pretrained encoder bears; lower train.noam_factor" if peak > HIGH else ""
        yield (
            f"noam: the learning rate rises to {peak:.3g} at update {warmup} of {updates} (width {width}, "
            f"train.noam_factor {train.noam_factor:g}){high}"
        )
    elif train.solver == "sgd" and train.learning_rate <= ADAM_RATE:
        yield (
            f"sgd with a learning rate of {train.learning_rate:g}, which is one for Adam: it will hardly learn; set "
            "train.learning_rate=0.05 or so"
        )
    unfreezing = unfreezing_of(model, train.unfreeze_layers)
    if unfreezing is not None and unfreezing.epochs > train.parts:
        yield (
            f"unfreeze_layers {train.unfreeze_layers}: all layers train from {train.part} {unfreezing.epochs} on, "
            f"and the run has {so_many(train.parts, train.part)}; the lowest ones stay as they are"
        )
