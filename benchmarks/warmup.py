"""Post-norm against pre-norm encoders, new, with and without warm-up, at several learning rates.

python benchmarks/warmup.py --out results/benchmarks/warmup.json

Each is pre-trained on a made-up text in which a word is known from the one before it, so that a few hundred updates are
enough to learn it. A run is added to the file when it is finished, and the same command continues where an earlier one
stopped. About 3 minutes on one idle core.
"""

import itertools
import json
import math
import random
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from dated import out_parser, resumed, write_json
from measuring import unscored

from finetune.data.documents import Document
from finetune.data.rows import Rows
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import Diverged
from finetune.models import pretrained as weights
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.train import train_tokenizer
from finetune.runs.events import Event, Updates, unwatched
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.pretraining.task import TextTask
from finetune.training.trainer import Trainer

ABOUT = "New encoders pre-trained on a made-up text: post-norm and pre-norm, with and without warm-up"
SETTINGS: dict[str, Any] = {
    "size": "6x64x2",
    "words": 40,
    "updates": 200,
    "batch_size": 16,
    "max_length": 20,
    "learning_rates": [1e-3, 3e-3],
    "warmups": [0.0, 0.1],
    "norms": ["post", "pre"],
    "seeds": [1, 2, 3],
}
FORMS = {"post": "", "pre": "-prenorm"}
DOCUMENTS, WORDS = 1_000, 18  # of the text; words of a document
LAST = 20  # updates whose mean loss is the last one
CPU = torch.device("cpu")


class Losses:
    """A watcher that keeps the loss of each update."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Updates):
            self.found += event.losses


def made_up(words: int) -> list[Document]:
    """Documents whose words follow each other in a circle, from a random one on."""
    drawn = random.Random(0)
    known = drawn.sample(["".join(pair) for pair in itertools.product("abcdefghijklmnop", repeat=2)], words)
    starts = [drawn.randrange(words) for _ in range(DOCUMENTS)]
    lines = [" ".join(known[(start + place) % words] for place in range(WORDS)) for start in starts]
    return [Document(str(number), (line,)) for number, line in enumerate(lines)]


def trained(recipe: Recipe, documents: Sequence[Document]) -> dict[str, Any]:
    """The mean loss of a masked token in the last updates of a run, in nats; or that it diverged."""
    folder = weights.resolve(recipe.model, tokenizer=recipe.tokenizer_folder).folder
    task = TextTask(name="circle", read=lambda *_: Rows(rows=documents, origin="made up"))
    features = task.stream.train_features(documents, load_tokenizer(folder), recipe.max_length, unwatched)
    assert features is not None  # text has a stream
    model, _ = build_model(folder, task.head, recipe, device=CPU)
    watch = Losses()
    engine = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=0, watch=watch)
    trainer = Trainer(engine=engine, settings=recipe.train, data_seed=recipe.seeds[1], draw=task.stream.draw)
    try:
        trainer.fit(features, unscored)
    except Diverged as error:
        return {"diverged": error.what}
    return {"loss": float(np.mean(watch.found[-LAST:])), "first": watch.found[0]}


def main() -> None:
    """Measures what the file lacks."""
    parser = out_parser(ABOUT)
    parser.add_argument("--updates", type=int, default=SETTINGS["updates"])
    parser.add_argument("--size", default=SETTINGS["size"])
    options = parser.parse_args()
    settings = SETTINGS | {"updates": options.updates, "size": options.size}
    result = resumed(options.out, ABOUT, settings)
    result["frequencies"] = math.log(settings["words"])  # the loss of knowing how frequent each word is alone
    documents, names = made_up(settings["words"]), ("seed", "learning_rate", "warmup", "norm")
    with TemporaryDirectory() as folder:
        train_tokenizer(lambda: (row.text for row in documents), size=4_000, least=0).save_pretrained(folder)
        for values in itertools.product(*(settings[f"{name}s"] for name in names)):
            point = dict(zip(names, values, strict=True))
            if any({name: run[name] for name in names} == point for run in result["runs"]):
                continue
            given = {name: settings[name] for name in ("updates", "batch_size")}
            train = Train(**given, learning_rate=point["learning_rate"], warmup=point["warmup"], precision="fp32")
            recipe = Recipe(
                task="circle", model=f"new:{settings['size']}{FORMS[point['norm']]}", tokenizer=folder,
                max_length=settings["max_length"], seed=point["seed"], train=train,
            )  # fmt: skip
            result["runs"].append(point | trained(recipe, documents))
            print(json.dumps(result["runs"][-1]), flush=True)
            write_json(options.out, result)


if __name__ == "__main__":
    main()
