"""Why a run's model is bad: causes with their evidence and the next command, from the run's record alone.

A rule is a function of the figures of a record, which returns a cause or None; RULES has them in the order in which
they are asked.
"""

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.data.files import is_data
from finetune.data.messages import first_of, noun, percent, so_many
from finetune.metrics.metric import Metric
from finetune.runs.folder import RESULTS, RunFolder
from finetune.runs.recipe import load_recipe
from finetune.runs.recipe_diff import DEFAULTS, settings_of
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import MOST_COMPARED
from finetune.runs.seeds import CONSTANT
from finetune.runs.toml import flat, typed_settings
from finetune.runs.verdict import FEW_ROWS, verdict_of
from finetune.task_types.columns import OPTIONS
from finetune.task_types.dev_split import DEV_SHARE
from finetune.task_types.starting_recipe import DEV_TO_CHOOSE, default_rate
from finetune.task_types.types import data_types
from finetune.task_types.vocabulary import MISFIT, suggested_encoder

# The learning rate that fits an encoder with at least so many weights: BERT base, MiniLM, tiny ones.
USUAL_RATES = ((60_000_000, 2e-5), (8_000_000, 1e-4), (1_000_000, 5e-4), (0, 1e-3))
FROZEN_RATE, LORA_RATE = 1e-3, 2e-4
NEARLY_ALL = 0.95  # of a score of 0 to 1
LEAST_NOISE = 0.02  # of a score, where its interval is not known

MANY_CONTRADICT, SOME_CONTRADICT = 0.1, 0.05  # shares of the training rows; some are named where the model is bad
MANY_CUT, SOME_CUT = 0.6, 0.3  # the same of truncated features
ADAM = ("adam", "radam")  # solvers that train all weights on the labels; radam is of earlier versions
ROWS_TO_LEARN = 10  # rows that a label needs to be learned
RARE, RARE_SHARE = 25, 0.05  # rows that are few for a label that has less than this share of all
TOO_FEW_TO_TELL = 20  # rows of dev, of which the interval of a score is wider than 30 points
WIDE = 0.1  # of half an interval that tells little
TIMES_LARGER = 2  # than a dev file is one that is drawn instead
MOST_CONTRASTED = 2_000  # training rows that a contrastive first step is for
USUAL_TOKENS = 512  # at most, of an encoder whose record does not say
FROZEN = 2  # layers that preset=few-labels freezes
SEEDS = "5"  # of a run whose dev cannot be enlarged

NO_STEP = 2e-5  # the sum of all steps that Adam can have made: one of the paper's
FAR = 4  # times the usual learning rate, or a fraction of it, that explains a failure
VERY_HIGH = 10  # times it, which explains one by itself
FLAT = 0.01  # share of the first epoch's loss by which no later one is lower
FALLEN = 0.03  # the same of one that has begun to fall
STILL_HIGH = 0.5  # share of the first epoch's loss above which training has not come far
STILL_FALLS, SURELY_FALLS = 0.002, 0.02  # shares of the loss on dev that the last epoch took off
FEW_UPDATES = 50  # after which a new head is near random
ENOUGH_UPDATES, TIMES = 200, 3  # of a longer run
RISEN, SOME_RISEN = 1.5, 1.1  # times the lowest loss on dev; the latter where the score has fallen too
RISE_TO_SEE = 0.1  # share of the first loss on dev: of tiny losses no rise matters
LEARNED = 0.7  # share of the first epoch's loss on the training rows that is left

