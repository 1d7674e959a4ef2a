"""Training rates of the settings in docs/generate/shapes.toml, over some updates of each.

python benchmarks/rates.py --data DIR --by-article DIR --out results/benchmarks/rates.json
"""

import json
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json
from measuring import unscored

from finetune.data.source import source_of
from finetune.inference.engine import Engine
from finetune.models import pretrained as weights
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision
from finetune.models.families import most_tokens
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Event, Updates
from finetune.runs.recipe import parse
from finetune.task_types import registry
from finetune.task_types.options import configured, option_names
from finetune.task_types.prepare import encode_rows, load_splits
from finetune.training.trainer import Trainer

SHAPES = Path(__file__).resolve().parents[1] / "docs" / "generate" / "shapes.toml"


@dataclass
class Stopwatch:
    """A watcher that records the time of each group of updates, and stops training after `groups` of them."""

    groups: int
    times: list[tuple[int, float]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Raises StopIteration after the last group."""
        if isinstance(event, Updates):
            self.times.append((len(event.losses), event.seconds))
            if len(self.times) > self.groups:
                raise StopIteration


def rate(shape: dict[str, Any], *, data: Path, groups: int) -> dict[str, float]:
    """Rows/s and tokens/s, over `groups` times ten updates."""
    recipe = parse({"task": shape["task"], **shape["settings"]}, origin=shape["task"], options=option_names)
    task = configured(registry.find(shape["task"]), recipe.options)
    folder = weights.resolve(recipe.model).folder
    device = resolve_device("cpu")
    model, _ = build_model(folder, task.head, recipe, device=device)
    tokenizer = load_tokenizer(folder)
    rows = load_splits(task, source_of(data), names=[task.train_split])[task.train_split].rows
    features = encode_rows(task, rows, tokenizer, recipe.max_length, most_tokens(model.backbone.encoder))
    watch = Stopwatch(groups)
    accelerator = build_accelerator(device, resolve_precision("auto", device))
    engine = Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch)
    trainer = Trainer(engine=engine, settings=recipe.train, data_seed=0)
    with suppress(StopIteration):
        trainer.fit(features, unscored)
    updates, seconds = (sum(column) for column in zip(*watch.times[1:], strict=True))
    features_per_second = updates * recipe.train.batch_size / seconds
    return {
        "updates": updates,
        "seconds": seconds,
        "rows_per_second": features_per_second * len(rows) / len(features),
        "tokens_per_second": features_per_second * sum(map(len, features)) / len(features),
    }


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Training rates of every shape", required=False)
    parser.add_argument("--data", type=Path, required=True, help="folder with conll2003, wnut17 and codah")
    parser.add_argument("--by-article", type=Path, required=True, help="folder with SQuAD's files by article")
    parser.add_argument("--rounds", type=int, default=3, help="times ten updates that are timed")
    options = parser.parse_args()
    facts, rates = machine.facts(), {}
    for name, shape in tomllib.loads(SHAPES.read_text(encoding="utf-8")).items():
        data = options.by_article if shape["task"].startswith("squad") else options.data
        rates[name] = rate(shape, data=data, groups=options.rounds)
        print(name, json.dumps(rates[name]), flush=True)
    write_json(options.out, {"about": "Training rates", **facts, "rates": rates})


if __name__ == "__main__":
    main()
