"""Scores of a fine-tuned minilm with heads switched off (Michel et al. 2019, sections 3 and 4), in bf16."""

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

ROWS, BATCH, STEP = 1_000, 64, 8  # training rows, rows of a forward pass, heads that are switched off at a time
SETTINGS: dict[str, Any] = {"train.learning_rate": 1e-4, "train.batch_size": 16}
Head = tuple[int, int]  # layer and head, from 0


class Dev:
    """The dev rows of a task, and the hidden states that each layer of a model gets: a head changes those above."""

    def __init__(self, name: str, folder: Path) -> None:
        task: Any = find(name)
        rows = task.load(source_of(None), "dev").rows
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = [[row.text] if row.pair is None else [row.text, row.pair] for row in rows]
        ids = [tokenizer(*text, truncation=True, max_length=128) for text in texts]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]["input_ids"]))
        self.labels = [rows[index].gold for index in order]
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
        self.masks, self.states = [], []
        for at in range(0, len(order), BATCH):
            batch = tokenizer.pad([ids[index] for index in order[at : at + BATCH]], return_tensors="pt")
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                self.states.append(self.model(**batch, output_hidden_states=True).hidden_states)
            self.masks.append(batch["attention_mask"][:, None, None].bool())

    def right(self, start: int = 0) -> np.ndarray:
        """For each row whether the model has it right, computed from this layer on."""
        encoder, best = self.model.base_model, []
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            for mask, states in zip(self.masks, self.states, strict=True):
                hidden = states[start]
                for layer in encoder.encoder.layer[start:]:
                    hidden = layer(hidden, mask)
                best += self.model.classifier(encoder.pooler(hidden)).argmax(-1).tolist()
        names = self.model.config.id2label
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
    """Accuracy on dev of a run: whole, without each head, and without more and more heads.

    Heads are put in order by the first half of dev, and those switched off together are scored on the other half.
    """
    record = finetune.run(
        f"glue-{name}", model="minilm", limit=ROWS, out=work, progress=False, seed=seed, **SETTINGS
    ).records[0]
    dev = Dev(name, RunFolder.of(work, record.task, record.id).path / "model")
    config = dev.model.config
    every = [(layer, head) for layer in range(config.num_hidden_layers) for head in range(config.num_attention_heads)]
    whole = dev.right()

    def scored(off: Sequence[Head]) -> np.ndarray:
        with without(dev.model, off):
            return dev.right(min((layer for layer, _ in off), default=0))

    each = np.array([scored([one]) for one in every])
    draw = np.random.default_rng(seed).permutation(len(whole))
    chosen, judged = draw[: len(draw) // 2], draw[len(draw) // 2 :]
    order = [every[index] for index in np.argsort(-each[:, chosen].mean(1), kind="stable")]
    return {
        "rows": ROWS,
        "dev_rows": len(whole),
        "precision": "bf16",
        "accuracy": float(whole.mean()),
        "most_frequent": float(max(np.mean(np.array(dev.labels) == label) for label in set(dev.labels))),
        "without": each.mean(1).reshape(config.num_hidden_layers, -1).tolist(),
        "p": holm([mcnemar(one, whole) for one in each]),
        "fewer": [[count, float(scored(order[:count])[judged].mean())] for count in range(0, len(every) + 1, STEP)],
        "record": record.id,
    }
