"""Measurement of training: one epoch over a sample of MRPC, timed per update; and contestants in alternation."""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from machine import options, write
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from transformers import CONFIG_MAPPING, PretrainedConfig
from transformers.utils import logging

from finetune.data.source import Source, source_of
from finetune.inference.engine import Engine
from finetune.metrics.metric import Metric, Scores
from finetune.metrics.scores import accuracy
from finetune.models import pretrained as weights
from finetune.models.backbone import Backbone
from finetune.models.building import load_backbone
from finetune.models.device import build_accelerator
from finetune.models.families import most_tokens
from finetune.models.fast_paths import take_fast_paths
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead, Head
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Event, Updates, Watcher, unwatched
from finetune.runs.recipe import Recipe, Train
from finetune.task_types import registry
from finetune.task_types.classification.task import SentenceRow, SentenceTask
from finetune.task_types.prepare import encode_rows, load_splits
from finetune.task_types.resolved_run import resolved_run
from finetune.training.extras import RunState
from finetune.training.prepare import build_run, plan_run
from finetune.training.trainer import Trainer

MRPC = cast(SentenceTask, registry.find("mrpc"))
MODEL, MAX_LENGTH = "minilm", 128
TRAIN = Train(batch_size=32, epochs=1, learning_rate=2e-4, precision="fp32")
WARM_UP = 3  # updates at the start that are not timed
PRODUCT = (4096, 1536, 384)  # of `limits`: the tokens of a batch of predictions, and MiniLM's feed-forward part
CLOCK = "BENCHMARK_CLOCK"  # of the environment: `cpu` counts a process's CPU seconds, on a machine with other work

SIZE_NAMES = {  # of configs
    "width": "hidden_size d_model dim emb_dim",
    "inner": "intermediate_size hidden_dim d_ff encoder_ffn_dim decoder_ffn_dim",
    "layers": "num_hidden_layers n_layers encoder_layers decoder_layers",
    "heads": "num_attention_heads n_heads num_key_value_heads encoder_attention_heads decoder_attention_heads",
}

Build = Callable[[Backbone, Head], EncoderWithHead]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One epoch over the same rows for every contestant, `updates` of them timed; the seed differs by round."""

    data: Path | None
    updates: int
    seed: int = 0
    model: str = MODEL
    train: Train = TRAIN
    warm_up: int = WARM_UP


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The timed updates of one process; `tokens` is the mean per example, `padded_tokens` with padding, and
    `squared_tokens` that of their squares.
    """

    examples: int
    seconds: float
    examples_per_second: float
    tokens: float
    padded_tokens: float
    squared_tokens: float
    tokens_per_second: float
    loss: float


@dataclass(frozen=True)
class Unscored:
    """The result of an evaluation that predicts nothing."""

    headline: float = 0.0
    metrics: Sequence[Metric] = (accuracy,)
    scores: Scores = field(default_factory=dict)
    loss: float | None = None


def unscored(_: Engine) -> Unscored:
    """Evaluates nothing, so that only training is timed."""
    return Unscored()


