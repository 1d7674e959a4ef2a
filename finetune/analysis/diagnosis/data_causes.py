"""Causes in the data: what no setting of the training can make good."""

import json
import math

from finetune.analysis.diagnosis.cause import Cause
from finetune.analysis.diagnosis.commands import checked, given_option, run_again
from finetune.analysis.diagnosis.figures import Figures
from finetune.data.messages import first_of, noun, percent, so_many
from finetune.metrics.metric import Metric
from finetune.runs.recipe_tables import BY_LABELS
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import MOST_COMPARED
from finetune.runs.verdict import FEW_ROWS
from finetune.task_types.dev_split import DEV_SHARE
from finetune.task_types.types import data_types
from finetune.task_types.vocabulary import MISFIT, suggested_encoder

MANY_CONTRADICT, SOME_CONTRADICT = 0.1, 0.05  # shares of the training rows; some are named where the model is bad
MANY_CUT, SOME_CUT = 0.6, 0.3  # the same of truncated features
ROWS_TO_LEARN = 10  # rows that a label needs to be learned
RARE, RARE_SHARE = 25, 0.05  # rows that are few for a label that has less than this share of all
TOO_FEW_TO_TELL = 20  # rows of dev, of which the interval of a score is wider than 30 points
WIDE = 0.1  # of half an interval that tells little
TIMES_LARGER = 2  # than a dev file is one that is drawn instead
MOST_CONTRASTED = 2_000  # training rows that a contrastive first step is for
USUAL_TOKENS = 512  # at most, of an encoder whose record does not say
FROZEN = 2  # layers that preset=few-labels freezes
SEEDS = "5"  # of a run whose dev cannot be enlarged


def other_language(found: Figures) -> Cause | None:
    """The encoder's vocabulary does not fit the texts."""
    notes = found.noted(MISFIT)
    if not notes:
        return None
    what, _, remedy = notes[0].partition(". ")
    encoder = suggested_encoder(notes)
    words = run_again(found.record, found.folder, {"model": encoder}, without=["tokenizer"]) if encoder else ()
    evidence = what if words else f"{what} ({remedy})"
    return Cause(name="encoder of another language", evidence=evidence, words=words, notes=notes)


def contradictions(found: Figures) -> Cause | None:
    """Many training rows have the text of another row, and a different label."""
    record = found.record
    if record.observed is None or not (count := record.observed.contradicted):
        return None
    rows = min(record.rows.get("train", 0), MOST_COMPARED)
    if not rows or count < rows * (SOME_CONTRADICT if not found.is_better else MANY_CONTRADICT):
        return None
    evidence = f"{count:,} of {rows:,} training rows have the text of another row and a different label"
    return Cause(name="labels that contradict each other", evidence=evidence, words=checked(record))


def texts_cut(found: Figures) -> Cause | None:
    """Many texts were longer than `max_length`."""
    record, share = found.record, max(found.record.truncated.values(), default=0.0)
    if record.is_pretraining or share < (MANY_CUT if found.is_better else SOME_CUT):
        return None
    length, seen = record.recipe.get("max_length", 0), record.observed
    fitting, most = (0, USUAL_TOKENS) if seen is None else (seen.fitting_length, seen.longest_length or USUAL_TOKENS)
    evidence = f"{percent(share)} of the texts are longer than max_length {length}"
    notes = found.noted(f"longer than max_length {length}")
    if length >= most:
        evidence += ", which is all that this encoder reads: choose one for longer texts"
        return Cause(name="texts cut", evidence=evidence, notes=notes)
    evidence += f"; nearly all have at most {fitting:,} tokens" * (fitting > length)
    words = run_again(record, found.folder, {"max_length": min(fitting if fitting > length else 2 * length, most)})
    return Cause(name="texts cut", evidence=evidence, words=words, notes=notes)


