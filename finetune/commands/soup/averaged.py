"""Averages weights, scores the result as a run is scored, and saves it as one."""

import time
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from finetune.commands.soup.members import Members
from finetune.errors import UserError, first_line
from finetune.inference.card.card import save_first_card
from finetune.inference.dev_claims import lines_view, save_claims
from finetune.inference.engine import Engine
from finetune.inference.predictor import settings_for_use
from finetune.metrics.scores import Scores
from finetune.models.device import build_accelerator
from finetune.models.loading import load_trained
from finetune.models.model import EncoderWithHead
from finetune.models.saving import save_checkpoint
from finetune.runs.compared_model import ENSEMBLE, MEAN, SOUP, ComparedModel
from finetune.runs.dev_choices import chosen_for_model, dev_choices, is_optimistic
from finetune.runs.events import EpochResult, Note, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import write_predictions
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.prepare import drawn_ids
from finetune.task_types.task import TEST, Task
from finetune.task_types.view import Line, with_labels
from finetune.training.checkpoints import Progress
from finetune.training.compared import answered_scores, itself, together
from finetune.training.distil.answers import Teacher
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.meter import Meter
from finetune.training.prepared_run import BuiltRun, PlannedRun, build_run, plan_run
from finetune.training.record import TrainingResult, build_record
from finetune.training.run_options import RunOptions
from finetune.training.shift_reference import shift_reference


def souped(found: Members, options: RunOptions, *, watch: Watcher) -> RunRecord:
    """The record of a soup. Raises UserError where the rows are no longer those of its runs."""
    started = time.perf_counter()
    planned, meter = _planned(found, options, watch)
    folder = RunFolder.of(options.out, planned.task.name, found.id)
    if (done := folder.record()) is not None:
        watch(Note(f"already done: {folder.path}"))
        return done
    built = build_run(planned, watch)
    watch(Working("averaging weights"))
    _load_mean(built.model, found, planned.task)
    accelerator = build_accelerator(planned.device, planned.precision)
    engine = Engine(model=built.model, accelerator=accelerator, pad_id=built.tokenizer.pad_token_id, watch=watch)
    features = {split: built.features[split] for split in planned.task.dev_splits}
    every = DevEvaluation(task=planned.task, rows=planned.rows, features=features)
    scored = every(engine)
    result = TrainingResult(
        progress=_progress(scored, started), evaluation=every, found=scored, probe={}, cost=meter.cost(accelerator),
        compared=_rows(found, every, scored, engine, device=options.device),
    )  # fmt: skip
    with folder.locked(wait=True, watch=watch):
        _save(found, planned, built, result, engine, folder, started=started)
    return load_record(folder.record_file)


def _planned(found: Members, options: RunOptions, watch: Watcher) -> tuple[PlannedRun, Meter]:
    """The first run as it was, on the same rows, and perhaps others to be scored on; without LoRA, which is merged."""
    recipe = found.resolved.recipe
    plain = recipe.model_copy(update={"lora": 0, "adapter": False, "distil": type(recipe.distil)()})
    planned = plan_run(replace(found.resolved, recipe=plain), source=options.source, device=options.device, watch=watch)
    first = found.records[0]
    if not _has_rows_of(first, planned):
        raise UserError(f"soup: the rows of {first.id} have changed since it was trained", "Restore its data")
    return planned, Meter(planned.device)


def _has_rows_of(record: RunRecord, planned: PlannedRun) -> bool:
    """Whether rows are those of a run; to be scored on, a file of yours may be among them that the run did not have."""
    if set(planned.splits) == set(record.rows):
        return planned.data == record.data
    return all(planned.splits[split].content == content for split, content in record.data_files.items())


