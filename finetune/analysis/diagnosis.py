"""Why a run's model is bad: causes with their evidence and the next command, from the run's record alone.

A rule is a function of the figures of a record, which gives a cause or None; RULES has them in their order.
Task types and encoders are imported by the few rules that ask about them: `finetune show` has to be fast.
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.files import is_data
from finetune.data.messages import first_of, percent, so_many
from finetune.metrics.metric import Metric
from finetune.runs.folder import RESULTS, RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import MOST_COMPARED, Observed
from finetune.runs.toml import typed_settings
from finetune.runs.verdict import FEW_ROWS, verdict_of

Words = tuple[str, ...]  # of a command, behind `finetune`
# The learning rate that fits an encoder with at least so many weights: BERT base, MiniLM, tiny ones.
USUAL_RATES = ((60_000_000, 2e-5), (8_000_000, 1e-4), (1_000_000, 5e-4), (0, 1e-3))
FROZEN_RATE, LORA_RATE = 1e-3, 2e-4
FAR = 4  # times the usual learning rate, or a fraction of it, that explains a failure
ADAM = ("adam", "radam")  # solvers that train all weights on the labels; radam is of earlier versions
NEARLY_ALL = 0.95  # of a score of 0 to 1
LEAST_NOISE, WIDE = 0.02, 0.1  # of half an interval: where it is not known, and where it tells little
ENOUGH_UPDATES, TIMES = 200, 3  # of a longer run
MANY_CONTRADICT, SOME_CONTRADICT = 0.1, 0.05  # shares of the training rows; some are named where the model is bad
MANY_CUT, SOME_CUT = 0.6, 0.3  # the same of truncated features
ROWS_TO_LEARN, RARE, RARE_SHARE = 10, 25, 0.05  # few rows of a label: of any, and of one with less than a share of all
TOO_FEW_TO_TELL, TIMES_LARGER = 20, 2  # rows of dev with an interval over 30 points; than a file, of one that is drawn
MOST_CONTRASTED = 2_000  # training rows that a contrastive first step is for
USUAL_TOKENS = 512  # at most, of an encoder whose record does not say
FLAT, FALLEN, STILL_HIGH = 0.01, 0.03, 0.5  # shares of the first loss: never lost, begun to be lost, left after little
STILL_FALLS = 0.002  # share of the loss on dev that the last epoch took off
FEW_UPDATES = 50  # after which a new head is near random
RISEN, SOME_RISEN = 1.5, 1.1  # times the lowest loss on dev; the latter where the score has fallen too
RISE_TO_SEE, LEARNED = 0.1, 0.7  # shares of the first loss: on dev, below which no rise matters; on training rows


@dataclass(frozen=True)
class Cause:
    """A reason why a model is bad, the figures that show it in a sentence, and the words of the next command.

    `notes` are those of the record that say the same.
    """

    name: str
    evidence: str
    words: Words = ()
    notes: Words = ()

    @property
    def command(self) -> str:
        """The next command, quoted for a shell; empty where the record does not tell enough to write one."""
        return shlex.join(["finetune", *self.words]) if self.words else ""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The causes that a run's record shows, the most certain first; none for a run with which nothing is wrong.

    Example: `print(run.diagnosis); run.diagnosis.command`
    """

    causes: tuple[Cause, ...] = ()

    @property
    def cause(self) -> str:
        """The name of the first cause; empty without one."""
        return self.causes[0].name if self.causes else ""

    @property
    def command(self) -> str:
        """The command that the first cause asks for; empty without one."""
        return self.causes[0].command if self.causes else ""

    def for_runs_in(self, out: Path) -> "Diagnosis":
        """With commands that name the folder of the runs, where that is not the usual one."""
        if out.resolve() == RESULTS.resolve():
            return self
        named = [replace(one, words=(*one.words, "--out", str(out))) if one.words else one for one in self.causes]
        return Diagnosis(causes=tuple(named))

    def __bool__(self) -> bool:
        return bool(self.causes)

    def __str__(self) -> str:
        return "\n".join(f"{one.name}: {one.evidence}" for one in self.causes) or "no cause found"


