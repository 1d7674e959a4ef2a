"""Records of runs that were never made."""

from typing import Any

from finetune.runs.record import RunRecord

BASE = "google-bert/bert-base-uncased"


def run(
    score: float,
    *,
    seed: int = 1,
    task: str = "mrpc",
    model: str = BASE,
    test: float | None = None,
    rows: int = 408,
    majority: float = 0.5,
    data: str = "d",
    **recipe: Any,
) -> RunRecord:
    """A record with this accuracy on dev."""
    settings: dict[str, Any] = {
        "task": task,
        "model": model,
        "seed": seed,
        "init_seed": None,
        "data_seed": None,
        "limit": None,
    }
    settings |= {
        "limit": None,
        "frozen": False,
        "layers": "last",
        "bilstm": False,
        "options": {},
        "train": {"learning_rate": 2e-5},
    }
    given = {"dev": score} | ({} if test is None else {"test": test})
    scores = {split: dict.fromkeys(("accuracy", "f1", "em"), value) for split, value in given.items()}
    constant = dict.fromkeys(("accuracy", "f1", "em"), majority)
    return RunRecord(
        id=f"{seed}", task=task, task_version=1, finished="2026", recipe=settings | recipe, model=model, weights="w",
        data=data, data_origin={}, rows={"dev": rows, "test": rows}, features={}, truncated={}, notes=[], versions={},
        git_commit=None, device="cpu", precision="fp32", processes=1, seconds={}, examples_per_second=1.0,
        peak_memory_bytes=1, epochs=[], selected_epoch=1, headline="f1" if task == "conll-2003" else "accuracy",
        scores=scores, baselines={split: {"majority": constant} for split in scores}, new_weights=[],
    )  # fmt: skip
