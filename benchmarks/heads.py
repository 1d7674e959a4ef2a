"""What the heads of minilm look at, before training and after, and what a fine-tuned one loses without each of them.

python benchmarks/heads.py --out results/benchmarks/heads.json --seeds 42 43

Attention over `--texts` dev rows of each data set, as in Clark et al. (2019), section 3: of all tokens but the first
and the separators. Scores with heads switched off, as in Michel et al. (2019), sections 3 and 4, are in bf16. Whether
heads that start equal become different is asked of a small encoder that is trained from random weights: each step all
heads of a layer get the gradient of what they computed, and equal heads that are read by equal columns of the output
matrix get equal gradients. What can make them differ: those columns, or dropout of attention weights.

What is finished is kept, so that the same command goes on. No sentence is written.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch
from machine import options
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedModel,
)

import finetune
from finetune.data.source import source_of
from finetune.metrics.significance import holm, mcnemar
from finetune.models.pretrained import resolve
from finetune.task_types.registry import find

TASKS = ("sst2", "mrpc")
FAR = 5  # from here on an equal token is not a neighbour
LAYERS, WIDTH, HEADS = 2, 64, 4  # of the small encoder
ROWS, BATCH, UPDATES, EVERY, RATE = 2_000, 32, 300, 20, 1e-3  # of its training
SEEDS = (1, 2, 3)
OFF_ROWS, STEP = 1_000, 8  # training rows of a run, heads that are switched off at a time
OFF: dict[str, Any] = {"limit": OFF_ROWS, "train.learning_rate": 1e-4, "train.batch_size": 16}
STARTS: dict[str, dict[str, float]] = {  # whether heads, and the columns that read them, are equal; dropout
    "random": {},
    "equal": {"heads": 1, "columns": 1},
    "equal, dropout of hidden states": {"heads": 1, "columns": 1, "hidden": 0.1},
    "equal, dropout of attention": {"heads": 1, "columns": 1, "attention": 0.1},
    "equal, other columns": {"heads": 1},
}
Head = tuple[int, int]  # layer and head, from 0


def rows_of(task: str, split: str) -> Sequence[Any]:
    """The rows of a task."""
    return find(task).load(source_of(None), split).rows


def looks(weights: np.ndarray, ids: np.ndarray, separator: int) -> dict[str, np.ndarray]:
    """Each measure `(layers, heads, tokens)` of weights `(layers, heads, tokens, tokens)`, of each token that looks.

    `same` is NaN for a token that is not at least FAR tokens away once more.
    """
    places = np.arange(len(ids))
    ahead = places[None] - places[:, None]
    apart = np.abs(ahead)
    again = (ids[:, None] == ids[None]) & (apart >= FAR)
    logs = np.log2(np.where(weights > 0, weights, 1))
    return {
        "distance": (weights * apart).sum(-1),
        "entropy": -(weights * logs).sum(-1),
        "first": weights[..., 0],
        "separator": (weights * (ids == separator)).sum(-1),
        "itself": (weights * (ahead == 0)).sum(-1),
        "previous": (weights * (ahead == -1)).sum(-1),
        "next": (weights * (ahead == 1)).sum(-1),
        "same": np.where(again.any(-1), (weights * again).sum(-1), np.nan),
    }


def divergence(weights: np.ndarray) -> np.ndarray:
    """The mean Jensen-Shannon divergence in bits of each two heads, of weights `(heads, tokens, all)`."""

    def entropy(of: np.ndarray) -> np.ndarray:
        return np.asarray(-(of * np.log2(np.where(of > 0, of, 1))).sum(-1))

    own = entropy(weights)
    return np.array(
        [
            np.maximum((entropy((head + weights) / 2) - (of_head + own) / 2).mean(-1), 0)
            for head, of_head in zip(weights, own, strict=True)
        ]
    )


def looked(model: PreTrainedModel, tokenizer: Any, rows: Sequence[Any]) -> dict[str, Any]:
    """What the heads of an encoder look at: means over tokens, those of even attention, and distances of heads."""
    measures, uniform = defaultdict[str, list[np.ndarray]](list), defaultdict[str, list[np.ndarray]](list)
    apart = []
    for row in rows:
        inputs = tokenizer(row.text, row.pair, return_tensors="pt", truncation=True, max_length=128)
        with torch.inference_mode():
            weights = torch.cat(model(**inputs, output_attentions=True).attentions).numpy()
        ids = inputs["input_ids"][0].numpy()
        words = ~np.isin(ids, (tokenizer.cls_token_id, tokenizer.sep_token_id))
        even = np.full((1, 1, *weights.shape[2:]), 1 / len(ids))
        for store, attention in ((measures, weights), (uniform, even)):
            for name, values in looks(attention, ids, tokenizer.sep_token_id).items():
                store[name].append(values[..., words])
        apart.append(divergence(weights.reshape(-1, *weights.shape[2:])[:, words]))
    means = {name: np.nanmean(np.concatenate(values, -1), -1) for name, values in measures.items()}
    return {
        "measures": {name: np.round(mean, 4).tolist() for name, mean in means.items()},
        "uniform": {name: round(float(np.nanmean(np.concatenate(of, -1))), 4) for name, of in uniform.items()},
        "apart": np.round(np.mean(apart, 0), 4).tolist(),
    }


def attention(texts: int) -> dict[str, Any]:
    """What heads look at, of minilm and of an encoder of its size with untrained weights, by task."""
    folder = resolve("minilm").folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    trained = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    torch.manual_seed(0)
    models = {"trained": trained, "untrained": AutoModel.from_config(trained.config, attn_implementation="eager")}
    return {"texts": texts} | {
        kind: {name: looked(model.eval(), tokenizer, rows_of(name, "dev")[:texts]) for name in TASKS}
        for kind, model in models.items()
    }


def built(start: str, seed: int, vocabulary: int) -> BertForSequenceClassification:
    """An encoder with two labels, in double precision, so that rounding makes no heads differ."""
    torch.manual_seed(seed)
    chosen, size = STARTS[start], WIDTH // HEADS
    config = BertConfig(
        vocab_size=vocabulary, num_hidden_layers=LAYERS, hidden_size=WIDTH, num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH, max_position_embeddings=128, initializer_range=0.05,
        attention_probs_dropout_prob=chosen.get("attention", 0.0), hidden_dropout_prob=chosen.get("hidden", 0.0),
    )  # fmt: skip
    model = BertForSequenceClassification(config).double()
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            own, dense = layer.attention.self, layer.attention.output.dense.weight
            for part in (own.query, own.key, own.value) if "heads" in chosen else ():
                part.weight.copy_(part.weight[:size].repeat(HEADS, 1))
            if "columns" in chosen:
                dense.copy_(dense[:, :size].repeat(1, HEADS))
    return model


def apart(model: BertForSequenceClassification) -> float:
    """How much heads differ: the distance of their queries, keys and values from the mean head, by the length of this.

    A mean over the layers; 0 where all heads are equal.
    """
    distances = []
    for layer in model.bert.encoder.layer:
        own = layer.attention.self
        heads = torch.cat([part.weight.detach().view(HEADS, -1) for part in (own.query, own.key, own.value)], 1)
        mean = heads.mean(0)
        distances.append(float((heads - mean).norm(dim=1).mean() / mean.norm()))
    return float(np.mean(distances))


def equal() -> dict[str, Any]:
    """How far heads are apart by update, and the accuracy on dev at the end, of every start with every seed."""
    tokenizer, splits = AutoTokenizer.from_pretrained(resolve("minilm").folder), {}
    for split in ("train", "dev"):
        rows = rows_of("sst2", split)[:ROWS]
        texts = [row.text for row in rows]
        inputs = tokenizer(texts, padding=True, truncation=True, max_length=32, return_tensors="pt")
        splits[split] = {**inputs, "labels": torch.tensor([int(row.gold == "positive") for row in rows])}

    def trained(start: str, seed: int) -> dict[str, Any]:
        model, train, dev = built(start, seed, len(tokenizer)).train(), splits["train"], splits["dev"]
        optimizer, draw = torch.optim.AdamW(model.parameters(), lr=RATE), torch.Generator().manual_seed(seed)
        curve = [[0, apart(model)]]
        for update in range(1, UPDATES + 1):
            optimizer.zero_grad()
            places = torch.randint(len(train["labels"]), (BATCH,), generator=draw)
            model(**{name: values[places] for name, values in train.items()}).loss.backward()
            optimizer.step()
            if update % EVERY == 0:
                curve.append([update, apart(model)])
        with torch.inference_mode():
            right = model.eval()(**dev).logits.argmax(-1) == dev["labels"]
        return {"apart": curve, "accuracy": float(right.double().mean())}

    starts = {start: [trained(start, seed) for seed in SEEDS] for start in STARTS}
    facts = {"layers": LAYERS, "width": WIDTH, "heads": HEADS, "rows": ROWS, "updates": UPDATES}
    return facts | {"starts": starts}


class Dev:
    """The dev rows of a task, and the hidden states that each layer of a model gets: a head changes those above."""

    def __init__(self, name: str, folder: Path) -> None:
        rows, tokenizer = rows_of(name, "dev"), AutoTokenizer.from_pretrained(folder)
        ids = [tokenizer(row.text, row.pair, truncation=True, max_length=128) for row in rows]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]["input_ids"]))
        self.labels = [rows[index].gold for index in order]
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
        self.batches = []
        for at in range(0, len(order), 2 * BATCH):
            batch = tokenizer.pad([ids[index] for index in order[at : at + 2 * BATCH]], return_tensors="pt")
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                states = self.model(**batch, output_hidden_states=True).hidden_states
            self.batches.append((batch["attention_mask"][:, None, None].bool(), states))

    def right(self, off: Sequence[Head] = ()) -> np.ndarray:
        """For each row whether the model has it right with these heads off, computed from the lowest of them on."""
        encoder, best, start = self.model.base_model, [], min((layer for layer, _ in off), default=0)
        with without(self.model, off), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            for mask, states in self.batches:
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
    weights = [layer.attention.output.dense.weight for layer in model.base_model.encoder.layer]
    before = [weight.detach().clone() for weight in weights]
    with torch.no_grad():
        for layer, head in heads:
            weights[layer][:, head * width : (head + 1) * width] = 0
        try:
            yield
        finally:
            for weight, values in zip(weights, before, strict=True):
                weight.copy_(values)


def heads_off(name: str, seed: int, work: Path) -> dict[str, Any]:
    """Accuracy on dev of a run: whole, without each head, and without more and more heads.

    Heads are put in order by the first half of dev, and those switched off together are scored on the other half.
    """
    run = finetune.run(f"glue-{name}", model="minilm", out=work, progress=False, seed=seed, **OFF)
    dev = Dev(name, Path(run.folder) / "model")
    layers = dev.model.config.num_hidden_layers
    heads = list(product(range(layers), range(dev.model.config.num_attention_heads)))
    whole, single = dev.right(), np.array([dev.right([head]) for head in heads])
    draw = np.random.default_rng(seed).permutation(len(whole))
    chosen, judged = draw[: len(draw) // 2], draw[len(draw) // 2 :]
    order = [heads[index] for index in np.argsort(-single[:, chosen].mean(1), kind="stable")]
    return {
        "rows": OFF_ROWS,
        "dev_rows": len(whole),
        "precision": "bf16",
        "accuracy": float(whole.mean()),
        "most_frequent": float(max(np.mean(np.array(dev.labels) == label) for label in set(dev.labels))),
        "without": single.mean(1).reshape(layers, -1).tolist(),
        "p": holm([mcnemar(right, whole) for right in single]),
        "fewer": [[count, float(dev.right(order[:count])[judged].mean())] for count in range(0, len(heads) + 1, STEP)],
        "record": run.id,
    }


def main() -> None:
    """Writes the file after each part."""
    given = options(__doc__, work=Path("build/heads"), seeds=(42, 43), texts=200)
    parts: dict[str, Callable[[], dict[str, Any]]] = {"attention": partial(attention, given.texts), "equal": equal}
    for seed, name in product(given.seeds, TASKS):
        parts[f"off-{name}-{seed}"] = partial(heads_off, name, seed, given.work)
    done = json.loads(given.out.read_text()) if given.out.is_file() else {}
    for name, measure in parts.items():
        if name not in done:
            done |= {name: measure(), "machine": machine.facts()}
            given.out.write_text(json.dumps(done) + "\n")
            print(name, flush=True)


if __name__ == "__main__":
    main()