DATA = "--data"  # the option that names the folder of the data
RECIPES = Path(__file__).parents[1] / "recipes"
Words = tuple[str, ...]  # of a command, behind `finetune`


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A reason why a model is bad: its `name`, `evidence` in a sentence with the figures that show it, and the command
    that comes next, in words behind `finetune`. The card says what `notes` of the record say.
    """

    name: str
    evidence: str
    words: Words = ()
    notes: Words = ()

    @property
    def command(self) -> str:
        """The next command, quoted for a shell; empty where the record does not tell enough to write one."""
        return shlex.join(["finetune", *self.words]) if self.words else ""

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"


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

    @property
    def notes(self) -> frozenset[str]:
        """The notes of the record that the card of the first cause says too."""
        return frozenset(self.causes[0].notes if self.causes else ())

    def for_runs_in(self, out: Path) -> "Diagnosis":
        """With commands that name the folder of the runs, where that is not the usual one."""
        if out == RESULTS:
            return self
        causes = [replace(one, words=(*one.words, "--out", str(out)) if one.words else ()) for one in self.causes]
        return Diagnosis(causes=tuple(causes))

    def __bool__(self) -> bool:
        return bool(self.causes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.causes)) or "no cause found"


class Figures:
    """A record, and what follows from it.

    `folder` is that of the run, whose recipe file a command may name, and `runs` how many differ from it in their seeds
    alone, it included. Losses are finite and of each epoch, and of updates on the labels; else there are none. `rate`
    is the peak learning rate, None where the schedule, or a solver that is not Adam, gives the number another meaning.
    `ranks` are the headline score after each epoch, of which more is better; NaN where it is undefined.
    """

    def __init__(self, record: RunRecord, folder: RunFolder | None, runs: int) -> None:
        self.record, self.folder, self.runs = record, folder, runs
        self.split = record.first_split
        self.verdict = verdict_of([record])
        self.metric = record.metric(record.headline)
        self.is_better = self.verdict.level == "better"
        of_all = self.metric.scale == Metric.scale and self.metric.greater_is_better
        self.is_good = self.is_better or (of_all and record.score >= NEARLY_ALL)
        self.train: dict[str, Any] = record.recipe.get("train", {})
        solver = self.train.get("solver", "adam")
        self.by_updates = solver in ADAM
        self.losses = self._finite("loss")
        self.dev_losses = self._finite("dev_loss")
        self.ranks = [self.metric.rank(epoch["headline"]) for epoch in record.epochs]
        self.updates = record.updates
        if self.updates is None:
            batches = record.features.get("train", 0) / int(self.train.get("batch_size", 32))
            self.updates = len(record.epochs) * math.ceil(batches)
        adam = solver in ADAM and self.train.get("schedule", "linear") != "noam"  # of earlier versions
        self.rate: float | None = self.train.get("learning_rate") if adam else None

    def _finite(self, name: str) -> list[float]:
        values = [epoch.get(name) for epoch in self.record.epochs] if self.by_updates else []
        known = [value for value in values if value is not None and math.isfinite(value)]
        return known if len(known) == len(values) else []

    @property
    def noise(self) -> float:
        """Half the 95 % interval of the headline on the first split: a difference that chance can make."""
        margin = self.record.margins.get(self.split)
        if margin is None or margin.interval is None:
            return LEAST_NOISE * (abs(self.record.score) if self.metric.scale != Metric.scale else 1.0)
        return abs(margin.interval[1] - margin.interval[0]) / 2

    @property
    def usual_rate(self) -> float:
        """The learning rate that fits an encoder of this size."""
        recipe, weights = self.record.recipe, self.record.parameters.get("all", 0)
        if recipe.get("frozen"):
            return FROZEN_RATE
        known = next(rate for least, rate in USUAL_RATES if weights >= least)
        rate = known if weights else default_rate(self.record.model)
        return max(rate, LORA_RATE) if recipe.get("lora") else rate

    def off_rate(self) -> str:
        """`high` or `low` where the learning rate is far from the usual one, else empty."""
        if self.rate is None or self.usual_rate / FAR <= self.rate < self.usual_rate * FAR:
            return ""
        return "high" if self.rate > self.usual_rate else "low"

    @property
    def constant(self) -> str | None:
        """The one prediction of all rows; of a record that does not say, that of a baseline with the same scores."""
        record = self.record
        if record.observed is not None:
            return None if record.observed.constant is None else f"'{record.observed.constant}'"
        scores = record.scores[self.split]
        for name, given in record.baselines.get(self.split, {}).items():
            known = [metric for metric in given if metric in scores]
            if name in CONSTANT and known and all(math.isclose(given[one], scores[one]) for one in known):
                return f"by the baseline '{name}'"
        return None

    def noted(self, words: str) -> Words:
        """The notes of the record with these words."""
        return tuple(note for note in self.record.notes if words in note)

    def went(self, verb: str) -> str:
        """How the training loss changed, from the first epoch to the last."""
        losses = self.losses
        return f"{verb} from {losses[0]:.4g} to {losses[-1]:.4g}" if len(losses) > 1 else ""

    # Commands: what was typed for the run, with one thing changed.

    def again(self, changes: Mapping[str, Any], without: Sequence[str] = ()) -> Words:
        """The words that give the run again with these settings changed, and `without` others, `train.` all of a
        table's; empty where its recipe cannot be named.

        They are what was typed for it; where a grid gave it, or it is older, its own recipe file or its data with all
        settings that differ from their defaults.
        """
        words, dropped = self._typed(), (*changes, *without)
        if not words:
            return ()
        kept = [
            word
            for word in words[1:]
            if not any(_key(word) == name or (name[-1] == "." and _key(word).startswith(name)) for name in dropped)
        ]
        seen = self.record.observed
        folder = (DATA, seen.data_folder) if seen is not None and seen.data_folder else ()
        return ("run", words[0], *kept, *typed_settings(changes), *folder)

    def _typed(self) -> Words:
        record = self.record
        if record.observed is not None and record.observed.typed:
            return tuple(record.observed.typed)
        file = None if self.folder is None else self.folder.path / "recipe.toml"
        if file is not None and file.is_file():
            return (str(file),)
        task, settings = str(record.recipe["task"]), {one.key: one.values[0] for one in settings_of([record])}
        target, base = (task, DEFAULTS) if is_data(task) else _shipped(task)
        given = {key: each for key, each in settings.items() if each not in (None, base.get(key, DEFAULTS.get(key)))}
        return (target, *typed_settings(given)) if target else ()

    def with_rate(self, rate: float = 0.0) -> Words:
        """The run again with another learning rate, by default the usual one; empty where that has another meaning."""
        return () if self.rate is None else self.again({"train.learning_rate": rate or self.usual_rate})

    def longer(self) -> Words:
        """The run again, three times as long or more, in the unit that its length has; empty where it has none."""
        if not self.by_updates:
            return ()
        updates = self.updates or 0
        wanted = max(TIMES * updates, ENOUGH_UPDATES)
        if self.train.get("updates"):
            return self.again({"train.updates": wanted})
        epochs = max(1, len(self.record.epochs))
        batches = math.ceil(self.record.features.get("train", 0) / self.train.get("batch_size", 32))
        return self.again(
            {"train.epochs": max(TIMES * epochs, math.ceil(wanted / max(1, batches or updates / epochs)))}
        )

    def checked(self) -> Words:
        """The words that list what is wrong with the rows: of the user's data `check`, else the report, which has the
        rows of dev whose labels may be wrong.
        """
        task, options = str(self.record.recipe["task"]), self.record.recipe.get("options") or {}
        if not (is_data(task) or options.get("shape")):  # from another folder its file is not seen
            return ("report", self.record.id)
        options = {name: value for name, value in options.items() if name in OPTIONS}
        typed = self.record.observed.typed if self.record.observed is not None else []
        if typed and typed[0] == task:  # else it was a recipe's file, which has some of them
            options = {name: value for name, value in options.items() if name in {_key(word) for word in typed[1:]}}
        return ("check", task, *typed_settings(options))

    @property
    def contrasts(self) -> bool:
        """Whether a contrastive first step is for such data: it draws as many rows of each label, scores by folds."""
        recipe = self.record.recipe
        kind = data_types().get(str((recipe.get("options") or {}).get("shape", "")))
        return (
            kind is not None
            and kind.closed_labels
            and kind.labels_rows
            and self.by_updates
            and not recipe.get("frozen")
        )

    def contrasted(self) -> Words:
        """The run again with the preset, which sets how it is trained; all layers where it cannot freeze the first two:
        they are random, or shared, or there are no others.
        """
        config: dict[str, Any] = {}
        if self.folder is not None and (file := self.folder.model / "config.json").is_file():
            config = json.loads(file.read_text(encoding="utf-8"))
        layers = config.get("num_hidden_layers", config.get("n_layers", math.inf))
        random = str(self.record.recipe.get("model", "")).startswith("new:")
        whole = random or config.get("model_type") == "albert" or layers <= FROZEN
        changes = {"preset": "few-labels"} | ({"freeze_layers": 0} if whole else {})
        return self.again(changes, without=["train.", "distil."])


def _shipped(task: str) -> tuple[str, dict[str, Any]]:
    """A built-in recipe for a task, by its name and with its settings; nothing where there is none."""
    for file in sorted(RECIPES.glob("*.toml")):
        recipe = load_recipe(file)
        if recipe.task == task and not recipe.grid:
            return file.stem, flat(recipe.model_dump(exclude={"grid", "task"}))
    return "", {}


def _key(word: str) -> str:
    return word.partition("=")[0].removeprefix("options.")


def other_language(found: Figures) -> Cause | None:
    """The encoder's vocabulary does not fit the texts."""
    notes = found.noted(MISFIT)
    if not notes:
        return None
    what, _, remedy = notes[0].partition(". ")
    encoder = suggested_encoder(notes)
    words = found.again({"model": encoder}, without=["tokenizer"]) if encoder else ()
    evidence = what if words else f"{what} ({remedy})"
    return Cause(name="encoder of another language", evidence=evidence, words=words, notes=notes)


