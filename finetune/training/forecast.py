"""What a run will take and about what it will score, told before it trains.

Time and memory are measured on a few updates at learning rate 0, which change no weight. The score is told by the best
cheap method, and by how far from it trained models ended on other files (`AHEAD`).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import token_batches
from finetune.models.device import peak_memory
from finetune.models.fast_paths import used_rows_alone
from finetune.models.feature import Feature, lengths
from finetune.models.kernels.cpu import allocated_memory
from finetune.runs.events import Forecast, Note, Watcher, duration, unwatched
from finetune.runs.recipe import Train
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.task import TEST
from finetune.training.checkpoints import Progress
from finetune.training.extras import RunState
from finetune.training.few_rows import PROBE
from finetune.training.prepare import build_run, plan_run, prepare_training
from finetune.training.trainer import Trainer, build_optimizer, build_schedule
from finetune.training.updates import Updater, training_batches

TRIED = (1.0, 0.1, 0.5, 0.9)  # quantiles of an epoch's batches by size; the largest is not timed: it warms up
PASSES = 3  # of a batch: the first compiles, as the others of its shape do not; CUDA graphs are there from the third on
SAVING_SECONDS = 1.0
# By what the head learns, and whether of texts: 5 % of trained models score lower than the probe and the first number,
# 5 % higher than the best cheap method and the second. Of few rows from results/benchmarks/few_rows.json, 247 runs that
# were scored on 300 rows. Of many rows, which have no probe, both are of the best method, from the records of minilm in
# results/. Rounded outwards.
AHEAD = {
    ("class", True): ((-0.09, 0.10), (-0.14, 0.15)),
    ("flags", True): ((-0.05, 0.16), (-0.10, 0.20)),
    ("number", True): ((-0.15, 0.24), (-0.10, 0.20)),
    ("class", False): ((0.10, 0.35), (0.20, 0.46)),
}
AHEAD_ROWS, NINE_OF_TEN = 300, 1.64  # standard deviations
# The runs behind `AHEAD` are of ten data sets, which differ more than the runs of one. So much wider at both ends, nine
# of ten of 39 other files were within (77 % without it).
BETWEEN_SETS = 0.08
TELLS_NOTHING = 0.7  # from end to end of a range, as of few rows of dev


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The seconds of an epoch's updates and of compiling for new shapes of batches, and the bytes that training will
    add to the peak so far.
    """

    seconds: float
    compiling: float
    growth: float


def forecast_of(
    planned: ResolvedRun, source: Source, *, device: str | None, watch: Watcher = unwatched
) -> Forecast | None:
    """The forecast of a run that is not to be trained now. Raises UserError where the run would."""
    started, run = time.perf_counter(), plan_run(planned, source=source, device=device, watch=watch)
    build_run(run)
    return forecast(run, prepare_training(run), started=started)


def forecast(run: RunState, trainer: Trainer, *, started: float) -> Forecast | None:
    """The forecast of a run that is built, and began at `started` (`time.perf_counter`).

    None for several processes, for fp16, whose scale of the loss a trial would change, and for other solvers.
    """
    engine, task = replace(trainer.engine, watch=unwatched), run.task
    accelerator, features = engine.accelerator, run.inputs[task.train_split]
    if run.fit is not Trainer.fit or accelerator.num_processes > 1 or accelerator.scaler is not None:
        return None
    trial = _tried(replace(trainer, engine=engine), features)
    train = run.recipe.train.lengthened(len(features))
    seconds = {split: _seconds_of_predicting(engine, run.inputs[split]) for split in task.dev_splits}
    last, an_epoch, (_, parts) = seconds.pop(TEST, 0.0), math.ceil(len(features) / train.batch_size), train.parts
    part = trial.seconds / an_epoch * (train.updates or train.epochs * an_epoch) / parts + sum(seconds.values())
    so_far, score = time.perf_counter() - started, _score(run)
    return Forecast(
        seconds=so_far + trial.compiling + parts * part + last + SAVING_SECONDS, seconds_of_part=part, parts=parts,
        stops_early=train.patience is not None, peak_memory_bytes=int(peak_memory(run.device) + trial.growth),
        metric=task.metrics[0].name if score else "", score=score,
    )  # fmt: skip