class Figures:
    """A record, and what follows from it.

    Losses are finite and of each epoch, and of updates on the labels; else there are none. `rate` is the peak learning
    rate, None where the schedule, or a solver that is not Adam, gives the number another meaning; `off_rate` says that
    it is far from the usual one. `ranks` are the headline score after each epoch, of which more is better, or NaN.
    """

    def __init__(self, record: RunRecord, folder: RunFolder | None, runs: int) -> None:
        self.record, self.recipe, self.folder, self.runs = record, record.recipe, folder, runs
        self.options: dict[str, Any] = self.recipe.get("options") or {}
        self.train: dict[str, Any] = self.recipe.get("train", {})
        self.split, self.verdict, self.seen = record.first_split, verdict_of([record]), record.observed or Observed()
        self.dev_rows, self.train_rows = record.rows.get(self.split, 0), record.rows.get("train", 0)
        self.metric, self.is_better = self.verdict.metric, self.verdict.level == "better"
        self.is_share = self.metric.scale == Metric.scale
        of_all = self.is_share and self.metric.greater_is_better
        self.is_good = self.is_better or (of_all and record.score >= NEARLY_ALL)
        self.by_updates = self.train.get("solver", "adam") in ADAM
        self.losses, self.dev_losses = self._finite("loss"), self._finite("dev_loss")
        self.ranks = [self.metric.rank(epoch["headline"]) for epoch in record.epochs]
        self.batches = math.ceil(record.features.get("train", 0) / int(self.train.get("batch_size", 32)))
        self.updates = record.updates or len(record.epochs) * self.batches
        adam = self.by_updates and self.train.get("schedule", "linear") != "noam"  # of earlier versions
        self.rate: float | None = self.train.get("learning_rate") if adam else None
        self.usual_rate, self.off_rate = self._usual_rate(), ""
        if self.rate is not None and not self.usual_rate / FAR < self.rate < self.usual_rate * FAR:
            side = "high" if self.rate > self.usual_rate else "low"
            self.off_rate = f"; train.learning_rate {self.rate:g} is {side}"
        margin = record.margins.get(self.split)
        ends = None if margin is None else margin.interval
        self.noise = abs(ends[1] - ends[0]) / 2 if ends else LEAST_NOISE * (1.0 if self.is_share else abs(record.score))

    def _finite(self, name: str) -> list[float]:
        values = [epoch.get(name) for epoch in self.record.epochs] if self.by_updates else []
        finite = [value for value in values if value is not None and math.isfinite(value)]
        return finite if len(finite) == len(values) else []

    def _usual_rate(self) -> float:
        """The learning rate that fits an encoder of this size."""
        if self.recipe.get("frozen"):
            return FROZEN_RATE
        if weights := self.record.parameters.get("all", 0):
            rate = next(rate for least, rate in USUAL_RATES if weights >= least)
        else:
            from finetune.task_types.starting_recipe import default_rate

            rate = default_rate(self.record.model)
        return max(rate, LORA_RATE) if self.recipe.get("lora") else rate

    def noted(self, words: str) -> Words:
        """The notes of the record with these words."""
        return tuple(note for note in self.record.notes if words in note)

    def again(self, changes: Mapping[str, Any], without: Sequence[str] = ()) -> Words:
        """The words that give the run again with these settings changed, and `without` others, `train.` all of a
        table's: what was typed for it, or its recipe file; empty where there is neither.
        """
        file = None if self.folder is None else self.folder.path / "recipe.toml"
        typed = self.seen.typed or ([str(file)] if file is not None and file.is_file() else [])
        if not typed:
            return ()
        names = {*changes, *without}
        tables = tuple(name for name in without if name.endswith("."))
        rest = [word for word in typed[1:] if not (_key(word) in names or _key(word).startswith(tables))]
        folder = ("--data", self.seen.data_folder) if self.seen.data_folder else ()
        return ("run", typed[0], *rest, *typed_settings(changes), *folder)

    def with_rate(self, rate: float = 0.0) -> Words:
        """The run again with another learning rate, by default the usual one; empty where that has another meaning."""
        return () if self.rate is None else self.again({"train.learning_rate": rate or self.usual_rate})

    def longer(self) -> Words:
        """The run again, three times as long or more, in the unit that its length has; empty where it has none."""
        wanted, epochs = max(TIMES * self.updates, ENOUGH_UPDATES), max(1, len(self.record.epochs))
        if not self.by_updates:
            return ()
        if self.train.get("updates"):
            return self.again({"train.updates": wanted})
        return self.again({"train.epochs": max(TIMES * epochs, math.ceil(wanted / max(1, self.batches)))})

    def checked(self) -> Words:
        """The words that list what is wrong with the rows: of the user's data `check`, else the report."""
        from finetune.task_types.columns import OPTIONS

        task, typed = str(self.recipe["task"]), self.seen.typed
        if not (is_data(task) or self.options.get("shape")):  # from another folder its file is not seen
            return ("report", self.record.id)
        own = {_key(word) for word in typed[1:]} if typed and typed[0] == task else self.options.keys()
        columns = {key: value for key, value in self.options.items() if key in OPTIONS and key in own}
        return ("check", task, *typed_settings(columns))

    def contrasted(self) -> Words:
        """The run again with the preset for few rows; empty where such data, or the encoder, has no such step."""
        model, shape = str(self.recipe.get("model", "")), str(self.options.get("shape", ""))
        apart = not (self.recipe.get("frozen") or model.startswith("new:") or "albert" in model)  # layers to freeze
        if not (shape and apart and self.by_updates):
            return ()
        from finetune.task_types.types import OWN, named_type, own_types

        kind = named_type(shape) if shape in OWN or shape in own_types() else None
        if kind is None or not (kind.closed_labels and kind.labels_rows):
            return ()
        return self.again({"preset": "few-labels"}, without=["train.", "distil."])