def contradictions(found: Figures) -> Cause | None:
    """Many training rows have the text of another row, and a different label."""
    count = 0 if found.record.observed is None else found.record.observed.contradicted or 0
    rows = min(found.record.rows.get("train", 0), MOST_COMPARED)
    if not count or not rows or count < rows * (MANY_CONTRADICT if found.is_better else SOME_CONTRADICT):
        return None
    evidence = f"{count:,} of {rows:,} training rows have the text of another row and a different label"
    return Cause(name="labels that contradict each other", evidence=evidence, words=found.checked())


def no_step(found: Figures) -> Cause | None:
    """The learning rate is so low that no weight can have moved."""
    rate, updates = found.rate, found.updates or 0
    if rate is None or not found.losses or rate * updates >= NO_STEP or found.is_good:
        return None
    moved = f"{updates:,} updates with train.learning_rate {rate:g} move no weight by more than {rate * updates:.1g}"
    return Cause(name="loss never fell", evidence=f"{moved}{found.went('; the loss went')}", words=found.with_rate())


def one_class_by_rate(found: Figures) -> Cause | None:
    """One prediction for all rows, after a learning rate that is far too high."""
    if found.rate is None or found.rate < VERY_HIGH * found.usual_rate:
        return None
    return one_class(found)


def one_class(found: Figures) -> Cause | None:
    """One prediction for all rows of dev, whose labels differ."""
    record, constant = found.record, found.constant
    if record.is_pretraining or constant is None:
        return None
    counts = record.labels.get("train", {})
    frequent = max(counts, key=lambda name: counts[name], default="")
    share = counts.get(frequent, 0) / max(1, record.rows.get("train", 0))
    evidence = f"each of the {record.rows.get(found.split, 0):,} rows of {found.split} is predicted as {constant}"
    evidence += f", which {share:.0%} of the training rows have" * (f"'{frequent}'" == constant)
    words = found.longer()
    if off := found.off_rate():
        evidence, words = f"{evidence}; train.learning_rate {found.rate:g} is {off}", found.with_rate()
    return Cause(name="collapsed to one class", evidence=evidence, words=words)


