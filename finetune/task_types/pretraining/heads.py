"""The head of each objective of pre-training."""

from finetune.models.head import Head
from finetune.task_types.pretraining.boundary_head import BoundaryHead
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead
from finetune.task_types.pretraining.replaced_head import ReplacedHead

HEADS: dict[str, type[Head]] = {
    "mlm": WordHead,
    "mlm-nsp": NextSentenceHead,
    "mlm-sop": NextSentenceHead,
    "mlm-sbo": BoundaryHead,
    "rtd": ReplacedHead,
    "ltr": NextWordHead,
}