def _key(word: str) -> str:
    return word.partition("=")[0].removeprefix("options.")


def other_language(run: Figures) -> Cause | None:
    """The encoder's vocabulary does not fit the texts."""
    if not run.noted("the vocabulary of"):
        return None
    from finetune.task_types.vocabulary import MISFIT, suggested_encoder

    if not (notes := run.noted(MISFIT)):
        return None
    what, _, remedy = notes[0].partition(". ")
    encoder = suggested_encoder(notes)
    words = run.again({"model": encoder}, without=["tokenizer"]) if encoder else ()
    evidence = what if words else f"{what} ({remedy})"
    return Cause("encoder of another language", evidence, words, notes)


def contradictions(run: Figures) -> Cause | None:
    """Many training rows have the text of another row, and a different label."""
    count, rows = run.seen.contradicted, min(run.train_rows, MOST_COMPARED)
    if not count or not rows or count < rows * (MANY_CONTRADICT if run.is_better else SOME_CONTRADICT):
        return None
    evidence = f"{count:,} of {rows:,} training rows have the text of another row and a different label"
    return Cause("labels that contradict each other", evidence, run.checked())


def texts_cut(run: Figures) -> Cause | None:
    """Many texts were longer than `max_length`."""
    share = max(run.record.truncated.values(), default=0.0)
    if run.record.is_pretraining or share < (MANY_CUT if run.is_better else SOME_CUT):
        return None
    length, fitting = run.recipe.get("max_length", 0), run.seen.fitting_length
    most, words = run.seen.longest_length or USUAL_TOKENS, Words()
    evidence = f"{percent(share)} of the texts are longer than max_length {length}"
    if length >= most:
        evidence += ", which is all that this encoder reads: choose one for longer texts"
    else:
        evidence += f"; nearly all have at most {fitting:,} tokens" * (fitting > length)
        words = run.again({"max_length": min(fitting if fitting > length else 2 * length, most)})
    return Cause("texts cut", evidence, words, run.noted(f"longer than max_length {length}"))


