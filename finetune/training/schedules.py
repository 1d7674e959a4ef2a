"""Learning-rate schedules: those of transformers, noam and slanted triangular rates.

Each is a function of the updates before the current one, counted from 0, and of nothing else, so that a resumed run has
the same rates.
"""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler

from finetune.runs.recipe_tables import Train


def build_schedule(optimizer: Optimizer, settings: Train, *, updates: int, width: int) -> LRScheduler:
    """Warm-up, then `settings.schedule`; `width` is that of the encoder's hidden layers, which noam reads."""
    warmup = settings.warmup_updates(updates)
    if settings.schedule == "noam":
        return LambdaLR(optimizer, lambda done: noam(done + 1, width=width, warmup=warmup))
    if settings.schedule == "slanted_triangular":
        ratio = settings.slant_ratio
        return LambdaLR(optimizer, lambda done: slanted_triangular(done, updates=updates, cut=warmup, ratio=ratio))
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


def slanted_triangular(done: int, *, updates: int, cut: int, ratio: float) -> float:
    """The share of the peak after `done` of `updates` (Howard and Ruder 2018, 3.2, equation 3).

    It rises from 1 / `ratio` to 1 over `cut` updates, the paper's cut_frac of all, and falls back over the others.
    The paper writes cut x (1 / cut_frac - 1) for `updates` - `cut`: the same where cut_frac of all is a whole number,
    and below 0 at the end where it is not.
    """
    height = done / cut if done < cut else 1 - (done - cut) / max(1, updates - cut)
    return (1 + max(0.0, height) * (ratio - 1)) / ratio
