"""Training speed on a CPU compared with transformers.Trainer: same weights, rows, batch size and optimizer settings.

python benchmarks/against_trainer.py --data DIR --out results/against_trainer.json
"""

from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import torch
from datasets import Dataset
from measuring import MAX_LENGTH, MRPC, Contestants, Job, Measurement, Meter, as_in_a_run, compare, sample, train_ours
from torch import Tensor
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from finetune.models import pretrained as weights
from finetune.models.families import takes_segments
from finetune.models.tokenizers.load import load_tokenizer

QUIET: dict[str, Any] = {
    "use_cpu": True, "logging_strategy": "no", "save_strategy": "no", "eval_strategy": "no", "report_to": "none",
    "disable_tqdm": True,
}  # fmt: skip


class MeasuredTrainer(Trainer):  # type: ignore[misc]
    """Trainer that records each update's loss and end."""

    def __init__(self, meter: Meter, **given: Any) -> None:
        super().__init__(**given, callbacks=[EndOfUpdate(meter)])
        self.remove_callback(PrinterCallback)
        self.meter, self.losses = meter, list[Tensor]()

    def training_step(self, *positional: Any, **named: Any) -> Tensor:
        """As in Trainer, and keeps the loss."""
        loss: Tensor = super().training_step(*positional, **named)
        self.losses.append(loss)
        return loss

    def measured(self, warm_up: int) -> Measurement:
        """Trains."""
        self.train()
        return self.meter.measurement([float(loss) for loss in self.losses], warm_up)


class EndOfUpdate(TrainerCallback):  # type: ignore[misc]
    """Notifies a meter at the end of each update."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Called after the optimizer's step and the zeroing of gradients."""
        self.meter.note_end()


def train_theirs(job: Job, *, grouped: bool, bf16: bool) -> Measurement:
    """One epoch of Trainer; without grouping by length, rows are padded to the maximum, run_glue.py's default."""
    return trained_theirs(job, grouped=grouped, bf16=bf16)[0]


def trained_theirs(job: Job, *, grouped: bool, bf16: bool) -> tuple[Measurement, Trainer]:
    """What `train_theirs` measures, and the Trainer with the trained model and its data set."""
    folder, train, rows = weights.resolve(job.model).folder, job.train, sample(job)
    tokenizer = load_tokenizer(folder)
    torch.manual_seed(job.seed)
    model: Any = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=len(MRPC.labels), dtype=torch.float32
    )
    encoded = tokenizer(
        [row.text for row in rows], [row.pair for row in rows], truncation=True, max_length=MAX_LENGTH,
        padding=False if grouped else "max_length", return_token_type_ids=takes_segments(model.config),
    )  # fmt: skip
    with TemporaryDirectory() as scratch:
        arguments = TrainingArguments(  # our optimizer settings, otherwise Trainer's defaults
            output_dir=scratch,
            per_device_train_batch_size=train.batch_size,
            per_device_eval_batch_size=64,  # about as many tokens as in our batches
            num_train_epochs=train.epochs,
            learning_rate=train.learning_rate,
            lr_scheduler_type=train.schedule,
            warmup_steps=train.warmup,  # below 1, a share of all updates
            weight_decay=train.weight_decay,
            adam_epsilon=train.adam_epsilon,
            max_grad_norm=train.clip_norm,
            train_sampling_strategy="group_by_length" if grouped else "random",
            bf16=bf16,
            seed=job.seed,
            **QUIET,
        )
        trainer = MeasuredTrainer(
            Meter(model),
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({**encoded, "label": [MRPC.labels.index(row.gold) for row in rows]}),
            data_collator=DataCollatorWithPadding(tokenizer) if grouped else default_data_collator,
            processing_class=tokenizer,
        )
        return trainer.measured(job.warm_up), trainer


def train_ours_in_bf16(job: Job) -> Measurement:
    """Ours as a run is where the processor has bf16."""
    return train_ours(as_in_a_run, replace(job, train=job.train.model_copy(update={"precision": "bf16"})))


CONTESTANTS: Contestants = {
    "finetune": partial(train_ours, as_in_a_run),
    "finetune-bf16": train_ours_in_bf16,
    "trainer-padded-fp32": partial(train_theirs, grouped=False, bf16=False),
    "trainer-grouped-fp32": partial(train_theirs, grouped=True, bf16=False),
    "trainer-grouped-bf16": partial(train_theirs, grouped=True, bf16=True),
}
OURS = {"trainer-padded-fp32": "finetune", "trainer-grouped-fp32": "finetune", "trainer-grouped-bf16": "finetune-bf16"}
RATIOS = {"finetune / this": {name: (ours, name) for name, ours in OURS.items()}}

if __name__ == "__main__":
    compare(CONTESTANTS, RATIOS, about="Training speed on MRPC against transformers.Trainer")
