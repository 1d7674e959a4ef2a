"""The head of each objective of pre-training."""

from finetune.models.head import Head
from finetune.task_types.pretraining.boundary_head import BoundaryHead
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead

HEADS: dict[str, type[Head]] = {
    "mlm": WordHead,
    "mlm-nsp": NextSentenceHead,
    "mlm-sop": NextSentenceHead,
    "mlm-sbo": BoundaryHead,
    "ltr": NextWordHead,
}
