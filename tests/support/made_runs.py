"""Runs of MRPC that were never made."""

import json
from pathlib import Path

from finetune.runs.recipe import Recipe, Train
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from support.records import BASE, save_run


def write_runs(out: Path) -> None:
    """Four finished runs of MRPC that were never made, three of which differ in their seeds only."""
    rows = [SentenceRow(id=str(i), text=f"the cat {i}", pair=f"a dog {i}", gold=str(i % 2)) for i in range(12)]
    for seed in range(4):
        answers = [Answer(value=str((i + (i == seed)) % 2), probabilities=[0.5, 0.5]) for i in range(12)]
        recipe = Recipe(task="mrpc", seed=seed, train=Train(epochs=2 if seed else 1)).model_dump(exclude={"grid"})
        epochs = [{"epoch": 1, "loss": 0.5, "headline": 0.5, "scores": {"dev": {"accuracy": 0.5, "f1": 0.5}}}]
        run = save_run(
            out, find("mrpc"), rows, answers, baselines={"majority": answers}, recipe=recipe, epochs=epochs, model=BASE
        )
        log = [{"event": "training", "done": 0}, {"event": "updates", "update": 2, "losses": [0.7, 0.6]}]
        (run / "events.jsonl").write_text("\n".join(map(json.dumps, log)))
