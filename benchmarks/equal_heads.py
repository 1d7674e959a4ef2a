"""Whether heads that start equal become different: a small encoder that is trained from random weights.

Each step all heads of a layer get the gradient of what they computed. Equal heads that are read by equal columns of the
output matrix get equal gradients. What can make them differ: those columns, or dropout of attention weights.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from finetune.data.source import source_of
from finetune.models.pretrained import resolve
from finetune.task_types.registry import find

LAYERS, WIDTH, HEADS = 2, 64, 4
ROWS, BATCH, UPDATES, EVERY, RATE = 2_000, 32, 300, 20, 1e-3
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Start:
    """How an encoder starts: which parts of its heads are equal, and the probability of each dropout."""

    equal: bool = False
    equal_columns: bool = False
    attention_dropout: float = 0.0
    hidden_dropout: float = 0.0


STARTS = {
    "random": Start(),
    "equal": Start(equal=True, equal_columns=True),
    "equal, dropout of hidden states": Start(equal=True, equal_columns=True, hidden_dropout=0.1),
    "equal, dropout of attention": Start(equal=True, equal_columns=True, attention_dropout=0.1),
    "equal, other columns": Start(equal=True),
}


def built(start: Start, seed: int, vocabulary: int) -> BertForSequenceClassification:
    """An encoder with two labels, in double precision, so that rounding makes no heads differ."""
    torch.manual_seed(seed)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=vocabulary, num_hidden_layers=LAYERS, hidden_size=WIDTH, num_attention_heads=HEADS,
            intermediate_size=2 * WIDTH, max_position_embeddings=128, initializer_range=0.05,
            attention_probs_dropout_prob=start.attention_dropout, hidden_dropout_prob=start.hidden_dropout,
        )
    ).double()  # fmt: skip
    size = WIDTH // HEADS
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            for part in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value):
                if start.equal:
                    part.weight.copy_(part.weight[:size].repeat(HEADS, 1))
            if start.equal_columns:
                dense = layer.attention.output.dense.weight
                dense.copy_(dense[:, :size].repeat(1, HEADS))
    return model


def apart(model: BertForSequenceClassification) -> float:
    """How much heads differ: the distance of their queries, keys and values from the mean head, by the length of this.

    A mean over the layers; 0 where all heads are equal.
    """
    found = []
    for layer in model.bert.encoder.layer:
        own = layer.attention.self
        heads = torch.cat([part.weight.detach().view(HEADS, -1) for part in (own.query, own.key, own.value)], 1)
        mean = heads.mean(0)
        found.append(float((heads - mean).norm(dim=1).mean() / mean.norm()))
    return float(np.mean(found))


class Rows:
    """Rows of SST-2 as tensors of one length."""

    def __init__(self, split: str, most: int) -> None:
        tokenizer = AutoTokenizer.from_pretrained(resolve("minilm").folder)
        rows: Any = find("sst2").load(source_of(None), split).rows[:most]
        self.inputs = tokenizer(
            [row.text for row in rows], padding=True, truncation=True, max_length=32, return_tensors="pt"
        )
        self.labels = torch.tensor([int(row.gold == "positive") for row in rows])
        self.vocabulary = len(tokenizer)

    def batch(self, places: torch.Tensor) -> dict[str, torch.Tensor]:
        """Some rows as the encoder reads them."""
        return {name: values[places] for name, values in self.inputs.items()} | {"labels": self.labels[places]}


def trained(start: Start, seed: int, train: Rows, dev: Rows) -> dict[str, Any]:
    """How far heads are apart by update, and the accuracy on dev at the end."""
    model = built(start, seed, train.vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    draw = torch.Generator().manual_seed(seed)
    curve = [[0, apart(model)]]
    for update in range(1, UPDATES + 1):
        model.train()
        optimizer.zero_grad()
        model(**train.batch(torch.randint(len(train.labels), (BATCH,), generator=draw))).loss.backward()
        optimizer.step()
        if update % EVERY == 0:
            curve.append([update, apart(model)])
    model.eval()
    with torch.inference_mode():
        best = model(**dev.batch(torch.arange(len(dev.labels)))).logits.argmax(-1)
    return {"apart": curve, "accuracy": float((best == dev.labels).double().mean())}


def measured() -> dict[str, Any]:
    """Every start with every seed."""
    train, dev = Rows("train", ROWS), Rows("dev", ROWS)
    return {
        "layers": LAYERS, "width": WIDTH, "heads": HEADS, "rows": ROWS, "updates": UPDATES,
        "starts": {name: [trained(start, seed, train, dev) for seed in SEEDS] for name, start in STARTS.items()},
    }  # fmt: skip
