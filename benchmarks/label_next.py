"""How many labels `finetune label-next` saves: next to rows at random, and to the least sure rows without more.

python benchmarks/label_next.py --out results/benchmarks/label_next.json            # a linear probe, many seeds
python benchmarks/label_next.py --out results/benchmarks/label_next.json --draws 3  # also `finetune run` on such files

The probe reads the frozen vectors of minilm: it starts with 40 rows, and gets 100 more a round, chosen with the
command's own functions. A draw trains on 40 rows of SST-2, and on these with 200 more of a pool of 5,000, chosen by
`label-next` or at random. What is finished is kept, so that the same command goes on.
"""

import csv
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np
from dated import out_parser, write_json
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import finetune
from finetune.commands.features.embeddings import EveryPosition
from finetune.commands.label_next.choose import SPREAD_AMONG, spread
from finetune.data.source import source_of
from finetune.inference.engine import Engine
from finetune.metrics import accuracy
from finetune.metrics.entities import chunks, entity_scores
from finetune.models import pretrained
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device
from finetune.models.families import most_tokens
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.prepare import encode_rows
from finetune.task_types.registry import find

FIRST, ROUND, RANDOM_SHARE, ENOUGH = 40, 100, 0.1, 0.95
TASKS = {"sst2": (5_000, 872, 740), "nsmc": (4_000, 1_500, 740), "conll-2003": (2_000, 700, 540)}  # pool, test, labels
POOL, NEXT, TEST = 5_000, 200, 500  # rows of a draw


class Frozen:
    """The vectors of a task's rows, one a text or a word, and their labels; rows of the pool and of test."""

    def __init__(self, name: str, work: Path) -> None:
        self.task: Any = find(name)
        pool, test, self.most = TASKS[name]
        self.by_word = hasattr(self.task, "types")
        self.pool, self.test = (self._kept(name, split, most, work) for split, most in (("train", pool), ("dev", test)))

    def _kept(self, name: str, split: str, most: int, work: Path) -> tuple[list[np.ndarray], list[Any]]:
        file = work / f"{name}-{split}-{most}.npz"
        if not file.is_file():
            work.mkdir(parents=True, exist_ok=True)
            vectors, golds = self._encoded(split, most)
            counts = [len(each) for each in vectors]
            np.savez(file, vectors=np.concatenate(vectors), counts=counts, golds=np.concatenate(golds))
        found = np.load(file)
        cuts = np.cumsum(found["counts"])[:-1]
        return np.split(found["vectors"], cuts), np.split(found["golds"], cuts)

    def _encoded(self, split: str, most: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        rows = list(self.task.load(source_of(None), split).rows)
        rows = random.Random(0).sample(rows, min(most, len(rows)))
        folder, device = pretrained.resolve("minilm").folder, resolve_device("cpu")
        recipe = Recipe(task=self.task.name, model="minilm", frozen=True)
        model, _ = build_model(folder, lambda _: EveryPosition(()), recipe, device=device)
        tokenizer = load_tokenizer(folder)
        engine = Engine(
            model=model, accelerator=build_accelerator(device, "fp32"), pad_id=tokenizer.pad_token_id, watch=unwatched
        )
        features = encode_rows(self.task, rows, tokenizer, 128, most_tokens(model.backbone.encoder))
        vectors: list[np.ndarray] = [np.zeros(0)] * len(features)
        for index, states in engine.hidden_states(features, model.backbone.layer_indices(pooled=False)):
            vectors[index] = states[:, 0] if self.by_word else states[:, 0].mean(0, keepdims=True)
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in vectors]
        return unit, [np.atleast_1d(feature.label) for feature in features]

    def fitted(self, rows: Sequence[int]) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        """Probabilities by row, `(words, labels)`, of a probe on some rows of the pool."""
        vectors, golds = (np.concatenate([side[row] for row in rows]) for side in self.pool)
        mean = vectors.mean(0)
        model = LogisticRegression(C=10, max_iter=200).fit(vectors - mean, golds)

        def predict(some: Sequence[np.ndarray]) -> list[np.ndarray]:
            chances = np.zeros((sum(map(len, some)), len(self.task.labels)))
            chances[:, model.classes_] = model.predict_proba(np.concatenate(some) - mean)
            return np.split(chances, np.cumsum([len(each) for each in some])[:-1])

        return predict

    def score(self, chances: Sequence[np.ndarray]) -> float:
        """Accuracy, or entity F1 of words."""
        found = [[self.task.labels[label] for label in each.argmax(1)] for each in chances]
        golds = [[self.task.labels[label] for label in each] for each in self.test[1]]
        if self.by_word:
            return entity_scores(map(chunks, golds), map(chunks, found))[""][2]
        assert accuracy.score is not None
        return accuracy.score([one[0] for one in golds], [one[0] for one in found])


