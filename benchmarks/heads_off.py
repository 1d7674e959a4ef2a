"""Scores of a fine-tuned minilm with heads switched off (Michel et al. 2019, sections 3 and 4)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

import finetune
from finetune.data.source import source_of
from finetune.metrics.significance import holm, mcnemar
from finetune.runs.folder import RunFolder
from finetune.task_types.registry import find

ROWS, BATCH, STEP = 1_000, 64, 6  # training rows, rows of a forward pass, heads that are switched off at a time
SETTINGS: dict[str, Any] = {"train.learning_rate": 1e-4, "train.batch_size": 16}
Head = tuple[int, int]  # layer and head, from 0


class Dev:
    """The dev rows of a task, and which of them a model has right."""

    def __init__(self, name: str, folder: Path) -> None:
        task: Any = find(name)
        rows = task.load(source_of(None), "dev").rows
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = [[row.text] if row.pair is None else [row.text, row.pair] for row in rows]
        ids = [tokenizer(*text, truncation=True, max_length=128) for text in texts]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]["input_ids"]))
        self.labels = [rows[index].gold for index in order]
        self.batches = [
            tokenizer.pad([ids[index] for index in order[at : at + BATCH]], return_tensors="pt")
            for at in range(0, len(order), BATCH)
        ]

    def right(self, model: PreTrainedModel) -> np.ndarray:
        """For each row whether the model has it right."""
        with torch.inference_mode():
            best = [index for batch in self.batches for index in model(**batch).logits.argmax(-1).tolist()]
        names = model.config.id2label
        return np.array([names[index] == label for index, label in zip(best, self.labels, strict=True)])


@contextmanager
def without(model: PreTrainedModel, heads: Sequence[Head]) -> Iterator[None]:
    """Within it these heads give nothing: the columns of the matrix that reads their outputs are 0."""
    width = model.config.hidden_size // model.config.num_attention_heads
    layers = [layer.attention.output.dense.weight for layer in model.base_model.encoder.layer]
    kept = [weight.detach().clone() for weight in layers]
    with torch.no_grad():
        for layer, head in heads:
            layers[layer][:, head * width : (head + 1) * width] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            for weight, before in zip(layers, kept, strict=True):
                weight.copy_(before)


def measured(name: str, seed: int, work: Path) -> dict[str, Any]:
    """Accuracy on dev of a run: whole, without each head, with one head a layer, and without more and more heads.

    Heads are put in order by the first half of dev, and those switched off together are scored on the other half.
    """
    record = finetune.train(
        f"glue-{name}", model="minilm", limit=ROWS, out=work, progress=False, seed=seed, **SETTINGS
    ).records[0]
    folder = RunFolder.of(work, record.task, record.id).path / "model"
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    dev = Dev(name, folder)
    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    whole = dev.right(model)

    def scored(off: Sequence[Head]) -> np.ndarray:
        with without(model, off):
            return dev.right(model)

    each = {one: scored([one]) for one in every}
    alone = {one: scored([other for other in every if other[0] == one[0] and other != one]) for one in every}
    draw = np.random.default_rng(seed).permutation(len(whole))
    chosen, judged = draw[: len(draw) // 2], draw[len(draw) // 2 :]
    order = sorted(every, key=lambda one: -each[one][chosen].mean())
    return {
        "rows": ROWS,
        "dev_rows": len(whole),
        "accuracy": float(whole.mean()),
        "most_frequent": float(max(np.mean(np.array(dev.labels) == label) for label in set(dev.labels))),
        "without": [[float(each[layer, head].mean()) for head in range(heads)] for layer in range(layers)],
        "p": holm([mcnemar(each[one], whole) for one in every]),
        "alone": [[float(alone[layer, head].mean()) for head in range(heads)] for layer in range(layers)],
        "fewer": [[count, float(scored(order[:count])[judged].mean())] for count in range(0, len(every) + 1, STEP)],
        "record": record.id,
    }