def few_rows_of_a_class(run: Figures) -> Cause | None:
    """Labels with few rows that dev has, and of which no row was predicted right, while others were."""
    every, scores = run.train_rows, run.record.scores[run.split]
    counts, in_dev = run.record.labels.get("train", {}), run.record.labels.get(run.split, {})
    missed = {name: counts.get(name, 0) for name in in_dev if scores.get(f"{name}/recall", 1.0) == 0.0}
    few = all(rows < ROWS_TO_LEARN or (rows < RARE and rows < RARE_SHARE * every) for rows in missed.values())
    if not missed or not few or len(missed) == len(in_dev):
        return None
    named = first_of([f"'{name}' ({so_many(rows, 'row')} of {every:,})" for name, rows in missed.items()], 3)
    words = (run.contrasted() if every <= MOST_CONTRASTED else ()) or run.checked()
    return Cause("too few rows of a class", f"{named}: none was found in {run.split}", words)


def loss_never_fell(run: Figures) -> Cause | None:
    """No epoch had a lower loss than the first."""
    losses, rate, usual = run.losses, run.rate, run.usual_rate
    if len(losses) < 2 or run.is_good or min(losses) < (1 - FLAT) * losses[0]:
        return None
    if run.updates < FEW_UPDATES and rate is not None and rate >= usual / FAR:
        return None
    words = run.with_rate()
    if any(word.startswith("train.learning_rate=") for word in run.seen.typed):  # else a rate would follow another
        words = run.longer() if rate is not None and usual / FAR <= rate <= usual * FAR else words
    elif rate is not None and usual / FAR < rate <= usual:
        words = run.with_rate(rate / FAR)
    evidence = f"over {len(losses)} epochs it went from {losses[0]:.4g} to {losses[-1]:.4g}{run.off_rate}"
    return Cause("loss never fell", evidence, words)


def under_trained(run: Figures) -> Cause | None:
    """Training ended while the loss was falling."""
    losses = run.losses
    if run.record.is_pretraining or run.is_good or not losses or not _still_falls(run):
        return None
    evidence = f"after {run.updates:,} updates the loss was still falling"
    evidence += f", from {losses[0]:.3g} to {losses[-1]:.3g}" if len(losses) > 1 else f", {losses[0]:.3g} on average"
    low = run.rate is not None and run.rate <= run.usual_rate / FAR
    words = run.with_rate() if low else run.longer()
    return Cause("under-trained", evidence + run.off_rate * low, words)


def _still_falls(run: Figures) -> bool:
    losses, dev = run.losses, run.dev_losses
    if run.updates < FEW_UPDATES:
        return True
    if len(losses) == 1:
        return bool(dev and dev[0] < (1 - FALLEN) * losses[0])
    if not STILL_HIGH * losses[0] <= losses[-1] < min(losses[-2], (1 - FLAT) * losses[0]):
        return False
    if dev:
        return dev[-1] == min(dev) and dev[-1] <= (1 - STILL_FALLS) * dev[-2]
    gained = run.ranks[-1] - run.ranks[-2]
    return run.verdict.level == "worse" and run.ranks[-1] == max(run.ranks) and gained > run.noise / 2


def one_class(run: Figures) -> Cause | None:
    """One prediction for all rows of dev, whose labels differ."""
    if run.record.is_pretraining or run.seen.constant is None:
        return None
    evidence = f"each of the {run.dev_rows:,} rows of {run.split} is predicted as '{run.seen.constant}'{run.off_rate}"
    words = run.with_rate() if run.off_rate else run.longer()
    return Cause("collapsed to one class", evidence, words)


def over_fitted(run: Figures) -> Cause | None:
    """The loss on dev rose after an epoch while that of training fell, and the saved weights are of a later one, though
    those of an earlier one scored better.
    """
    dev, losses, ranks, last = run.dev_losses, run.losses, run.ranks, run.record.selected_epoch
    if len(dev) != len(losses) or not 1 < last <= len(dev):
        return None
    if run.train.get("select") == "best" or max(ranks[:last]) <= ranks[last - 1]:
        return None  # `select=best` would keep the same weights
    best = min(range(last), key=lambda epoch: dev[epoch]) + 1
    rose, lost = dev[last - 1] / max(dev[best - 1], 1e-9), ranks[best - 1] - ranks[last - 1]
    lost = 0.0 if math.isnan(lost) else lost
    if best == last or losses[last - 1] > LEARNED * losses[0] or dev[last - 1] - dev[best - 1] < RISE_TO_SEE * dev[0]:
        return None
    not_gained = lost >= (0 if run.is_better else -run.noise)
    if not ((rose >= RISEN and not_gained) or (rose >= SOME_RISEN and lost > run.noise)):
        return None
    from finetune.task_types.starting_recipe import DEV_TO_CHOOSE

    was, now = (run.metric.shown(run.record.epochs[epoch - 1]["headline"]) for epoch in (best, last))
    evidence = (
        f"then the loss on dev rose from {dev[best - 1]:.3g} to {dev[last - 1]:.3g} and that of training fell from "
        f"{losses[best - 1]:.3g} to {losses[last - 1]:.3g}; {run.record.headline} was {was}, and is {now}"
    )
    few = run.dev_rows < DEV_TO_CHOOSE and run.record.updates is None
    words = run.again({"train.epochs": best} if few else {"train.select": "best"})
    return Cause(f"over-fitted after epoch {best}", evidence, words)