def texts_cut(found: Figures) -> Cause | None:
    """Many texts were longer than `max_length`."""
    record, share = found.record, max(found.record.truncated.values(), default=0.0)
    if record.is_pretraining or share < (MANY_CUT if found.is_better else SOME_CUT):
        return None
    length, seen = record.recipe.get("max_length", 0), record.observed
    fitting, most = (0, USUAL_TOKENS) if seen is None else (seen.fitting_length, seen.longest_length or USUAL_TOKENS)
    evidence = f"{percent(share)} of the texts are longer than max_length {length}"
    words: Words = ()
    if length >= most:
        evidence += ", which is all that this encoder reads: choose one for longer texts"
    else:
        evidence += f"; nearly all have at most {fitting:,} tokens" * (fitting > length)
        words = found.again({"max_length": min(fitting if fitting > length else 2 * length, most)})
    notes = found.noted(f"longer than max_length {length}")
    return Cause(name="texts cut", evidence=evidence, words=words, notes=notes)


def few_rows_of_a_class(found: Figures) -> Cause | None:
    """Labels with few rows that dev has, and of which no row was predicted right, while others were."""
    record, split = found.record, found.split
    counts, every = record.labels.get("train", {}), record.rows.get("train", 0)
    there, scores = record.labels.get(split, {}), record.scores[split]
    missed = {name: counts.get(name, 0) for name in there if scores.get(f"{name}/recall", 1.0) == 0.0}
    few = all(rows < ROWS_TO_LEARN or (rows < RARE and rows < RARE_SHARE * every) for rows in missed.values())
    if not missed or not few or len(missed) == len(there):
        return None
    named = first_of([f"'{name}' ({so_many(rows, 'row')} of {every:,})" for name, rows in missed.items()], 3)
    evidence = f"{named}: none of {noun(len(missed), 'its', 'their')} rows in {split} was found"
    words = found.contrasted() if found.contrasts and every <= MOST_CONTRASTED else found.checked()
    return Cause(name="too few rows of a class", evidence=evidence, words=words)


