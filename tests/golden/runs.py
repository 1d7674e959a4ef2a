"""Golden runs as data: the files that a case writes, and the commands that are typed in their folder."""

import os
import signal
import sys
import tomllib
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from golden import recorded
from golden.rows import (
    ASKED,
    NESTED,
    NUMBERS,
    PAIRS,
    QUIZ,
    RANKINGS,
    RELATIONS,
    REVIEWS,
    SPLIT,
    STEPS,
    TOPICS,
    WORDS,
    as_csv,
    as_lines,
    corpus,
    questions,
    tagged,
)  # fmt: skip

FEW = "train.precision=fp32 --device cpu --quiet"  # at the end of each command that trains
VOCABULARY = "tokenizer words.txt --size 160 -o vocabulary"
NEW = "model=new:2x64 tokenizer=vocabulary max_length=48 train.batch_size=8 train.learning_rate=2e-3"
MINILM = "model=minilm max_length=32 train.batch_size=8"

PRETRAINED = "dev=other.txt mask_share=0.3 train.updates=20"
FROM_TEXT = "model=corpus.txt max_length=24 train.epochs=3"
TAUGHT = "train.epochs=1 distil.teacher={0} distil.weak=true"

KEPT = Path(__file__).parent / "kept"

GRID = """task = "stays"
model = "new:2x64"
tokenizer = "vocabulary"
max_length = 24

[train]
batch_size = 8
epochs = 1
precision = "fp32"

[grid]
seed = [1, 2]
train.learning_rate = [1e-3, 3e-3]
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """`commands` are typed one after the other in a folder with the `files`; {0} is the id of the first run.

    With `interrupted` the last command is stopped in the middle before it is typed.
    """

    files: Mapping[str, str]
    commands: tuple[str, ...]
    interrupted: bool = False


def new(files: str, settings: str = "train.epochs=3", *more: str) -> Case:
    """A run with an untrained encoder, whose vocabulary is trained first."""
    first = f"run {files.split('/')[0]} {NEW} {settings} {FEW}"
    return Case(files=FILES[files] | {"words.txt": WORDS}, commands=(VOCABULARY, first, *more))


def minilm(files: str, settings: str = "train.epochs=1", *more: str) -> Case:
    """A run with the weights of a package."""
    return Case(files=FILES[files], commands=(f"run {files} {MINILM} {settings} {FEW}", *more))


def also(case: Case, files: str, settings: str) -> Case:
    """A second run after the one of a case."""
    second = f"run {files} {settings} train.batch_size=8 {FEW}"
    return replace(case, files={**case.files, **FILES[files]}, commands=(*case.commands, second))


FILES: dict[str, dict[str, str]] = {
    "stays": SPLIT,
    "reviews.csv": {"reviews.csv": as_csv(REVIEWS, end="\r\n")},
    "pairs.csv": {"pairs.csv": as_csv(PAIRS)},
    "similar.csv": {"similar.csv": as_csv(NUMBERS)},
    "steps.csv": {"steps.csv": as_csv(STEPS)},
    "topics.jsonl": {"topics.jsonl": as_lines(TOPICS)},
    "tags": {"tags/train.conll": tagged(0, 40), "tags/dev.conll": tagged(40, 12)},
    "answers": {
        "answers/train.json": questions(0, 24, unanswered=False),
        "answers/dev.json": questions(24, 8, unanswered=False),
    },
    "maybe": {
        "maybe/train.json": questions(0, 24, unanswered=True),
        "maybe/dev.json": questions(24, 12, unanswered=True),
    },
    "quiz.csv": {"quiz.csv": as_csv(QUIZ)},
    "relations.jsonl": {"relations.jsonl": as_lines(RELATIONS)},
    "rankings.csv": {"rankings.csv": as_csv(RANKINGS)},
    "asked.jsonl": {"asked.jsonl": as_lines(ASKED)},
    "nested.jsonl": {"nested.jsonl": as_lines(NESTED)},
    "corpus.txt": {"corpus.txt": corpus(0, 80), "other.txt": corpus(80, 12)},
    "quickstart": {},  # a task of the package
}
CASES: dict[str, Case] = {
    # Task types
    "labels": new("stays", "train.epochs=8 train.learning_rate=1e-3"),
    "labels-minilm": minilm("reviews.csv"),
    "pair": new("pairs.csv"),
    "pair-minilm": minilm("pairs.csv"),
    "numbers": new("similar.csv"),
    "numbers-minilm": minilm("similar.csv"),
    "steps-minilm": minilm("steps.csv", "train.epochs=1 order=1,2,3"),
    "several-labels": new("topics.jsonl"),
    "several-labels-minilm": minilm("topics.jsonl"),
    "tags": new("tags"),
    "tags-minilm": minilm("tags"),
    "answers": new("answers"),
    "answers-minilm": minilm("answers", "train.epochs=1 max_length=48"),
    "maybe-answers": new("maybe"),
    "maybe-answers-minilm": minilm("maybe", "train.epochs=1 max_length=48"),
    "choices": new("quiz.csv"),
    "choices-minilm": minilm("quiz.csv"),
    "relations": new("relations.jsonl", "train.epochs=3 span_ends=exclusive"),
    "relations-minilm": minilm("relations.jsonl", "train.epochs=1 span_ends=exclusive"),
    "ranking": new("rankings.csv"),
    "ranking-minilm": minilm("rankings.csv", "train.epochs=1 train.batch_size=4 loss=listwise"),
    "intent": new("asked.jsonl"),
    "intent-minilm": minilm("asked.jsonl", "train.epochs=2 train.learning_rate=1e-3"),
    "overlapping": new("nested.jsonl", "train.epochs=12"),
    "overlapping-minilm": minilm("nested.jsonl", "train.epochs=3 train.learning_rate=1e-3"),
    # Pre-training, and tasks that start from it
    "masked": new("corpus.txt", f"objective=mlm {PRETRAINED}"),
    "masked-minilm": minilm("corpus.txt", "dev=other.txt mask=words train.updates=2"),
    "next-sentence-then-pair": also(new("corpus.txt", f"objective=mlm-nsp {PRETRAINED}"), "pairs.csv", FROM_TEXT),
    "left-to-right-then-tags": also(new("corpus.txt", f"objective=ltr {PRETRAINED}"), "tags", FROM_TEXT),
    # Ways of training
    "frozen-mix": also(new("corpus.txt", PRETRAINED), "stays", f"{FROM_TEXT} frozen=true layers=weighted-sum-all"),
    "frozen-mix-minilm": minilm("stays", "frozen=true layers=concat-last-4 train.epochs=3 train.learning_rate=1e-3"),
    "frozen-bilstm": also(new("corpus.txt", PRETRAINED), "stays", f"{FROM_TEXT} frozen=true layers=[1,2] bilstm=16"),
    "frozen-bilstm-minilm": minilm(
        "tags", "frozen=true layers=[2,4] bilstm=32 train.epochs=4 train.learning_rate=1e-2"
    ),
    "logistic": also(new("corpus.txt", PRETRAINED), "topics.jsonl", "model={0} frozen=true train.solver=logistic"),
    "logistic-minilm": minilm("reviews.csv", "frozen=true train.solver=logistic"),
    "few-labels": also(
        new("corpus.txt", PRETRAINED), "reviews.csv", f"{FROM_TEXT} preset=few-labels freeze_layers=1 train.epochs=1"
    ),
    "few-labels-minilm": minilm("stays", "preset=few-labels train.epochs=1"),
    "lora": also(new("corpus.txt", PRETRAINED), "tags", f"{FROM_TEXT} lora=4 adapter=true train.learning_rate=1e-2"),
    "lora-minilm": minilm("stays", "preset=lora train.epochs=1"),
    "distil": also(
        new("stays", "train.epochs=2"), "stays", f"model=new:1x64 tokenizer=vocabulary max_length=48 {TAUGHT}"
    ),
    "distil-minilm": also(minilm("stays"), "stays", f"model=minilm keep_layers=[1] max_length=32 {TAUGHT}"),
    "from-a-run": also(new("stays"), "reviews.csv", "model=stays train.epochs=2 max_length=24"),
    "keep-labels": also(new("reviews.csv"), "stays", "model={0} keep_labels=true train.epochs=2"),
    "interrupted": replace(new("stays", "train.epochs=4"), interrupted=True),
    "interrupted-lora-minilm": replace(minilm("pairs.csv", "lora=4 train.epochs=2"), interrupted=True),
    "seeds": new("pairs.csv", "train.epochs=2 --seeds 3"),
    "grid": Case(
        files=FILES["stays"] | {"words.txt": WORDS, "grid.toml": GRID},
        commands=(VOCABULARY, "run grid.toml --device cpu --quiet"),
    ),
    "best-with-patience": new("stays", "train.epochs=9 train.select=best train.patience=2"),
    "balanced": new("reviews.csv", "train.epochs=4 class_weight=balanced"),
    "parts-and-schedule": new(
        "stays", "train.epochs=3 train.accumulation=2 train.layer_decay=0.9 train.schedule=cosine"
    ),
    "lower-layers-frozen-minilm": minilm("stays", "freeze_layers=4 reinit_layers=1 train.warmup=0 train.epochs=1"),
    "shipped": minilm("quickstart", "limit=40 train.epochs=1"),
    "shipped-new": new("quickstart", "limit=60 train.epochs=2"),
}


def made(case: Case, folder: Path) -> list[Path]:
    """Types a case's commands in an empty folder; the folders of its runs, in the order in which they were finished."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8", newline="")
    with chdir(folder):
        for command in case.commands:
            typed = command.format(*(run.name for run in recorded.runs_in(folder)))
            if case.interrupted and command == case.commands[-1]:
                interrupt(typed)
            type_in(typed)
    return recorded.runs_in(folder)


def type_in(command: str) -> None:
    """Types what follows `finetune` in this process. Raises RuntimeError with what was printed if it fails."""
    from finetune.cli.app import main

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    arguments, hook, printed = sys.argv, sys.unraisablehook, StringIO()
    sys.argv = ["finetune", *command.split()]
    code: Any = 0
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.argv, sys.unraisablehook = arguments, hook
        for number, handler in before.items():
            signal.signal(number, handler)
    if code:
        raise RuntimeError(f"finetune {command}\n{printed.getvalue()}")


def interrupt(command: str) -> None:
    """Starts the training that a command would, and presses Ctrl-C after its third update."""
    import finetune

    target, *words = command.partition(" --")[0].split()[1:]
    settings = dict(word.split("=", 1) for word in words)

    def stop(event: Any) -> None:
        if event.name == "updates":
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes that run tests ignore it
    try:
        finetune.run(target, callbacks=stop, **{name: plain(value) for name, value in settings.items()})
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGINT, before)
    raise RuntimeError(f"finetune {command}\nended before it was interrupted")


def plain(value: str) -> Any:
    """A setting's value as a TOML file has it: 3, true, or else a string."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