def small_dev(run: Figures) -> Cause | None:
    """Dev, and test, have too few rows to tell a good model from a bad one by."""
    metric, verdict = run.metric, run.verdict
    rows = run.record.rows.get(verdict.split, 0)
    clear = run.is_good or run.noise < WIDE * run.is_share
    if run.record.is_pretraining or rows >= FEW_ROWS or (clear and rows >= TOO_FEW_TO_TELL):
        return None
    between = f" (95 %: {metric.ends(verdict.interval)})" if verdict.interval else ""
    words = _larger_dev(run)
    score = f"{run.record.headline} is {metric.shown(verdict.score)}{between}"
    evidence = f"{verdict.split} has {so_many(rows, 'row')}, and {score}"
    evidence += "" if words else f"; label more of them: {FEW_ROWS} or more tell more"
    notes = run.noted("too few to tell a good model")
    return Cause("dev too small to tell", evidence, words, notes)


def _larger_dev(run: Figures) -> Words:
    """Dev drawn from the training rows instead of a small file; of few rows the score by folds where there is one, else
    the mean of seeds. Nothing where each seed gives the same, or there are several: only more labels help.
    """
    if own_dev := run.options.get("dev"):
        from finetune.task_types.dev_split import DEV_SHARE

        if DEV_SHARE * run.train_rows >= max(TOO_FEW_TO_TELL, TIMES_LARGER * run.dev_rows):
            return run.again({}, without=["dev"])
    if "test" not in run.record.scores and not own_dev and (words := run.contrasted()):
        return words
    again = run.again({}) if run.by_updates and run.runs == 1 else ()
    return (*again, "--seeds", "5") if again else ()


# The order decides which cause is the first. Facts of the rows and settings that cannot work come before what is seen
# in the losses: cut or contradicting rows make a model collapse or over-fit, and the reverse is never so.
RULES = (
    other_language, contradictions, texts_cut, few_rows_of_a_class, loss_never_fell, under_trained, one_class,
    over_fitted, small_dev,
)  # fmt: skip


def diagnosis_of(record: RunRecord, folder: RunFolder | None = None, *, runs: int = 1) -> Diagnosis:
    """The causes that the record of a finished run shows; `folder` has the recipe file that a command may name, and
    `runs` is how many there are that differ in their seeds alone.
    """
    figures = Figures(record, folder, runs)
    return Diagnosis(causes=tuple(cause for rule in RULES if (cause := rule(figures)) is not None))


def diagnosis_of_seeds(runs: Sequence[tuple[RunRecord, RunFolder | None]]) -> Diagnosis:
    """The first that shows the most frequent cause of runs which differ in their seeds alone, where half of them or
    more have it; the evidence says how many.
    """
    every = len(runs)
    shown = [diagnosis_of(record, folder, runs=every) for record, folder in runs]
    kinds = [re.sub(r"\d+", "", one.cause) for one in shown]  # the epoch in a cause differs between seeds
    (kind, count), *_ = [*Counter(filter(None, kinds)).most_common(1), ("", 0)]
    if 2 * count < every:
        return Diagnosis()
    first = shown[kinds.index(kind)]
    if count == every:
        return first
    of_some = replace(first.causes[0], evidence=f"{count} of {every} runs: {first.causes[0].evidence}")
    return Diagnosis(causes=(of_some, *first.causes[1:]))
