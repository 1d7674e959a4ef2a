"""What a run learns besides its labels: the answers of teachers, also for rows without labels, or soft labels."""

import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.gone import without_defaults
from finetune.inference.engine import Engine
from finetune.inference.exported.engine import ExportedEngine
from finetune.models.caller_state import plain_mode
from finetune.models.feature import IGNORED, LABEL, TAUGHT, Feature, LazyFeatures, lengths, truncated_rows
from finetune.models.head import EncoderWithHead
from finetune.models.tokenizers.load import tokenizer_hash
from finetune.runs.events import Note, Working
from finetune.runs.folder import RunFolder
from finetune.runs.recipe_tables import Distil
from finetune.runs.record_files import load_record
from finetune.runs.record_parts import PLAIN, STUDENT, TEACHER, ComparedModel
from finetune.runs.run_id import data_fingerprint
from finetune.storage.cache import hash_of
from finetune.task_types import registry
from finetune.task_types.prepare import array_features
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import Keys, known_keys
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.checkpoints import Progress
from finetune.training.distil.answers import RowAnswers, Teacher, joint_answers, soft_labels, softened
from finetune.training.distil.objective import STATES, TaughtLosses, TaughtStates
from finetune.training.distil.teachers import rows_without_labels
from finetune.training.evaluation import Evaluated
from finetune.training.extras import Extra, Fit, RunState

TIMED_ROWS, TIMES = 256, 2  # rows that are answered to know a model's speed, and how often: the best counts


