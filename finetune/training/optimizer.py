"""The optimizer: AdamW with or without bias correction, RAdam, with two weight-decay groups for each rate.

In both the weight decay is decoupled (Loshchilov and Hutter 2019): an update takes the rate times
`weight_decay` of a weight off it, and the moments do not see that.

Learning-rate schedules, those of transformers and noam, are functions of the updates before the current one, counted
from 0, and of nothing else, so that a resumed run has the same rates.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Optimizer, RAdam
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler

from finetune.models.freezing import depths
from finetune.models.head import EncoderWithHead
from finetune.runs.recipe_tables import Train

BETAS = (0.9, 0.999)
HIGH = 1e-3  # a rate of Adam at which most pretrained encoders diverge


def build_optimizer(model: EncoderWithHead, settings: Train) -> Optimizer:
    """The optimizer of `settings.solver`, with weight decay on matrices, none on biases and LayerNorm.

    AdamW is that of Devlin et al. 2019, A.2, and of the original code. RAdam (Liu et al. 2020, algorithm 2) does
    without the second moment while too few gradients tell it, and rectifies it from then on; torch begins at a length
    of the average above 5, the paper above 4.

    `layer_decay` is the ratio of each layer's learning rate to that of the layer above (Howard and Ruder 2018, 3.2,
    "discriminative fine-tuning": they divide by 2.6, which is 0.385 here).
    """
    groups, rate = _groups(model, settings), base_rate(settings)
    if settings.solver == "radam":
        return RAdam(groups, lr=rate, betas=BETAS, eps=settings.adam_epsilon, decoupled_weight_decay=True)
    if settings.bias_correction:
        return AdamW(groups, lr=rate, betas=BETAS, eps=settings.adam_epsilon, fused=True)
    return UncorrectedAdamW(groups, lr=rate, eps=settings.adam_epsilon)


def base_rate(settings: Train) -> float:
    """What the schedule multiplies: the peak of the learning rate; of `noam`, which has its own, the factor."""
    return settings.noam_factor if settings.schedule == "noam" else settings.learning_rate


def _groups(model: EncoderWithHead, settings: Train) -> list[dict[str, Any]]:
    """The trained weights by learning rate and weight decay."""
    distance = dict.fromkeys((p for p in model.parameters() if p.requires_grad), 0)
    if settings.layer_decay < 1:
        distance |= {p: depth for p, depth in depths(model.backbone.encoder) if p.requires_grad}
    members: defaultdict[tuple[int, bool], list[nn.Parameter]] = defaultdict(list)
    for parameter, depth in distance.items():
        members[depth, parameter.ndim > 1].append(parameter)
    return [
        {
            "params": params,
            "weight_decay": settings.weight_decay if decays else 0.0,
            "lr": base_rate(settings) * settings.layer_decay**depth,
        }
        for (depth, decays), params in sorted(members.items(), key=lambda item: (item[0][0], not item[0][1]))
    ]


class UncorrectedAdamW(Optimizer):
    """Adam without bias correction, as in the original BERT code: moments start at 0, so early updates are larger.

    A cause of failed runs on small data (Zhang et al. 2021; Mosbach et al. 2021).
    """

    def __init__(self, params: Iterable[dict[str, Any]], *, lr: float, eps: float) -> None:
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Updates every parameter that has a gradient."""
        beta1, beta2 = BETAS
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"].lerp_(p.grad, 1 - beta1)
                state["v"].lerp_(p.grad.square(), 1 - beta2)
                update = state["m"] / (state["v"].sqrt() + group["eps"])
                p.sub_(update.add_(p, alpha=group["weight_decay"]), alpha=group["lr"])


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
