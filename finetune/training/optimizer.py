"""The optimizer: AdamW with or without bias correction, with two weight-decay groups for each rate; its schedule.

The weight decay is decoupled (Loshchilov and Hutter 2019): an update takes the rate times `weight_decay` of a weight
off it, and the moments do not see that. The learning rate is a function of the updates before the current one, counted
from 0, and of nothing else, so that a resumed run has the same rates.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler
from transformers import get_scheduler

from finetune.models.freezing import depths
from finetune.models.head import EncoderWithHead
from finetune.runs.recipe_tables import Train

BETAS = (0.9, 0.999)


def build_optimizer(model: EncoderWithHead, settings: Train) -> Optimizer:
    """AdamW (Devlin et al. 2019, A.2, and the original code): weight decay on matrices, none on biases and LayerNorm.

    `layer_decay` is the ratio of each layer's learning rate to that of the layer above (Howard and Ruder 2018, 3.2,
    "discriminative fine-tuning": they divide by 2.6, which is 0.385 here).
    """
    groups, rate = _groups(model, settings), settings.learning_rate
    if settings.bias_correction:
        return AdamW(groups, lr=rate, betas=BETAS, eps=settings.adam_epsilon, fused=True)
    return UncorrectedAdamW(groups, lr=rate, eps=settings.adam_epsilon)


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
            "lr": settings.learning_rate * settings.layer_decay**depth,
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


def build_schedule(optimizer: Optimizer, settings: Train, *, updates: int) -> LRScheduler:
    """Warm-up, then `settings.schedule`."""
    name = "constant_with_warmup" if settings.schedule == "constant" else settings.schedule
    warmup = settings.warmup_updates(updates)
    return get_scheduler(name, optimizer, warmup, updates)  # type: ignore[no-any-return]