class Meter:
    """Records examples and tokens of each training batch of a model, and the end time of each update."""

    def __init__(self, model: nn.Module) -> None:
        self.batches: list[tuple[int, int, int, int]] = []  # examples, tokens, tokens with padding, squares of tokens
        self.ends: list[float] = []
        model.register_forward_pre_hook(self._note_batch, with_kwargs=True)

    def note_end(self, *_: Any) -> None:
        """Call at the end of each update."""
        self.ends.append(seconds())

    def measurement(self, losses: Sequence[float], warm_up: int = WARM_UP) -> Measurement:
        """All updates after the first `warm_up`. Raises ValueError unless each update had one batch and one loss."""
        updates = list(zip(self.batches, losses, self.ends, strict=True))[warm_up:]
        examples, tokens, padded, squared = map(sum, zip(*(batch for batch, _, _ in updates), strict=True))
        seconds = self.ends[-1] - self.ends[warm_up - 1]
        return Measurement(
            examples=examples,
            seconds=seconds,
            examples_per_second=examples / seconds,
            tokens=tokens / examples,
            padded_tokens=padded / examples,
            squared_tokens=squared / examples,
            tokens_per_second=tokens / seconds,
            loss=statistics.fmean(loss for _, loss, _ in updates),
        )

    def _note_batch(self, _: nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        mask = named["attention_mask"] if named else positional[1]
        lengths = mask.sum(-1)
        self.batches.append((len(mask), int(lengths.sum()), mask.numel(), int((lengths**2).sum())))


def seconds() -> float:
    """Seconds that went by, or that a processor computed for this process."""
    return time.process_time() if os.environ.get(CLOCK) == "cpu" else time.perf_counter()


def timed(function: Callable[[], Any]) -> float:
    """The seconds of a call."""
    began = seconds()
    function()
    return seconds() - began


def limits() -> dict[str, float]:
    """GFLOP/s of a matrix product alone in each precision, by the faster of torch's libraries."""
    rows, inner, columns = PRODUCT
    left, right = torch.randn(rows, inner), torch.randn(columns, inner)
    products = {
        "fp32": [partial(torch.mm, left, right.t())],
        "bf16": [partial(torch.mm, left.bfloat16(), right.bfloat16().t())],
    }
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        products["fp32"].append(partial(torch.ops.mkldnn._linear_pointwise, left, right, None, "none", [], ""))
    operations = 2 * rows * inner * columns / 1e9
    return {
        precision: operations / min(timed(product) for product in ways for _ in range(20))
        for precision, ways in products.items()
    }


def sample(job: Job) -> Sequence[SentenceRow]:
    """As many rows as the updates need, sampled from the training set. Raises SystemExit if it has too few."""
    wanted = (job.updates + job.warm_up) * job.train.batch_size
    rows = load_splits(MRPC, source_of(job.data), limit=wanted, names=[MRPC.train_split])[MRPC.train_split].rows
    if len(rows) < wanted:
        raise SystemExit(
            f"--updates: at most {len(rows) // job.train.batch_size - job.warm_up}, since rows are {len(rows)}"
        )
    return rows


def as_in_a_run(backbone: Backbone, head: Head) -> EncoderWithHead:
    """Our model as `finetune.training.run` builds it on a CPU: own attention, the last layer for the first token."""
    model = EncoderWithHead(backbone, head)
    take_fast_paths(model, device=torch.device("cpu"))
    return model


def train_ours(build: Build, job: Job) -> Measurement:
    """One epoch as in `finetune.training.run`, with the model that `build` returns."""
    return trained_ours(build, job)[0]


def trained_ours(build: Build, job: Job) -> tuple[Measurement, Engine, Sequence[Feature]]:
    """What `train_ours` measures, the engine with the trained model, and the features."""
    losses: list[float] = []

    def watch(event: Event) -> None:
        losses.extend(event.losses if isinstance(event, Updates) else [])

    engine, features = untrained_ours(build, job, watch)
    meter = Meter(engine.model)
    register_optimizer_step_post_hook(meter.note_end)
    Trainer(engine=engine, settings=job.train, data_seed=job.seed).fit(features, unscored)
    return meter.measurement(losses, job.warm_up), engine, features


def untrained_ours(build: Build, job: Job, watch: Watcher = unwatched) -> tuple[Engine, Sequence[Feature]]:
    """An engine with the model that `build` returns, and the features of the job."""
    folder = weights.resolve(job.model).folder
    tokenizer = load_tokenizer(folder)
    torch.manual_seed(job.seed)
    backbone, _ = load_backbone(folder, Recipe(task="any"))
    features = encode_rows(MRPC, sample(job), tokenizer, MAX_LENGTH, most_tokens(backbone.encoder))
    model = build(backbone, MRPC.head(backbone))
    model.head.initialise()
    accelerator = build_accelerator(torch.device("cpu"), job.train.precision)
    return Engine(model=model, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch), features


def built(recipe: Recipe, source: Source, watch: Watcher = unwatched) -> RunState:
    """A run on a CPU before it trains, with its engine."""
    run = plan_run(resolved_run(recipe), source=source, device="cpu")
    build_run(run)
    run.engine = Engine(model=run.model, accelerator=run.accelerator, pad_id=run.tokenizer.pad_token_id, watch=watch)
    return run


def encoder_config(kind: str, shape: Mapping[str, int], **others: Any) -> PretrainedConfig:
    """The config of a type of encoder; it has these sizes under its own names, and these others.

    A shape has `width`, `inner` (the width within the feed-forward layers), `layers` and `heads`.
    """
    declared = CONFIG_MAPPING[kind]
    known = set(declared().to_dict()) | set(declared.attribute_map)
    wanted = {name: shape[size] for size, names in SIZE_NAMES.items() for name in names.split()}
    return declared(**{name: value for name, value in wanted.items() if name in known} | others)


def fresh(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls it in a new process, so that settings of allocator and threads are not carried over."""
    # Forked from a process that has imported the libraries and computed nothing.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["finetune.training.trainer", "transformers.trainer"])
    with ProcessPoolExecutor(1, context, initializer=_begin, initargs=(dict(os.environ),)) as process:
        return process.submit(function, *arguments).result()


def _begin(environment: dict[str, str]) -> None:
    os.environ.update(environment)  # the process before this one has that of its own start
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def alternating(names: Sequence[str], rounds: int) -> list[tuple[int, str]]:
    """Rounds of contestants, every second one in reverse order, so that drift in machine speed favours nobody."""
    return [(number, name) for number in range(rounds) for name in names[:: -1 if number % 2 else 1]]


Contestants = Mapping[str, Callable[[Job], Measurement]]
Ratios = Mapping[str, Mapping[str, tuple[str, str]]]  # column -> contestant -> (numerator, denominator)


def compare(contestants: Contestants, ratios: Ratios, *, about: str) -> None:
    """The command of a benchmark whose contestants train, each time in a fresh process."""
    given = options(about, data=Path, updates=40, rounds=3, precision="fp32", only=tuple(contestants))
    job = Job(data=given.data, updates=given.updates, train=TRAIN.model_copy(update={"precision": given.precision}))
    sample(job)
    results: dict[str, list[Measurement]] = {name: [] for name in given.only}
    for number, name in alternating(given.only, given.rounds):
        results[name].append(fresh(contestants[name], replace(job, seed=number)))
        print(f"round {number + 1}  {name}: {results[name][-1].examples_per_second:.1f} examples/s", flush=True)

    def median(name: str, unit: str) -> float:
        return statistics.median(float(getattr(measured, f"{unit}_per_second")) for measured in results[name])

    settings = {
        "model": MODEL, "max_length": MAX_LENGTH, "train": job.train.model_dump(), "updates_timed": job.updates,
        "updates_before": WARM_UP, "rounds": given.rounds,
    }  # fmt: skip
    found = {
        "gflops": fresh(limits),
        "settings": settings,
        "median_examples_per_second": {name: median(name, "examples") for name in results},
        "ratios": {
            column: {
                name: {unit: median(ours, unit) / median(theirs, unit) for unit in ("examples", "tokens")}
                for name, (ours, theirs) in pairs.items()
                if {ours, theirs} <= set(results)
            }
            for column, pairs in ratios.items()
        },
        "measurements": {name: [asdict(measured) for measured in rounds] for name, rounds in results.items()},
    }
    write(given.out, about, found)