class TeacherAnswers(Extra):
    """`distil`: answers of `teachers`, also for the rows of `text` that have no label; or soft labels of your data."""

    teachers: Sequence[Teacher] = ()
    text: Sequence[Row] = ()
    soft: RowAnswers = ()

    def after_reading(self, run: RunState) -> None:
        """Hashes all that decides what is learned, for the run's id.

        Raises UserError for a text or soft labels that cannot be read.
        """
        resolved, task, distil = run.resolved, run.task, run.resolved.recipe.distil
        if distil.soft:
            self.soft = soft_labels(task, run.train_rows, confidence=distil.confidence)
            run.taught = {"soft": hash_of([value for each in self.soft for value in np.round(each, 6).tolist()])}
            return
        own, known = resolved.default if registry.in_file(resolved.recipe.task) else None, dict[str, Keys]()
        self.teachers = [Teacher(Path(folder), own, str(run.device)) for folder in distil.teachers]
        for teacher in self.teachers:
            require_labels(teacher, task)
            known |= known_keys(RunFolder(teacher.folder))
        run.known = {**run.known, **known}
        run.taught = {"teachers": hash_of(sorted(teacher.fingerprint for teacher in self.teachers))}
        if distil.text:
            dev = [row for split in task.dev_splits for row in run.rows[split]]
            self.text, run.late_notes = _text(task, Path(distil.text), dev)
            run.late_notes.append(f"{distil.text}: {so_many(len(self.text))} without labels, which the teacher answers")
            run.taught = {**run.taught, "text": data_fingerprint({"": self.text})}
            run.rows_learned = [*run.rows_learned, *self.text]
        run.late_notes += notes_on_scored_rows(resolved, run.data, known)

    def before_training(self, run: RunState) -> None:
        """Has the teachers answer, and the answers learned. Raises UserError as `_states` does."""
        task, distil, rows = run.task, run.recipe.distil, run.train_rows
        for note in run.late_notes:
            run.watch(Note(note))
        features: Sequence[Feature] = run.features[task.train_split]
        text = features[:0]
        if self.text:
            text = array_features(task, self.text, run.tokenizer, run.recipe.max_length, run.watch)
        answers = self._answers([*rows, *self.text], run) if self.teachers else self.soft
        run.inputs[task.train_split] = taught_features(task, distil.temperature, features, text, answers, len(rows))
        losses = TaughtLosses(head=run.model.head, learns=task.teaching.learns, settings=distil)
        run.objective = losses
        if distil.states:
            states = self._states(run)
            run.objective = replace(losses, states=states)
            run.fit = partial(_fit_and_close, run.fit, states)

    def _answers(self, rows: Sequence[Row], run: RunState) -> RowAnswers:
        teaching = run.task.teaching
        return joint_answers([teacher.answers(rows, teaching, run.watch) for teacher in self.teachers], teaching)

    def _states(self, run: RunState) -> TaughtStates:
        """What learns a teacher's layers. Raises UserError where these are of other tokens, or of several teachers."""
        if run.accelerator.num_processes > 1:
            raise UserError("distil.states trains in one process", "Leave `processes` out, or distil.states")
        (teacher, *others) = self.teachers
        if others or tokenizer_hash(teacher.predictor.tokenizer) != tokenizer_hash(run.tokenizer):
            what = f"there are {len(others) + 1} teachers" if others else "teacher and student have other vocabularies"
            raise UserError(f"distil.states: {what}, and layers are learned token by token", "Leave distil.states out")
        encoder = replace(teacher).predictor.torch_engine.model.backbone.encoder  # not the one whose speed is measured
        return TaughtStates(run.model, encoder.to(run.device), run.recipe.seeds[0])

    def after_scoring(self, run: RunState) -> None:
        """Adds the rows that say what a teacher is worth: teacher, student, and the same student without a teacher, if
        that run is there; the last has the student's size and speed.
        """
        if not self.teachers:
            return
        run.watch(Working("comparing with the teacher"))
        every, engine, teaching = run.evaluation, run.engine, run.task.teaching
        split = max(every.features, key=lambda split: len(every.rows[split]))  # whose time is measured best
        rows = every.rows[split][:TIMED_ROWS]
        timed = [feature for feature in every.features[split] if feature.row < TIMED_ROWS]
        student = ComparedModel(
            name=STUDENT, runs=[run.id], scores=run.found.scores, **_size([run.model]),
            rows_per_second=len(rows) / _seconds(engine, timed),
        )  # fmt: skip

        def logits(split: str) -> list[np.ndarray]:
            answers = teaching.by_feature(self._answers(every.rows[split], run), every.features[split])
            return [np.nan_to_num(teaching.logits(each)) for each in answers]

        seconds = 0.0
        with plain_mode():
            for teacher in self.teachers:
                seconds += _seconds(teacher.predictor.engine, teacher.predictor.encoded(rows))
        taught_by = ComparedModel(
            name=TEACHER if len(self.teachers) == 1 else f"{len(self.teachers)} teachers",
            runs=[teacher.folder.name for teacher in self.teachers],
            scores=every.judged(logits, run.watch).scores,
            **_size([teacher.predictor.torch_engine.model for teacher in self.teachers]),
            rows_per_second=len(rows) / seconds,
        )
        run.facts["compared"] = [taught_by, student]
        plain = run.id_with(run.recipe.model_copy(update={"distil": Distil()}), {})
        if (record := RunFolder(run.home.path.parent / plain).record()) is not None:
            alone = student.model_copy(update={"name": PLAIN, "runs": [plain], "scores": record.scores})
            run.facts["compared"].append(alone)


def _fit_and_close(fit: Fit, states: TaughtStates, *arguments: Any) -> tuple[Progress, Evaluated]:
    """Trains; then the model is predicted with, and saved, as it was."""
    trained = fit(*arguments)
    states.close()
    return trained


def _size(models: Sequence[EncoderWithHead]) -> dict[str, Any]:
    """The weights of models, and their megabytes."""
    weights = [weight for model in models for weight in model.parameters()]
    megabytes = sum(weight.numel() * weight.element_size() for weight in weights) / 1e6
    return {"parameters": sum(weight.numel() for weight in weights), "megabytes": megabytes}


def _seconds(engine: ExportedEngine | Engine, features: Sequence[Feature]) -> float:
    """The seconds that a model needs for features, the least of TIMES; tokenization left out."""
    least = math.inf
    for _ in range(TIMES):
        started = time.perf_counter()
        engine.logits(features)
        least = min(least, time.perf_counter() - started)
    return max(least, 1e-9)


