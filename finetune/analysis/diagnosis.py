"""Why a run's model is bad: causes with their evidence and the next command, from the run's record alone.

A rule is a function of the figures of a record, which gives a cause or None; RULES has them in their order.
Task types and encoders are imported by the few rules that ask about them: `finetune show` has to be fast.
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from finetune.analysis.run_figures import FAR, Figures, Words
from finetune.data.messages import first_of, percent, so_many
from finetune.runs.folder import RESULTS, RunFolder
from finetune.runs.record import MOST_COMPARED, RunRecord
from finetune.runs.verdict import FEW_ROWS

WIDE = 0.1  # half an interval, of a score from 0 to 1, that shows little
MANY_CONTRADICT, SOME_CONTRADICT = 0.1, 0.05  # shares of the training rows; the latter if the model is bad
MANY_CUT, SOME_CUT = 0.6, 0.3  # the same of truncated features
ROWS_TO_LEARN, RARE, RARE_SHARE = 10, 25, 0.05  # few rows of any label, and of a label with less than a share of all
TOO_FEW_TO_TELL, TIMES_LARGER = 20, 2  # rows of dev whose interval is over 30 points; of drawn dev rows, than a file
USUAL_TOKENS = 512  # positions of an encoder whose record lacks them
FLAT, FALLEN, STILL_HIGH = 0.01, 0.03, 0.5  # shares of the first loss: never lost, begun to be lost, left after little
STILL_FALLS = 0.002  # share by which the last epoch lowered the loss on dev
FEW_UPDATES = 50  # after which a new head is near random
RISEN, SOME_RISEN = 1.5, 1.1  # times the lowest loss on dev; the latter if the score has fallen too
RISE_TO_SEE, LEARNED = 0.1, 0.7  # shares of the first loss: on dev, below which no rise matters; on training rows


@dataclass(frozen=True)
class Cause:
    """A reason why a model is bad, its evidence in a sentence, and the words of the next command.

    `notes` are the notes of the record with the same evidence.
    """

    name: str
    evidence: str
    words: Words = ()
    notes: Words = ()

    @property
    def command(self) -> str:
        """The next command, quoted for a shell; empty if the record lacks the facts for one."""
        return shlex.join(["finetune", *self.words]) if self.words else ""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The causes that a run's record shows, the most certain first; none for a good run.

    Example: `print(run.diagnosis); run.diagnosis.command`
    """

    causes: tuple[Cause, ...] = ()

    @property
    def cause(self) -> str:
        """The name of the first cause; empty without one."""
        return self.causes[0].name if self.causes else ""

    @property
    def command(self) -> str:
        """The next command for the first cause; empty without one."""
        return self.causes[0].command if self.causes else ""

    def for_runs_in(self, out: Path) -> "Diagnosis":
        """With commands that name the folder of the runs, if it is not the usual one."""
        place = () if out.resolve() == RESULTS.resolve() else ("--out", str(out))
        return Diagnosis(
            causes=tuple(replace(cause, words=cause.words and cause.words + place) for cause in self.causes)
        )

    def __bool__(self) -> bool:
        return bool(self.causes)

    def __str__(self) -> str:
        return "\n".join(f"{cause.name}: {cause.evidence}" for cause in self.causes) or "no cause found"


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
    """Labels of dev with few training rows, none of which was predicted right, while other labels were."""
    rows_of_all, scores = run.train_rows, run.record.scores[run.split]
    counts, in_dev = run.record.labels.get("train", {}), run.record.labels.get(run.split, {})
    missed = {name: counts.get(name, 0) for name in in_dev if scores.get(f"{name}/recall", 1.0) == 0.0}
    few = all(rows < ROWS_TO_LEARN or rows < min(RARE, RARE_SHARE * rows_of_all) for rows in missed.values())
    if not missed or not few or len(missed) == len(in_dev):
        return None
    named = first_of([f"'{name}' ({so_many(rows, 'row')} of {rows_of_all:,})" for name, rows in missed.items()], 3)
    return Cause("too few rows of a class", f"{named}: none was found in {run.split}", run.checked())


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
    return run.verdict.level == "worse" and run.ranks[-1] == max(run.ranks)


