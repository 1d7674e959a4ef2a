"""AdamW with two weight-decay groups, with or without bias correction, and the learning-rate schedule."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler
from transformers import get_scheduler

from finetune.models.freezing import depths
from finetune.models.model import EncoderWithHead
from finetune.runs.recipe_tables import Train

BETAS = (0.9, 0.999)


def build_optimizer(model: EncoderWithHead, settings: Train) -> Optimizer:
    """AdamW with weight decay on matrices, none on biases and LayerNorm (Devlin et al. 2019, A.2; the original code).

    `layer_decay` is the ratio of each layer's learning rate to that of the layer above (Howard and Ruder 2018, 3.2).
    """
    distance = dict.fromkeys((p for p in model.parameters() if p.requires_grad), 0)
    if settings.layer_decay < 1:
        distance |= {p: depth for p, depth in depths(model.backbone.encoder) if p.requires_grad}
    members: defaultdict[tuple[int, bool], list[nn.Parameter]] = defaultdict(list)
    for parameter, depth in distance.items():
        members[depth, parameter.ndim > 1].append(parameter)
    groups = [
        {
            "params": params,
            "weight_decay": settings.weight_decay if decays else 0.0,
            "lr": settings.learning_rate * settings.layer_decay**depth,
        }
        for (depth, decays), params in sorted(members.items(), key=lambda item: (item[0][0], not item[0][1]))
    ]
    if settings.bias_correction:
        return AdamW(groups, lr=settings.learning_rate, betas=BETAS, eps=settings.adam_epsilon, fused=True)
    return UncorrectedAdamW(groups, lr=settings.learning_rate, eps=settings.adam_epsilon)


def build_schedule(optimizer: Optimizer, settings: Train, *, updates: int) -> LRScheduler:
    """Linear warm-up, then `settings.schedule`."""
    constant = settings.schedule == "constant"  # without warm-up in transformers
    warmup = math.ceil(settings.warmup * updates)
    if settings.schedule == "polynomial":  # which divides by the number of updates after the warm-up
        warmup = min(warmup, updates - 1)
    return get_scheduler(  # type: ignore[no-any-return]
        "constant_with_warmup" if constant else settings.schedule,
        optimizer,
        num_warmup_steps=warmup,
        num_training_steps=updates,
        scheduler_specific_kwargs={"lr_end": 0.0} if settings.schedule == "polynomial" else None,
    )


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