def _text(task: Task, path: Path, dev: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows that teachers alone answer, without those that the student is scored on; and notes.

    Raises UserError where none are left.
    """
    rows, notes = rows_without_labels(task, path)
    kind = type_of(task)
    if kind is None:
        return rows, notes
    scored = {kind.unit(row) for row in dev}
    kept = [row for row in rows if kind.unit(row) not in scored]
    if not kept:
        raise UserError(f"distil.text={path}: all its rows are dev rows", "Name rows that the student is not scored on")
    found = f"{path}: {so_many(len(rows) - len(kept))} left out, which the student is scored on"
    return kept, [*notes, *([found] if len(kept) < len(rows) else [])]


def require_labels(teacher: Teacher, task: Task) -> None:
    """Raises UserError where `keep_labels` gave the student labels that its teacher lacks."""
    if lost := [label for label in task.teaching.labels if label not in teacher.labels]:
        raise UserError(
            f"distil.teacher={teacher.folder.name}: it lacks the label {lost[0]}, which keep_labels keeps",
            "Set keep_labels=shared, or name a teacher with all of them",
        )


def notes_on_scored_rows(resolved: ResolvedRun, data: str, known: Collection[str] = ()) -> Iterator[str]:
    """A note on each teacher that knows, or may know, the labels of rows on which its student is scored; of one whose
    training rows are `known` the run says how many it shares with them.
    """
    held_out = resolved.recipe.held_out.model_dump()
    for folder in map(Path, resolved.recipe.distil.teachers):
        record = load_record(folder / "record.json")
        if record.id in known:
            continue
        if record.learned:
            what = f"has learned the rows of {' and '.join(record.learned)} too: its scores on them"
        elif (record.data, without_defaults(record.recipe).get("held_out", held_out)) != (data, held_out):
            what = "was trained on other rows than these: if rows of dev are among them, its scores"
        else:
            continue
        yield f"the teacher {folder.name} {what} are too high, and so are those of its student"


class TaughtFeatures(LazyFeatures):
    """Features that have a target `taught` next to their label, of training rows and then of rows without labels."""

    def __init__(self, parts: Sequence[Sequence[Feature]], targets: Sequence[np.ndarray], rows: int) -> None:
        self.parts, self.targets = parts, targets
        self.labelled, self.offset = len(parts[0]), rows
        self.like = parts[0][0].label
        facts = [truncated_rows(part) if len(part) else (np.zeros(0, int), np.zeros(0, bool)) for part in parts]
        self.rows = np.concatenate([facts[0][0], facts[1][0] + rows])
        self.truncated = np.concatenate([cut for _, cut in facts])
        self.lengths = np.concatenate([lengths(part) for part in parts])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        target = self.targets[index]
        if index < self.labelled:
            return _taught(self.parts[0][index], target)
        feature = self.parts[1][index - self.labelled]
        nothing = math.nan if isinstance(self.like, float) else IGNORED
        label = nothing if np.isscalar(self.like) else [nothing] * len(target)
        return _taught(replace(feature, label=label, row=feature.row + self.offset), target)


def _taught(feature: Feature, target: np.ndarray) -> Feature:
    """The feature with a target of answers too, and one for its states: a label for each text that it has."""
    texts = [1] * len(feature.choices) if feature.choices else 1
    return replace(feature, label={LABEL: feature.label, TAUGHT: target, STATES: texts})


def taught_features(
    task: Task,
    temperature: float,
    features: Sequence[Feature],
    text: Sequence[Feature],
    answers: RowAnswers,
    rows: int,
) -> TaughtFeatures:
    """The features to train on, of so many rows and then of the text. Raises UserError where a student's tokens would
    have to be those of its teacher.
    """
    teaching = task.teaching
    by_feature = [*teaching.by_feature(answers[:rows], features), *teaching.by_feature(answers[rows:], text)]
    targets = [softened(each, teaching.learns, temperature) for each in by_feature]
    return TaughtFeatures([features, text], targets, rows)