def one_class(run: Figures) -> Cause | None:
    """One prediction for all rows of dev, whose labels differ."""
    if run.record.is_pretraining or run.seen.constant is None:
        return None
    evidence = f"each of the {run.dev_rows:,} rows of {run.split} is predicted as '{run.seen.constant}'{run.off_rate}"
    words = run.with_rate() if run.off_rate else run.longer()
    return Cause("collapsed to one class", evidence, words)


def over_fitted(run: Figures) -> Cause | None:
    """The loss on dev rose after an epoch, the training loss fell, and weights of a later epoch were saved, which
    scored worse.
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

    before, after = (run.metric.shown(run.record.epochs[epoch - 1]["headline"]) for epoch in (best, last))
    evidence = (
        f"then the loss on dev rose from {dev[best - 1]:.3g} to {dev[last - 1]:.3g} and that of training fell from "
        f"{losses[best - 1]:.3g} to {losses[last - 1]:.3g}; {run.record.headline} was {before}, and is {after}"
    )
    few = run.dev_rows < DEV_TO_CHOOSE and run.record.updates is None
    words = run.again({"train.epochs": best} if few else {"train.select": "best"})
    return Cause(f"over-fitted after epoch {best}", evidence, words)


def small_dev(run: Figures) -> Cause | None:
    """Dev, and test, have too few rows to distinguish a good model from a bad one."""
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
    """The run with dev drawn from the training rows instead of a small file, else with several seeds.

    Empty if each seed gives the same, or if there are several: only more labels help.
    """
    if run.options.get("dev"):
        from finetune.task_types.dev_split import DEV_SHARE

        if DEV_SHARE * run.train_rows >= max(TOO_FEW_TO_TELL, TIMES_LARGER * run.dev_rows):
            return run.again({}, without=["dev"])
    again = run.again({}) if run.by_updates and run.runs == 1 else ()
    return (*again, "--seeds", "5") if again else ()


# The order decides which cause is the first. Facts of the rows, and settings that cannot work, come before symptoms in
# the losses: cut or contradicting rows make a model collapse or over-fit, never the reverse.
RULES = (
    other_language, contradictions, texts_cut, few_rows_of_a_class, loss_never_fell, under_trained, one_class,
    over_fitted, small_dev,
)  # fmt: skip


def diagnosis_of(record: RunRecord, folder: RunFolder | None = None, *, runs: int = 1) -> Diagnosis:
    """The causes that the record of a finished run shows.

    `folder` has the recipe file that a command may name; `runs` is the number of runs that differ in seeds alone.
    """
    figures = Figures(record, folder, runs)
    return Diagnosis(causes=tuple(cause for rule in RULES if (cause := rule(figures)) is not None))


def diagnosis_of_seeds(runs: Sequence[tuple[RunRecord, RunFolder | None]]) -> Diagnosis:
    """The diagnosis of the first run with the most frequent cause, of runs that differ in their seeds alone.

    None if less than half of them have it; the evidence has their number.
    """
    diagnoses = [diagnosis_of(record, folder, runs=len(runs)) for record, folder in runs]
    kinds = [
        re.sub(r"\d+", "", diagnosis.cause) for diagnosis in diagnoses
    ]  # the epoch in a cause differs between seeds
    (kind, count), *_ = [*Counter(filter(None, kinds)).most_common(1), ("", 0)]
    if 2 * count < len(runs):
        return Diagnosis()
    first = diagnoses[kinds.index(kind)]
    if count == len(runs):
        return first
    cause = replace(first.causes[0], evidence=f"{count} of {len(runs)} runs: {first.causes[0].evidence}")
    return Diagnosis(causes=(cause, *first.causes[1:]))