def chosen(how: str, frozen: Frozen, rest: Sequence[int], doubts: np.ndarray, seed: int) -> list[int]:
    """So many rows of the rest of the pool as a round has; a share at random but for `least alone`."""
    order = np.random.default_rng(seed).permutation(len(rest)).tolist()
    lots = ROUND if how == "random" else round(RANDOM_SHARE * ROUND)
    taken, wanted = order[:lots], ROUND - lots
    others = np.array(sorted({*order} - {*taken}), int)
    least = others[np.argsort(-doubts[others], kind="stable")]
    if how == "label-next" and wanted:
        among = least[: SPREAD_AMONG * wanted]
        vectors = np.stack([frozen.pool[0][rest[index]].mean(0) for index in among])
        least = among[spread(vectors, doubts[among], wanted, seed=seed)]
    return [rest[index] for index in (*taken, *least[:wanted])]


def curve(how: str, frozen: Frozen, seed: int) -> list[tuple[int, float]]:
    """(labels, score on test) of each round."""
    every, found = range(len(frozen.pool[0])), []
    rows = np.random.default_rng(seed).permutation(len(every))[:FIRST].tolist()
    while True:
        predict = frozen.fitted(rows)
        found.append((len(rows), frozen.score(predict(frozen.test[0]))))
        if len(rows) >= frozen.most:
            return found
        rest = [row for row in every if row not in {*rows}]
        # As a task's codec has it: the least sure word of a row.
        doubts = np.array([1 - each.max(1).min() for each in predict([frozen.pool[0][row] for row in rest])])
        rows = [*rows, *chosen(how, frozen, rest, doubts, seed)]


def write_csv(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    """A file of these rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def draw(number: int, work: Path) -> dict[str, Any]:
    """The scores on test of the walk-through: 40 rows, and 200 more by `label-next` or at random."""
    from finetune.cli.app import app

    task, folder = find("sst2"), work / f"draw-{number}"
    rows = [(row.text, str(row.gold)) for row in task.load(source_of(None), "train").rows]
    label = dict(rows)
    source = random.Random(number)
    texts = source.sample(sorted(label), FIRST + POOL)
    known, pool = texts[:FIRST], texts[FIRST:]
    test = [(row.text, str(row.gold)) for row in task.load(source_of(None), "dev").rows][:TEST]
    header = ("review", "sentiment")
    write_csv(folder / "test.csv", [header, *test])
    write_csv(folder / "reviews.csv", [header, *((text, label[text]) for text in known)])
    write_csv(folder / "new.csv", [header[:1], *((text,) for text in pool)])
    write_csv(folder / "random.csv", [header, *((text, label[text]) for text in (*known, *pool[:NEXT]))])

    def trained(name: str, **settings: str) -> tuple[str, float]:
        given: dict[str, Any] = {"text": "review", "label": "sentiment", "test": str(folder / "test.csv"), **settings}
        run = finetune.train(str(folder / name), out=folder / "results", progress=False, **given)
        return str(run.folder), run.records[0].scores["test"]["accuracy"]

    first, before = trained("reviews.csv")
    given = ["label-next", first, str(folder / "new.csv"), "--rows", str(NEXT), "-o", str(folder / "next.csv")]
    done = CliRunner().invoke(app, [*given, "--force", "--quiet"])
    if done.exit_code:
        raise RuntimeError(done.output) from done.exception
    with (folder / "next.csv").open(newline="", encoding="utf-8") as file:
        chosen_rows = list(csv.DictReader(file))
    names = list(chosen_rows[0])
    asked = [row for row in chosen_rows if row["chosen"] != "labelled"]
    right = [row["suggested sentiment"] == label[row["review"]] for row in asked]
    for row in chosen_rows:
        row["sentiment"] = label[row["review"]]
    write_csv(folder / "labelled.csv", [tuple(names), *(tuple(row[name] for name in names) for row in chosen_rows)])
    after = trained("labelled.csv", split="split")[1]
    return {
        "40 rows": before, "240 rows, label-next": after, "240 rows, random": trained("random.csv")[1],
        "right suggestions": sum(right) / len(right),
    }  # fmt: skip


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("Labels that label-next saves")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=0, help="of `finetune run`, minutes each")
    parser.add_argument("--work", type=Path, default=Path("build/label-next"), help="folder of vectors, files and runs")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out.is_file() else {"full": {}, "curves": {}, "draws": {}}

    def keep(part: str, key: str, value: Any) -> None:
        kept[part][key] = value
        about = {"about": "labels saved by label-next", **machine.facts(), "model": "minilm", "pools": TASKS}
        write_json(options.out, {**about, **kept})
        print(part, key, value, flush=True)

    kept = {part: kept[part] for part in ("full", "curves", "draws")}
    for number in range(options.draws):
        if str(number) not in kept["draws"]:
            started = time.process_time()
            keep("draws", str(number), {**draw(number, options.work), "cpu_seconds": time.process_time() - started})
    for name in options.tasks:
        frozen = Frozen(name, options.work)
        if name not in kept["full"]:
            every = frozen.fitted(range(len(frozen.pool[0])))
            keep("full", name, frozen.score(every(frozen.test[0])))
        for seed in range(options.seeds):
            for how in ("random", "least sure", "label-next"):
                if (key := f"{name} {seed} {how}") not in kept["curves"]:
                    keep("curves", key, curve(how, frozen, seed))


if __name__ == "__main__":
    main()
