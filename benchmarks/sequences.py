"""Texts that are written from others, next to copies and the nearest training row; beams 1, 4 and 8 by score and time.

python benchmarks/sequences.py --out results/benchmarks/sequences.json

Spaces: Korean film reviews (NSMC) whose spaces were taken out are written with them again, by a new encoder and
decoder. A review is used where it is short and its syllables are frequent. A run that is finished is not trained again.
"""

import csv
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import machine
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.models.decoding_head import DecodingHead
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record
from finetune.task_types.sequence.row import SequenceRow

SYLLABLES, SHORTEST, LONGEST = 500, 6, 20  # frequent ones; characters of a review
TOKENS = 1_500  # of the vocabulary
BEAMS = (1, 4, 8)
BEAM_ROWS = 200  # of test, that each number of beams writes
SETTINGS: dict[str, Any] = {
    "target": "spaced", "model": "new:3x128", "max_length": 32, "max_target_tokens": 28, "headline": "rouge-l",
    "train.learning_rate": 1e-3, "train.batch_size": 32, "label_smoothing": 0.1,
}  # fmt: skip


def reviews() -> list[str]:
    """Short reviews with a space, of frequent syllables alone, each once."""
    root = source_of(None).folder
    assert root is not None
    lines = (root / "nsmc" / "ratings_train.txt").read_text(encoding="utf-8").splitlines()[1:]
    texts = sorted({" ".join(line.split("\t")[1].split()) for line in lines if line.count("\t") == 2})
    known = {letter for letter, _ in Counter("".join(texts)).most_common(SYLLABLES)}
    return [text for text in texts if SHORTEST <= len(text) <= LONGEST and " " in text and set(text) <= known]


def written(folder: Path, rows: dict[str, int]) -> dict[str, Path]:
    """The files of the splits, and all texts as one, on which the vocabulary is trained."""
    texts, files, begin = reviews(), {}, 0
    random.Random(0).shuffle(texts)
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in rows.items():
        some, begin = texts[begin : begin + count], begin + count
        files[split] = folder / f"{split}.csv"
        with files[split].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("unspaced", "spaced"), *((text.replace(" ", ""), text) for text in some)])
    both = [each for text in texts[: rows["train"]] for each in (text, text.replace(" ", ""))]
    files["text"] = folder / "text.txt"
    files["text"].write_text("\n".join(both) + "\n", encoding="utf-8")
    return files


def beams(model: finetune.Model, path: Path) -> list[dict[str, Any]]:
    """Scores and seconds of some rows by the number of beams."""
    predictor = model.predictor
    head = cast(DecodingHead, predictor.torch_engine.model.head)
    with path.open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))[:BEAM_ROWS]
    rows = [SequenceRow(id=str(n), source=row["unspaced"], target=row["spaced"]) for n, row in enumerate(cells)]
    predictor.answers(rows[:8])  # what is computed once
    found = []
    for count in BEAMS:
        head.generation = replace(head.generation, beams=count)
        started, cpu = time.perf_counter(), time.process_time()
        answers = predictor.answers(rows)
        seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
        found.append({"beams": count, **seconds, "scores": predictor.task.scoring.score(answers, rows)})
    return found


def main() -> None:
    """Trains what is not trained yet, measures the beams, and writes both."""
    parser = out_parser("Written texts next to baselines, and beams by score and time")
    parser.add_argument("--rows", type=int, default=12_000, help="training rows")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("build/sequences"), help="folder of the files and runs")
    options = parser.parse_args()
    rows = {"train": options.rows, "dev": 300, "test": 600}
    files = written(options.work, rows)
    if not (vocabulary := options.work / "vocabulary").exists():
        finetune.tokenizer(str(files["text"]), path=vocabulary, size=TOKENS)
    run = finetune.train(
        str(files["train"]), dev=str(files["dev"]), test=str(files["test"]), out=options.work / "results",
        tokenizer=str(vocabulary), progress=False, **SETTINGS, **{"train.epochs": options.epochs},
    )  # fmt: skip
    record = load_record(RunFolder(run.folder).record_file)
    facts = {
        "about": "Korean film reviews (NSMC) without spaces, written with them", **machine.facts(),
        "rows": rows, "settings": {**SETTINGS, "train.epochs": options.epochs},
        "train_seconds": record.seconds,
        "test": {"this run": record.scores["test"]} | record.baselines["test"],
        "beam_rows": BEAM_ROWS, "beams": beams(run.model, files["test"]),
    }  # fmt: skip
    write_json(options.out, facts)


if __name__ == "__main__":
    main()