def _load_mean(model: EncoderWithHead, found: Members, task: Task) -> None:
    """Gives a model the mean of the runs' weights."""
    mean: dict[str, Tensor] = {}
    for run in found.runs:
        for name, tensor in load_trained(run.model, task.head).state_dict().items():
            part = tensor.double() / len(found.runs) if tensor.is_floating_point() else tensor
            mean[name] = mean[name] + part if name in mean and tensor.is_floating_point() else part
    own = model.state_dict()
    try:
        model.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in mean.items()})
    except (KeyError, RuntimeError) as error:
        raise UserError(
            f"soup: the runs' weights have other names ({first_line(error)})", "Train them again"
        ) from error


def _progress(scored: Evaluated, started: float) -> Progress:
    """As of one epoch, since nothing was trained."""
    loss = float("nan") if scored.loss is None else scored.loss
    done = EpochResult(epoch=1, loss=loss, headline=scored.headline, scores=scored.scores, dev_loss=scored.loss)
    return Progress(update=1, seconds=time.perf_counter() - started, best_epoch=1, epochs=[done])


def _rows(
    found: Members, every: DevEvaluation, scored: Evaluated, engine: Engine, *, device: str | None
) -> list[ComparedModel]:
    """The mean of the runs, the soup, and the ensemble of their probabilities."""
    models = [Teacher(run.path, None, device) for run in found.runs]
    engine.watch(Working("comparing with the runs"))
    soup = itself(SOUP, found.id, every, scored, engine)
    scores = _mean([answered_scores([one], every, engine) for one in models], found.records[0])
    mean = soup.model_copy(update={"name": MEAN, "runs": [run.path.name for run in found.runs], "scores": scores})
    return [mean, soup, together(ENSEMBLE, models, every, engine)]


def _mean(every: Sequence[Scores], record: RunRecord) -> Scores:
    """The mean of each score, by its metric's spacing."""
    return {
        split: {name: record.metric(name).spacing.mean([one[split][name] for one in every]) for name in given}
        for split, given in every[0].items()
    }


def _save(
    found: Members,
    planned: PlannedRun,
    built: BuiltRun,
    result: TrainingResult,
    engine: Engine,
    folder: RunFolder,
    *,
    started: float,
) -> None:
    """Writes predictions, model and record, as of a run."""
    every, scored = result.evaluation, result.found
    baselines = every.baselines(planned.train_rows, scored)
    first: list[Line] = []
    for split, answers in scored.answers.items():
        rows = planned.rows[split]
        lines = prediction_lines(planned.task, rows, answers, baselines[split], planned.splits[split].slices)
        write_predictions(folder.predictions(split), lines, planned.task.codec.official_files(answers, rows))
        first = first or lines
    use = settings_for_use(planned.built_recipe, scored.task, planned.precision)
    more = shift_reference(planned, built, engine, result)
    save_checkpoint(engine.model, folder.model, built.tokenizer, use, more=more)
    trained = build_record(planned, built, result, baselines, engine.accelerator, started=started)
    runs = [one.id for one in found.records]
    record = trained.model_copy(update={"id": found.id, "recipe": {**trained.recipe, "soup": runs}})
    own = [note for note in trained.notes if note not in dev_choices(trained)]  # of which a soup chose no epoch
    mean = f"the mean weights of the runs {', '.join(runs)}"
    notes = [mean, *own, *dev_choices(record), *_optimism(found, record)]
    record = record.model_copy(update={"notes": notes})
    save_claims(folder.model, lines_view(planned.task, with_labels(first), tuple(built.model.head.labels)), record)
    save_first_card(folder, record, home=folder.path, watch=engine.watch)
    folder.finish(record, found.resolved.recipe, drawn_ids(planned.splits))


def _optimism(found: Members, record: RunRecord) -> list[str]:
    """A note where the rows of the scores chose something of the runs."""
    first = found.records[0]
    if TEST in record.scores or not is_optimistic(first):
        return []
    return [
        f"{record.first_split} chose {chosen_for_model(first)} of each run, and of the soup nothing else, so that the "
        "mean of the runs is the more optimistic; test=FILE compares them on rows that chose nothing"
    ]
