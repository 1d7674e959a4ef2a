"""Prints the tables of README.md from the records and measurements in results/, and with --write puts them there.

Nothing is computed here but means and standard deviations.
"""

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from finetune.recipe import Recipe
from finetune.record import RunRecord, all_records

ROOT = Path(__file__).resolve().parents[1]
GLUE = {"model": "minilm", "train": {"learning_rate": 2e-4}}
QUICKSTART = {"model": "minilm", "max_length": 64, "train": {"batch_size": 16, "epochs": 6, "learning_rate": 1e-4}}
NAMES = {"mrpc": "MRPC", "cola": "CoLA", "stsb": "STS-B", "sst2": "SST-2", "wnli": "WNLI"}


def settings_of(record: RunRecord) -> dict[str, Any]:
    """What was set otherwise than by default, but for task and seed."""
    recipe = Recipe.model_validate({key: value for key, value in record.recipe.items() if value is not None})
    return recipe.model_dump(exclude_defaults=True, exclude={"task", "seed"})


def glue_table(records: list[RunRecord]) -> str:
    """A line a task and metric: ours over its seeds, beside the best baseline of the same runs."""
    lines = ["| task | metric | seeds | fine-tuned | TF-IDF | majority or mean |", "|---|---|---|---|---|---|"]
    for task, name in NAMES.items():
        runs = [record for record in records if record.task == task and "dev" in record.scores]
        for metric in runs[0].scores["dev"] if runs else ():
            ours = [100 * run.scores["dev"][metric] for run in runs]
            spread = f" ± {statistics.stdev(ours):.1f}" if len(ours) > 1 else ""
            given = {key: 100 * scores[metric] for key, scores in runs[0].baselines["dev"].items()}
            tfidf = next(score for key, score in given.items() if key.startswith("tfidf"))
            simple = next(score for key, score in given.items() if not key.startswith("tfidf"))
            fine_tuned = f"{statistics.fmean(ours):.1f}{spread}"
            lines.append(f"| {name} | {metric} | {len(runs)} | {fine_tuned} | {tfidf:.1f} | {simple:.1f} |")
    return "\n".join(lines)


def demo_table(records: list[RunRecord]) -> str:
    """What the demo prints, for the seed that it uses."""
    run = next(record for record in records if record.task == "paraphrase" and record.recipe["seed"] == 42)
    rows = {"this run": run.scores["dev"], **run.baselines["dev"]}
    width = max(map(len, rows))
    lines = [f"{'dev':<{width}}  " + "  ".join(f"{metric:>8}" for metric in run.scores["dev"])]
    lines += [
        f"{name:<{width}}  " + "  ".join(f"{100 * v:8.1f}" for v in scores.values()) for name, scores in rows.items()
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def speed_table(*runs: dict[str, Any]) -> str:
    """Training rates of each benchmark run, and in the same run how many times as fast ours is."""
    lines = ["| training on MRPC | examples/s (median) | lowest to highest | ours is |", "|---|---|---|---|"]
    for measured in runs:
        ratios = measured["ratios"]["finetune / this"]
        for name, found in measured["measurements"].items():
            rates = [each["examples_per_second"] for each in found]
            ratio = f"{ratios[name]['examples']:.2f} times as fast" if name in ratios else ""
            spread = f"{min(rates):.1f} to {max(rates):.1f}"
            lines.append(f"| {name} | {statistics.median(rates):.1f} | {spread} | {ratio} |")
    return "\n".join(lines)


def blocks() -> dict[str, str]:
    """Every generated block by its marker in README.md."""
    records = [record for record in all_records(ROOT / "results")[0] if settings_of(record) in (GLUE, QUICKSTART)]
    folder = ROOT / "results" / "benchmarks"
    speed = [json.loads((folder / name).read_text()) for name in ("against_trainer.json", "against_trainer_bf16.json")]
    return {"demo": demo_table(records), "measured": glue_table(records), "speed": speed_table(*speed)}


def filled(text: str) -> str:
    """README.md with every block as the records have it."""
    for marker, block in blocks().items():
        pattern = rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)"
        text = re.sub(pattern, lambda found, block=block: f"{found[1]}{block}\n{found[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    if "--write" in sys.argv:
        readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n\n".join(blocks().values()))
