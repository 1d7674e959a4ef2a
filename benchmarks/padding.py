"""How much of a batch is padding, in training and in prediction, with a CPU's lengths and with a GPU's.

python benchmarks/padding.py --data DIR --out results/benchmarks/padding.json

Nothing is trained: the rows of each task become tokens, and batches are made as a run makes them. What attention over
rows laid end to end could save is at most what padding takes.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from machine import Parts, options
from measuring import built

import finetune
from finetune.data.source import Source, source_of
from finetune.inference.feature_batches import BATCH_TOKENS, stepped_on_gpu, token_batches
from finetune.models.feature import Feature, lengths
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find
from finetune.training.updates import training_batches

WIDTH, MOST = 384, 512  # MiniLM's width and positions
VOCABULARY = 4_096  # tokens, of a task's own training rows where MiniLM does not read their language
OWN = {"model": "new:1x32x2"}
TASKS: dict[str, dict[str, Any]] = {
    "CoLA": {"task": "cola"},
    "SST-2": {"task": "sst2"},
    "STS-B": {"task": "stsb"},
    "MRPC": {"task": "mrpc"},
    "RTE": {"task": "rte"},
    "WNUT-17": {"task": "wnut-17"},
    "CoNLL-2003, single sentences": {"task": "conll-2003", "options": {"context": "sentence"}},
    "CoNLL-2003, documents": {"task": "conll-2003", "options": {"context": "document"}, "train": {"batch_size": 16}},
    "CODAH": {"task": "codah", "train": {"batch_size": 16}},
    "SQuAD 1.1 by article": {"task": "squad-v1-by-article", "max_length": 384, "train": {"batch_size": 16}},
    "NSMC": {"task": "nsmc", **OWN},
    "KorSTS": {"task": "korsts", **OWN},
}
# By device the length of a batch, from its longest.
PADDED: dict[str, Callable[[int], int]] = {"cpu": int, "cuda": partial(stepped_on_gpu, most=MOST)}


def sequence_lengths(feature: Feature) -> list[int]:
    """The tokens of each sequence of a feature: several where it has choices."""
    return [len(sequence) for sequence in feature.choices or (feature,)]


def padding(features: Sequence[Feature], batches: Iterable[np.ndarray], device: str) -> dict[str, float]:
    """The shares of tokens, and of the products of encoder layers on them, that are padding."""
    counts = np.zeros((2, 2))  # tokens and operations: real, and with padding
    for batch in batches:
        real = np.array([length for index in batch for length in sequence_lengths(features[index])], dtype=float)
        for column, length in enumerate((real, np.full_like(real, PADDED[device](int(real.max()))))):
            counts[:, column] += length.sum(), np.sum(24 * WIDTH * length + 4 * length**2)
    tokens, operations = 1 - counts[:, 0] / counts[:, 1]
    return {"tokens": tokens, "operations": operations}


def own_vocabulary(task: str, source: Source, folder: Path) -> Path:
    """A vocabulary of a task's training rows."""
    texts = folder / f"{task}.txt"
    rows = find(task).load(source, "train").rows
    texts.write_text("\n\n".join(text for row in rows for text in row.texts), encoding="utf-8")
    return finetune.tokenizer(texts, path=folder / task, size=VOCABULARY).path


def measured(settings: dict[str, Any], source: Source, limit: int | None) -> dict[str, Any]:
    """A task's lengths, and the shares of padding of its training and dev rows on each device."""
    with TemporaryDirectory() as scratch:
        own = {"tokenizer": str(own_vocabulary(settings["task"], source, Path(scratch)))} if "model" in settings else {}
        recipe = Recipe.model_validate({"model": "minilm", "limit": limit, **settings, **own})
        run = built(recipe, source)
    train, dev = (list(run.features[split]) for split in (run.task.train_split, run.task.dev_splits[0]))
    batch_size, seed = recipe.train.batch_size, recipe.seeds[1]
    batches = training_batches(lengths(train), batch_size=batch_size, data_seed=seed, epoch=1)
    return {
        "rows": {"train": len(train), "dev": len(dev)},
        "batch_size": batch_size,
        "mean_tokens": float(np.mean([length for feature in train for length in sequence_lengths(feature)])),
        "training": {device: padding(train, batches, device) for device in PADDED},
        "prediction": {
            device: padding(dev, token_batches(lengths(dev), tokens=BATCH_TOKENS[device]), device) for device in PADDED
        },
    }


def main() -> None:
    """Counts what is missing."""
    given = options(__doc__, tasks=tuple(TASKS), data=Path, limit=int)
    parts = Parts(given.out, "Shares of padding in batches", key="tasks")
    for name in given.tasks:
        parts.measure(name, measured, TASKS[name], source_of(given.data), given.limit)


if __name__ == "__main__":
    main()
