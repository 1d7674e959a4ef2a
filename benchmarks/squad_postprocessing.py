"""Post-processing of SQuAD's dev set: ours, and question by question as transformers' run_qa example does it.

python benchmarks/squad_postprocessing.py --data DIR --out results/benchmarks/squad_postprocessing.json

Both get the same features of all questions and the same logits. These are made up: noise, with a bump where the
answer is, since what is measured depends on their number and not on who made them.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
import numpy as np

from finetune import weights
from finetune.features import Feature
from finetune.heads.span import SpanRow, SpanTask
from finetune.prepare import load_tokenizer
from finetune.source import source_of
from finetune.task import find

MODEL, MAX_LENGTH = "minilm", 384


def example_by_example(
    rows: Sequence[SpanRow],
    offsets: Sequence[list[tuple[int, int] | None]],
    logits: list[np.ndarray],
    owners: list[int],
    *,
    n_best: int = 20,
    longest: int = 30,
) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """The procedure of run_qa: for each question all pairs of its windows' 20 likeliest starts and ends, in loops.

    `offsets` has the characters of each token of a window, None where it is not of the context. Gives (predictions,
    n-best lists) by the question's id.
    """
    windows = defaultdict(list)
    for number, owner in enumerate(owners):
        windows[owner].append(number)
    predictions, candidates = {}, {}
    for index, row in enumerate(rows):
        found = []
        for number in windows[index]:
            start_logits, end_logits = logits[number][:, 0], logits[number][:, 1]
            starts = np.argsort(start_logits)[-1 : -n_best - 1 : -1].tolist()
            ends = np.argsort(end_logits)[-1 : -n_best - 1 : -1].tolist()
            for start in starts:
                for end in ends:
                    first, last = offsets[number][start], offsets[number][end]
                    if first is None or last is None or end < start or end - start + 1 > longest:
                        continue
                    found.append(
                        {
                            "offsets": (first[0], last[1]),
                            "score": start_logits[start] + end_logits[end],
                            "start_logit": start_logits[start],
                            "end_logit": end_logits[end],
                        }
                    )
        best = sorted(found, key=lambda each: each["score"], reverse=True)[:n_best]
        for each in best:
            begin, stop = each.pop("offsets")
            each["text"] = row.context[begin:stop]
        if not best:
            best = [{"text": "empty", "start_logit": 0.0, "end_logit": 0.0, "score": 0.0}]
        scores = np.array([each.pop("score") for each in best])
        exponents = np.exp(scores - scores.max())
        for each, probability in zip(best, exponents / exponents.sum(), strict=True):
            each["probability"] = probability
        predictions[row.id] = best[0]["text"]
        candidates[row.id] = [
            {key: value if isinstance(value, str) else float(value) for key, value in each.items()} for each in best
        ]
    return predictions, candidates


def ours(
    task: SpanTask, rows: Sequence[SpanRow], features: list[Feature], logits: list[np.ndarray]
) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """What `finetune run squad-v1` does: the same two tables."""
    files = task.official_files(task.decode(logits, features, rows), rows)
    return files["predictions.json"], files["nbest_predictions.json"]


def made_up(features: list[Feature]) -> list[np.ndarray]:
    """Logits `(length, 2)` of each window."""
    generator = np.random.default_rng(0)
    logits = []
    for feature in features:
        given = generator.normal(scale=1.5, size=(len(feature), 2)).astype(np.float32)
        for side, place in enumerate(feature.label):  # type: ignore[arg-type]
            given[place, side] += 5
        logits.append(given)
    return logits


def offsets_of(feature: Feature) -> list[tuple[int, int] | None]:
    """As run_qa keeps them: a pair for each token of the context, None for the others."""
    window = feature.note
    pairs = list(zip(window.starts.tolist(), window.ends.tolist(), strict=True))
    return [None] * window.place + pairs + [None] * (len(feature) - window.place - len(pairs))


def main() -> None:
    """Measures in alternation, prints and writes."""
    parser = argparse.ArgumentParser(description="Post-processing of SQuAD 1.1, ours and question by question")
    parser.add_argument("--data", type=Path, help="folder with dev-v1.1.json; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    facts = machine.facts()
    task = find("squad-v1")
    assert isinstance(task, SpanTask)
    rows = task.load(source_of(options.data), "dev").rows
    begun = time.perf_counter()
    features = task.encode(rows, load_tokenizer(weights.resolve(MODEL).folder), MAX_LENGTH)
    featurising = time.perf_counter() - begun
    logits, offsets, owners = made_up(features), list(map(offsets_of, features)), [f.row for f in features]
    seconds: dict[str, list[float]] = {"example by example": [], "finetune": []}
    for _ in range(options.rounds):
        begun = time.perf_counter()
        theirs = example_by_example(rows, offsets, logits, owners)[0]
        seconds["example by example"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        mine = ours(task, rows, features, logits)[0]
        seconds["finetune"].append(time.perf_counter() - begun)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    result = {
        "questions": len(rows),
        "windows": len(features),
        "seconds": seconds,
        "times as fast": medians["example by example"] / medians["finetune"],
        "equal answers": sum(mine[name] == theirs[name].strip() for name in mine) / len(mine),
        "featurising seconds": featurising,
    }
    print(json.dumps(result, indent=1))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        about = "Post-processing of SQuAD 1.1's dev set"
        options.out.write_text(json.dumps({"about": about, **facts, **result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