def loss_never_fell(found: Figures) -> Cause | None:
    """No epoch had a lower loss than the first."""
    losses, rate, usual = found.losses, found.rate, found.usual_rate
    if len(losses) < 2 or found.is_good or min(losses) < (1 - FLAT) * losses[0]:
        return None
    if (found.updates or 0) < FEW_UPDATES and rate is not None and rate >= usual / FAR:
        return None
    typed = found.record.observed.typed if found.record.observed is not None else []
    given = any(word.startswith("train.learning_rate=") for word in typed)
    if given and rate is not None and usual / FAR <= rate <= usual * FAR:  # else one rate would follow another
        words = found.longer()
    elif rate is not None and usual / FAR < rate <= usual:
        words = found.with_rate(rate / FAR)
    else:
        words = found.with_rate()
    return Cause(name="loss never fell", evidence=f"over {len(losses)} epochs{found.went(' it went')}", words=words)


def under_trained(found: Figures) -> Cause | None:
    """Training ended while the loss was falling."""
    losses, dev, rate = found.losses, found.dev_losses, found.rate
    if found.record.is_pretraining or found.is_good or not losses or not _still_falls(found):
        return None
    evidence = f"after {found.updates:,} updates the loss was still falling"
    evidence += f", from {losses[0]:.3g} to {losses[-1]:.3g}" if len(losses) > 1 else f", {losses[0]:.3g} on average"
    evidence += f", and on dev {dev[-1]:.3g}" if dev else ""
    words = found.longer()
    if rate is not None and rate <= found.usual_rate / FAR:
        evidence, words = f"{evidence}; train.learning_rate {rate:g} is low", found.with_rate()
    return Cause(name="under-trained", evidence=evidence, words=words)


def _still_falls(found: Figures) -> bool:
    losses, dev, collapsed = found.losses, found.dev_losses, found.constant is not None
    if (found.updates or 0) < FEW_UPDATES:
        return True
    if len(losses) == 1:
        return bool(dev and dev[0] < (1 - FALLEN) * losses[0])
    if losses[-1] >= losses[-2] or losses[-1] > (1 - FLAT) * losses[0]:
        return False
    if losses[-1] < STILL_HIGH * losses[0] and not collapsed:
        return False
    if dev:
        return dev[-1] == min(dev) and dev[-1] <= (1 - (SURELY_FALLS if collapsed else STILL_FALLS)) * dev[-2]
    gained = found.ranks[-1] - found.ranks[-2]
    return found.verdict.level == "worse" and found.ranks[-1] == max(found.ranks) and gained > found.noise / 2


def over_fitted(found: Figures) -> Cause | None:
    """The loss on dev rose after an epoch while that of training fell, and the saved weights are of a later one, though
    those of an earlier one scored better.
    """
    dev, losses, ranks, last = found.dev_losses, found.losses, found.ranks, found.record.selected_epoch
    if len(dev) != len(losses) or not 1 < last <= len(dev):
        return None
    if found.train.get("select") == "best" or max(ranks[:last]) <= ranks[last - 1]:
        return None  # `select=best` would keep the same weights
    best = min(range(last), key=lambda epoch: dev[epoch]) + 1
    rose, lost = dev[last - 1] / max(dev[best - 1], 1e-9), ranks[best - 1] - ranks[last - 1]
    lost = 0.0 if math.isnan(lost) else lost
    if best == last or losses[last - 1] > LEARNED * losses[0] or dev[last - 1] - dev[best - 1] < RISE_TO_SEE * dev[0]:
        return None
    not_gained = lost >= (0 if found.is_better else -found.noise)
    if not ((rose >= RISEN and not_gained) or (rose >= SOME_RISEN and lost > found.noise)):
        return None
    shown = [found.metric.shown(found.record.epochs[epoch - 1]["headline"]) for epoch in (best, last)]
    evidence = f"then the loss on dev rose from {dev[best - 1]:.3g} to {dev[last - 1]:.3g} and that of training fell "
    evidence += f"from {losses[best - 1]:.3g} to {losses[last - 1]:.3g}; {found.record.headline} was {shown[0]}, and is"
    few = found.record.rows.get(found.split, 0) < DEV_TO_CHOOSE and found.record.updates is None
    words = found.again({"train.epochs": best} if few else {"train.select": "best"})
    return Cause(name=f"over-fitted after epoch {best}", evidence=f"{evidence} {shown[1]}", words=words)


