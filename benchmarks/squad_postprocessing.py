"""Post-processing of SQuAD's dev set: ours, and question by question as in transformers' run_qa example.

python benchmarks/squad_postprocessing.py --data DIR --out results/benchmarks/squad_postprocessing.json

All get the same features and the same logits. The logits are synthetic (noise with a peak at the answer), since the
time depends on their number, not on the model. The example keeps questions and features in a `datasets.Dataset`,
padded to max_length, and reads them one by one; the same loop is also measured over plain lists without padding, to
separate the cost of storage from that of the loop.
"""

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import machine
import numpy as np
from dated import out_parser, write_json

from finetune.data.source import source_of
from finetune.models import pretrained as weights
from finetune.models.feature import Feature
from finetune.models.tokenizers.load import load_tokenizer
from finetune.task_types.registry import find
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.span.questions import SpanRow
from finetune.task_types.span.search import Window
from finetune.task_types.span.task import SpanTask

MODEL, MAX_LENGTH = "minilm", 384
Logits = Sequence[np.ndarray] | np.ndarray  # of a window each: `(length,)`


def example_by_example(
    examples: Iterable[Mapping[str, Any]],
    features: Any,
    logits: tuple[Logits, Logits],
    owners: list[int],
    *,
    n_best: int = 20,
    longest: int = 30,
) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """run_qa's procedure: for each question, loops over all pairs of its windows' 20 likeliest starts and ends.

    Each of `features` has `offset_mapping`: character offsets of each token, None outside the context. Returns
    (predictions, n-best lists) by question id.
    """
    windows = defaultdict(list)
    for number, owner in enumerate(owners):
        windows[owner].append(number)
    predictions, candidates = {}, {}
    for index, example in enumerate(examples):
        found = []
        for number in windows[index]:
            start_logits, end_logits = logits[0][number], logits[1][number]
            offsets = features[number]["offset_mapping"]
            starts = np.argsort(start_logits)[-1 : -n_best - 1 : -1].tolist()
            ends = np.argsort(end_logits)[-1 : -n_best - 1 : -1].tolist()
            for start in starts:
                for end in ends:
                    first, last = offsets[start], offsets[end]
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
        context = example["context"]
        for each in best:
            begin, stop = each.pop("offsets")
            each["text"] = context[begin:stop]
        if not best:
            best = [{"text": "empty", "start_logit": 0.0, "end_logit": 0.0, "score": 0.0}]
        scores = np.array([each.pop("score") for each in best])
        exponents = np.exp(scores - scores.max())
        for each, probability in zip(best, exponents / exponents.sum(), strict=True):
            each["probability"] = probability
        predictions[example["id"]] = best[0]["text"]
        candidates[example["id"]] = [
            {key: value if isinstance(value, str) else float(value) for key, value in each.items()} for each in best
        ]
    return predictions, candidates


def ours(
    task: SpanTask, rows: Sequence[SpanRow], features: list[Feature], logits: list[np.ndarray]
) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """The same two tables as `finetune run squad-v1` computes them."""
    answers = cast(list[SpanAnswer], task.decode(logits, features, rows))
    files = task.official_files(answers, rows)
    return files["predictions.json"], files["nbest_predictions.json"]


def made_up(features: list[Feature]) -> list[np.ndarray]:
    """Synthetic logits `(length, 2)` of each window."""
    generator = np.random.default_rng(0)
    logits = []
    for feature in features:
        given = generator.normal(scale=1.5, size=(len(feature), 2)).astype(np.float32)
        for side, place in enumerate(np.asarray(feature.label, dtype=int)):
            given[place, side] += 5
        logits.append(given)
    return logits


def offsets_of(feature: Feature, *, length: int) -> dict[str, Any]:
    """run_qa's format: a pair of offsets per token of the context, None for others, padded to `length`."""
    window = Window(**feature.note)
    pairs = list(zip(window.starts.tolist(), window.ends.tolist(), strict=True))
    return {"offset_mapping": [None] * window.place + pairs + [None] * (length - window.place - len(pairs))}


def padded(logits: Sequence[np.ndarray], side: int) -> np.ndarray:
    """`(windows, MAX_LENGTH)`, as run_qa's Trainer gives them."""
    full = np.full((len(logits), MAX_LENGTH), -100.0, dtype=np.float32)
    for place, given in enumerate(logits):
        full[place, : len(given)] = given[:, side]
    return full


def ways(task: SpanTask, rows: Sequence[SpanRow], features: list[Feature]) -> dict[str, Callable[[], Any]]:
    """The measured implementations, by name."""
    from datasets import Dataset

    logits, owners = made_up(features), [feature.row for feature in features]
    examples = [{"id": row.id, "context": row.context} for row in rows]
    plain = [offsets_of(feature, length=len(feature)) for feature in features]
    stored = Dataset.from_list([offsets_of(feature, length=MAX_LENGTH) for feature in features])
    questions, full = Dataset.from_list(examples), (padded(logits, 0), padded(logits, 1))
    sides = [given[:, 0] for given in logits], [given[:, 1] for given in logits]
    return {
        "as run_qa, from its data sets": lambda: example_by_example(questions, stored, full, owners),
        "the same loop over lists": lambda: example_by_example(examples, plain, sides, owners),
        "finetune": lambda: ours(task, rows, features, logits),
    }


def main() -> None:
    """Measures in alternation, prints and writes."""
    parser = out_parser("Post-processing of SQuAD 1.1, ours and question by question", required=False)
    parser.add_argument("--data", type=Path, help="folder with dev-v1.1.json; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each")
    options = parser.parse_args()
    facts = machine.facts()
    task = find("squad-v1")
    assert isinstance(task, SpanTask)
    rows = task.load(source_of(options.data), "dev").rows
    begun = time.perf_counter()
    features = task.encode(rows, load_tokenizer(weights.resolve(MODEL).folder), MAX_LENGTH)
    featurising = time.perf_counter() - begun
    measured = ways(task, rows, features)
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    answers = {}
    for _ in range(options.rounds):
        for name, way in measured.items():
            begun = time.perf_counter()
            answers[name] = way()[0]
            seconds[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    mine, theirs = answers["finetune"], answers["as run_qa, from its data sets"]
    result = {
        "questions": len(rows),
        "windows": len(features),
        "seconds": seconds,
        "times as fast": {name: median / medians["finetune"] for name, median in medians.items() if name != "finetune"},
        "equal answers": sum(mine[name] == theirs[name].strip() for name in mine) / len(mine),
        "featurising seconds": featurising,
    }
    print(json.dumps(result, indent=1))
    about = "Post-processing of SQuAD 1.1's dev set"
    write_json(options.out, {"about": about, **facts, **result})


if __name__ == "__main__":
    main()