def few_rows_of_a_class(found: Figures) -> Cause | None:
    """Labels with few rows that dev has, and of which no row was predicted right, while others were."""
    record, split = found.record, found.record.first_split
    counts, every = record.labels.get("train", {}), record.rows.get("train", 0)
    scores = record.scores[split]
    missed = [name for name in record.labels.get(split, {}) if scores.get(f"{name}/recall", 1.0) == 0.0]
    few = [name for name in missed if _is_few(counts.get(name, 0), every)]
    if not few or len(few) < len(missed) or len(missed) == len(record.labels.get(split, {})):
        return None
    named = first_of([f"'{name}' ({so_many(counts.get(name, 0), 'row')} of {every:,})" for name in few], 3)
    evidence = f"{named}: none of {noun(len(few), 'its', 'their')} rows in {split} was found"
    words = _contrasted(found) if _contrasts(record) and every <= MOST_CONTRASTED else checked(record)
    return Cause(name="too few rows of a class", evidence=evidence, words=words)


def _is_few(rows: int, every: int) -> bool:
    return rows < ROWS_TO_LEARN or (rows < RARE and rows < RARE_SHARE * every)


def small_dev(found: Figures) -> Cause | None:
    """Dev, and test, have too few rows to tell a good model from a bad one by."""
    record, split = found.record, found.verdict.split
    rows = record.rows.get(split, 0)
    told = found.is_better or found.is_right or found.noise < WIDE * (found.metric.scale == Metric.scale)
    if record.is_pretraining or rows >= FEW_ROWS or (told and rows >= TOO_FEW_TO_TELL):
        return None
    shown, interval = found.metric.shown, found.verdict.interval
    between = "" if interval is None else f" (95 %: {' to '.join(map(shown, interval))})"
    evidence = f"{split} has {so_many(rows, 'row')}, and {record.headline} is {shown(found.verdict.score)}{between}"
    notes, words = found.noted("too few to tell a good model"), _larger_dev(found)
    evidence += "" if words else f"; label more of them: {FEW_ROWS} or more tell more"
    return Cause(name="dev too small to tell", evidence=evidence, words=words, notes=notes)


def _larger_dev(found: Figures) -> tuple[str, ...]:
    """Dev drawn from the training rows instead of a small file; of few rows the score by folds where there is one, else
    the mean of seeds. Nothing where each seed gives the same, or there are several: only more labels help.
    """
    record = found.record
    drawn = DEV_SHARE * record.rows.get("train", 0)
    if given_option(record, "dev") and drawn >= max(TOO_FEW_TO_TELL, TIMES_LARGER * found.dev_rows):
        return run_again(record, found.folder, {}, without=["dev"])
    if _contrasts(record) and "test" not in record.scores and not given_option(record, "dev"):
        return _contrasted(found)
    if not found.trains_by_updates or found.runs > 1:
        return ()
    again = run_again(record, found.folder, {})
    return (*again, "--seeds", SEEDS) if again else ()


def _contrasted(found: Figures) -> tuple[str, ...]:
    """The run again with the preset, which sets how it is trained; all layers where it cannot freeze the first two."""
    changes = {"preset": "few-labels"} | ({} if _freezes_two(found) else {"freeze_layers": 0})
    return run_again(found.record, found.folder, changes, without=["train.", "distil."])


def _freezes_two(found: Figures) -> bool:
    """Whether two layers of the encoder can be frozen, as far as the saved model tells."""
    if str(found.record.recipe.get("model", "")).startswith("new:"):
        return False  # its weights were random
    try:
        config = json.loads((found.folder.model / "config.json").read_text()) if found.folder else {}
    except (OSError, ValueError):
        return True
    layers = next((config[name] for name in ("num_hidden_layers", "n_layers") if name in config), math.inf)
    return config.get("model_type") != "albert" and layers > FROZEN


def _contrasts(record: RunRecord) -> bool:
    """Whether a contrastive first step is for such data: it draws as many rows of each label, and scores by folds."""
    recipe = record.recipe
    kind = data_types().get(str((recipe.get("options") or {}).get("shape", "")))
    trains = recipe.get("train", {}).get("solver", "adam") in BY_LABELS and not recipe.get("frozen")
    return kind is not None and kind.closed_labels and kind.labels_rows and trains