def small_dev(found: Figures) -> Cause | None:
    """Dev, and test, have too few rows to tell a good model from a bad one by."""
    record, split = found.record, found.verdict.split
    rows = record.rows.get(split, 0)
    told = found.is_good or found.noise < WIDE * (found.metric.scale == Metric.scale)
    if record.is_pretraining or rows >= FEW_ROWS or (told and rows >= TOO_FEW_TO_TELL):
        return None
    shown, interval = found.metric.shown, found.verdict.interval
    between = "" if interval is None else f" (95 %: {' to '.join(map(shown, interval))})"
    evidence = f"{split} has {so_many(rows, 'row')}, and {record.headline} is {shown(found.verdict.score)}{between}"
    words = _larger_dev(found)
    evidence += "" if words else f"; label more of them: {FEW_ROWS} or more tell more"
    notes = found.noted("too few to tell a good model")
    return Cause(name="dev too small to tell", evidence=evidence, words=words, notes=notes)


def _larger_dev(found: Figures) -> Words:
    """Dev drawn from the training rows instead of a small file; of few rows the score by folds where there is one, else
    the mean of seeds. Nothing where each seed gives the same, or there are several: only more labels help.
    """
    record = found.record
    given_dev = (record.recipe.get("options") or {}).get("dev")
    least = max(TOO_FEW_TO_TELL, TIMES_LARGER * record.rows.get(found.split, 0))
    if given_dev and DEV_SHARE * record.rows.get("train", 0) >= least:
        return found.again({}, without=["dev"])
    if found.contrasts and "test" not in record.scores and not given_dev:
        return found.contrasted()
    again = found.again({}) if found.by_updates and found.runs == 1 else ()
    return (*again, "--seeds", SEEDS) if again else ()


# The order decides which cause is the first. Facts of the rows and settings that cannot work come before what is seen
# in the losses: cut or contradicting rows make a model collapse or over-fit, and the reverse is never so.
RULES = (
    other_language,
    contradictions,
    no_step,
    one_class_by_rate,
    texts_cut,
    few_rows_of_a_class,
    loss_never_fell,
    under_trained,
    one_class,
    over_fitted,
    small_dev,
)


def diagnosis_of(record: RunRecord, folder: RunFolder | None = None, *, runs: int = 1) -> Diagnosis:
    """The causes that the record of a finished run shows; `folder` has the recipe file that a command may name, and
    `runs` is how many there are that differ in their seeds alone.
    """
    figures = Figures(record, folder, runs)
    found: dict[str, Cause] = {}
    for rule in RULES:
        if (cause := rule(figures)) is not None:
            found.setdefault(cause.name, cause)
    return Diagnosis(causes=tuple(found.values()))


def diagnosis_of_seeds(runs: Sequence[tuple[RunRecord, RunFolder | None]]) -> Diagnosis:
    """The first that shows the most frequent cause of runs which differ in their seeds alone, where half of them or
    more have it; the evidence says how many.
    """
    every = len(runs)
    found = [diagnosis_of(record, folder, runs=every) for record, folder in runs]
    kinds = [re.sub(r"\d+", "", one.cause) for one in found]  # the epoch in a cause differs between seeds
    counts = Counter(kind for kind in kinds if kind)
    kind, count = counts.most_common(1)[0] if counts else ("", 0)
    if 2 * count < every:
        return Diagnosis()
    first = found[kinds.index(kind)]
    if count == every:
        return first
    of_some = replace(first.causes[0], evidence=f"{count} of {every} runs: {first.causes[0].evidence}")
    return Diagnosis(causes=(of_some, *first.causes[1:]))
