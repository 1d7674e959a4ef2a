"""How much of a batch is padding, in training and in prediction, with a CPU's lengths and with a GPU's.

python benchmarks/padding.py --data DIR --out results/benchmarks/padding.json

Nothing is trained: the rows of each task become tokens, and batches are made as a run makes them. What attention over
rows laid end to end could save is at most what padding takes.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import numpy as np

import finetune
from finetune.data.source import Source, source_of
from finetune.inference.feature_batches import BATCH_TOKENS, stepped_on_gpu, token_batches
from finetune.models.feature import Feature, lengths
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find
from finetune.task_types.resolved_run import resolved_run
from finetune.training.prepare import build_run, plan_run
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
PADDED: dict[str, Callable[[int], int]] = {"cpu": lambda length: length, "cuda": lambda n: stepped_on_gpu(n, most=MOST)}


def sequence_lengths(feature: Feature) -> list[int]:
    """The tokens of each sequence of a feature: several where it has choices."""
    return [len(sequence) for sequence in feature.choices or (feature,)]


def operations(length: np.ndarray) -> float:
    """The products of encoder layers on sequences of these lengths, in units of a width and a layer."""
    return float(np.sum(24 * WIDTH * length + 4 * length.astype(float) ** 2))


def padding(features: Sequence[Feature], batches: Iterable[np.ndarray], device: str) -> dict[str, float]:
    """The shares of tokens, and of operations on them, that are padding."""
    tokens, computed, useful, done = 0, 0, 0.0, 0.0
    for batch in batches:
        real = np.array([length for index in batch for length in sequence_lengths(features[index])])
        padded = np.full_like(real, PADDED[device](int(real.max())))
        tokens, computed = tokens + int(real.sum()), computed + int(padded.sum())
        useful, done = useful + operations(real), done + operations(padded)
    return {"tokens": 1 - tokens / computed, "operations": 1 - useful / done}


def own_vocabulary(task: str, source: Source, folder: Path) -> Path:
    """A vocabulary of a task's training rows."""
    rows = find(task).load(source, "train").rows
    texts = folder / f"{task}.txt"
    texts.write_text("\n\n".join(text for row in rows for text in row.texts), encoding="utf-8")
    return finetune.tokenizer(texts, path=folder / task, size=VOCABULARY).path


def measured(settings: dict[str, Any], source: Source, limit: int | None, folder: Path) -> dict[str, Any]:
    """A task's lengths, and the shares of padding of its training and dev rows on each device."""
    own = {"tokenizer": str(own_vocabulary(settings["task"], source, folder))} if "model" in settings else {}
    recipe = Recipe.model_validate({"model": "minilm", "limit": limit, **settings, **own})
    planned = plan_run(resolved_run(recipe), source=source, device="cpu")
    build_run(planned)
    features = planned.features
    train, dev = (list(features[split]) for split in (planned.task.train_split, planned.task.dev_splits[0]))
    sizes, batch_size = lengths(train), recipe.train.batch_size
    batches = training_batches(sizes, batch_size=batch_size, data_seed=recipe.seeds[1], epoch=1)
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
    """Counts, prints and writes."""
    parser = argparse.ArgumentParser(description="How much of a batch is padding")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--data", type=Path, help="folder with the tasks' files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--limit", type=int, help="rows of each split")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    result = {"about": "Shares of padding in batches", **machine.facts(), "tasks": dict[str, Any]()}
    for name in options.tasks:
        with TemporaryDirectory() as scratch:
            result["tasks"][name] = measured(TASKS[name], source_of(options.data), options.limit, Path(scratch))
        print(name, json.dumps(result["tasks"][name]), flush=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
