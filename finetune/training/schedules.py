"""Learning-rate schedules: those of transformers, and noam.

Each is a function of the updates before the current one, counted from 0, and of nothing else, so that a resumed run has
the same rates.
"""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler

from finetune.runs.recipe_tables import Train

HIGH = 1e-3  # a rate of Adam at which most pretrained encoders diverge


def build_schedule(optimizer: Optimizer, settings: Train, *, updates: int, width: int) -> LRScheduler:
    """Warm-up, then `settings.schedule`; `width` is that of the encoder's hidden layers, which noam reads."""
    warmup = settings.warmup_updates(updates)
    if settings.schedule == "noam":
        return LambdaLR(optimizer, lambda done: noam(done + 1, width=width, warmup=warmup))
    constant = settings.schedule == "constant"  # without warm-up in transformers
    if settings.schedule == "polynomial":  # which divides by the number of updates after the warm-up
        warmup = min(warmup, updates - 1)
    return get_scheduler(  # type: ignore[no-any-return]
        "constant_with_warmup" if constant else settings.schedule,
        optimizer,
        num_warmup_steps=warmup,
        num_training_steps=updates,
        scheduler_specific_kwargs={"lr_end": 0.0} if settings.schedule == "polynomial" else None,
    )


def noam(update: int, *, width: int, warmup: int) -> float:
    """The learning rate of an update, counted from 1 (Vaswani et al. 2017, 5.3, equation 3): linear over `warmup`
    updates, then with the inverse square root of the update; `width` is the paper's d_model.
    """
    return float(width**-0.5 * min(update**-0.5, update * warmup**-1.5))


def noam_notes(train: Train, *, updates: int, width: int) -> list[str]:
    """The peak of noam's rate in a run of so many updates, with an encoder of that width; none for other schedules."""
    if train.schedule != "noam":
        return []
    warmup = train.warmup_updates(updates)
    peak = train.noam_factor * noam(warmup, width=width, warmup=warmup)
    high = ": far above what a pretrained encoder bears; lower train.noam_factor" if peak > HIGH else ""
    return [
        f"noam: the learning rate rises to {peak:.3g} at update {warmup} of {updates} (width {width}, "
        f"train.noam_factor {train.noam_factor:g}){high}"
    ]