def require_time(told: Forecast | None, minutes: float, train: Train, rows: int, watch: Watcher) -> None:
    """Raises UserError, with settings that would fit, for a run that takes more than so many minutes; a note says where
    that is not known.
    """
    if told is None:
        cases = "a run that resumes, several processes, fp16, and solvers other than adam"
        watch(Note(f"`max_minutes` does not apply here: nothing tells the time of {cases}"))
    if told is None or told.seconds <= 60 * minutes:
        return
    fixed = told.seconds - told.parts * told.seconds_of_part
    share = max(0.0, 60 * minutes - fixed) / (told.parts * told.seconds_of_part)
    updates, fit = int((train.updates or 0) * share), int(told.parts * share)
    shorter = f"train.updates={updates}" if updates else f"train.epochs={fit}" if fit and not train.updates else ""
    few = int(rows * share * told.parts)
    if not shorter and few and not train.updates:
        shorter = f"train.epochs=1 limit={few}"
    way = f"Set {shorter}, which fits, or raise `max_minutes`" if shorter else "Raise `max_minutes`"
    raise UserError(f"the run would take about {duration(told.seconds)}, and `max_minutes` is {minutes:g}", way)


def _score(run: RunState) -> tuple[float, float] | None:
    """The range in which nine of ten runs end; None where nothing tells it."""
    head, split, metric = run.model.head, run.task.dev_splits[0], run.task.metrics[0]
    ahead = AHEAD.get((head.solved_as, run.model.pooled))
    answers = run.cheap.get(split, {}) | run.baselines.get(split, {})
    scores = {method: run.task.score(answers[method], run.rows[split])[metric.name] for method in answers}
    if ahead is None or not scores or not 0 <= (best := max(scores.values())) <= 1:
        return None
    spread = NINE_OF_TEN * math.sqrt(best * (1 - best))  # of a share, over the root of the rows
    noise = max(0.0, spread / math.sqrt(len(run.rows[split])) - spread / math.sqrt(AHEAD_ROWS))
    (low, high), margin = ahead[PROBE not in scores], noise + BETWEEN_SETS
    ends = max(0.0, scores.get(PROBE, best) + low - margin), min(1.0, best + high + margin)
    return ends if ends[1] - ends[0] < TELLS_NOTHING else None


def _tried(trainer: Trainer, features: Sequence[Feature]) -> Trial:
    """An epoch's time, by a line through small and large batches; and memory that the peak does not have yet:
    the best weights, and what oneDNN compiles for each shape of a batch.
    """
    engine, settings = trainer.engine, trainer.settings.model_copy(update={"learning_rate": 0.0})
    sizes, model = lengths(features), engine.model
    batches = training_batches(sizes, batch_size=settings.batch_size, data_seed=trainer.data_seed, epoch=1)
    shapes = [(len(batch), engine.padded_length(int(sizes[batch].max()))) for batch in batches]
    padded = np.array([count * length for count, length in shapes])
    order, seconds, held = np.argsort(padded, kind="stable"), list[float](), list[int]()
    compiling = list[float]()
    tried = [order[round(share * (len(order) - 1))] for share in TRIED]
    with used_rows_alone(model, features, pad_id=engine.pad_id):
        trained = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        prepared, optimizer = engine.accelerator.prepare(model, build_optimizer(model, settings))
        updater = Updater(
            engine=engine, model=prepared, optimizer=optimizer, schedule=build_schedule(optimizer, settings, updates=1),
            settings=settings, data_seed=trainer.data_seed, rows=trainer.rows, draw=trainer.draw,
            objective=trainer.objective,
        )  # fmt: skip
        for index in tried:
            batch, times = [features[i] for i in batches[index]], list[float]()
            for _ in range(PASSES):
                progress = Progress()
                updater.group([batch], progress, epoch=1)
                times.append(progress.seconds)
            seconds.append(min(times[1:]))
            compiling.append(times[0] - min(times))
            held.append(allocated_memory())
    engine.accelerator.free_memory()  # Accelerate keeps every prepared model
    new = max(0, len({*shapes}) - len(TRIED))  # shapes of batches
    a_shape = max(0.0, (held[-1] - held[0]) / max(1, len({shapes[i] for i in tried}) - 1))
    return Trial(
        seconds=float(_line(padded[tried[1:]], np.array(seconds[1:]))(padded).sum()),
        compiling=new * float(np.median(compiling[1:])),
        growth=new * a_shape + trained * (settings.select == "best"),
    )


def _line(sizes: np.ndarray, seconds: np.ndarray) -> np.poly1d:
    """Seconds by size; the mean where they do not rise with it."""
    if len(set(sizes.tolist())) > 1:
        slope, constant = np.polyfit(sizes, seconds, 1)
        if slope > 0:
            return np.poly1d([slope, constant])
    return np.poly1d([seconds.mean()])


def _seconds_of_predicting(engine: Engine, features: Sequence[Feature]) -> float:
    """The seconds of predicting a split, from those of its middle batch."""
    sizes = lengths(features)
    batches = token_batches(sizes, tokens=engine.batch_tokens)
    if not batches:
        return 0.0
    middle, began = batches[len(batches) // 2], time.perf_counter()
    engine.logits([features[i] for i in middle])
    return float((time.perf_counter() - began) * sizes.sum() / sizes[middle].sum())
