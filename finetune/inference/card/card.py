"""The text of a card, from its head to its limits, and its file in the model's folder. Read this file first.

The file is not among the checksums of the model, since it may be written again: with more seeds, with exports, or by
hand. Its last line tells whether a person has changed it, which is then not replaced.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from finetune.data.atomic import require_no_link, require_written, write_atomically
from finetune.data.checksums import ABOUT
from finetune.errors import THEIRS, UserError, first_line
from finetune.inference.card.about import data, exports, labels, training, ways_to_call, what_it_answers
from finetune.inference.card.described import DescribedRun, name_of_run
from finetune.inference.card.known_exports import known_export
from finetune.inference.card.limits import (
    about_baseline,
    about_choices,
    about_classes,
    about_labels,
    about_lengths,
    about_rows,
)
from finetune.inference.card.markdown import bullets, code, escaped, section
from finetune.inference.card.metadata import metadata_yaml
from finetune.inference.card.results import errors, examples, scores
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records
from finetune.runs.seeds import same_but_seeds
from finetune.task_types.marked_text import clean

PARTS = (what_it_answers, ways_to_call, scores, errors, examples, labels, data, training, exports)
MARK = re.compile(r"\n<!-- finetune card ([0-9a-f]{16}) -->\n\Z")


def card_text(run: DescribedRun) -> str:
    """The card in Markdown, after its head in YAML."""
    title = f"# {code(run.told.task)}"
    text = "\n\n".join(part for part in (title, *(part(run) for part in PARTS), limits(run)) if part)
    card = clean(f"---\n{metadata_yaml(run)}\n---\n\n{text}\n")
    return f"{card}\n<!-- finetune card {_digest(card)} -->\n"


def limits(run: DescribedRun) -> str:
    """What follows from the run's numbers."""
    record, classes = run.record, [] if run.view is None else run.view.classes()
    points = [
        *about_baseline(run.every_seed),
        *about_choices(record),
        *about_rows(record),
        *about_labels(record),
        *about_classes(classes, run.split),
        *about_lengths(record, run.view, run.split),
    ]
    return section("Limits", bullets(map(escaped, points)))


def describe_run(
    folder: RunFolder, *, exports: Sequence[Path] = (), with_examples: bool = False, hub_name: str = ""
) -> DescribedRun:
    """A finished run with its seeds and exports; with a name on the Hub its model is called by that.

    Raises UserError for a run without a model, and for an export that is not of it.
    """
    record = load_record(folder.record_file)
    model = folder.require_model()
    files = sorted(folder.path.resolve().parent.glob("*/record.json"))
    others = [other for _, other in readable_records(files, load_record)]
    name = name_of_run(folder.path)
    return DescribedRun(
        folder=folder, record=record, name=hub_name or name, weights=hub_name or f"{name}/{model.name}",
        seeds=same_but_seeds(record, others), exports=[known_export(one, model, record.id) for one in exports],
        with_examples=with_examples,
    )  # fmt: skip


def write_card(run: DescribedRun, *, force: bool = False) -> Path:
    """Writes the card into the model's folder. Raises UserError where a person has changed the one that is there."""
    file = run.folder.model / ABOUT
    require_no_link(file)
    if is_edited(file) and not force:
        raise UserError(f"{file}: was changed since it was written", "Move it away, or replace it with `force`")
    with require_written(file):
        write_atomically(file, card_text(run))
    return file


def save_first_card(folder: RunFolder, record: RunRecord, *, home: Path, watch: Watcher) -> None:
    """Writes the card of a run that is about to be finished in `folder` and will be in `home`.

    It tells of this run alone, not of other seeds, so that equal runs have equal cards. No trained model is lost
    because its card cannot be made, as of a plugin's type: that is a note.
    """
    name = name_of_run(home)
    run = DescribedRun(folder=folder, record=record, name=name, weights=f"{name}/{folder.model.name}")
    try:
        write_atomically(folder.model / ABOUT, card_text(run))
    except THEIRS:
        raise
    except Exception as error:
        watch(Note(f"the model has no card ({first_line(error)}); finetune card {record.id} writes it"))


def is_edited(file: Path) -> bool:
    """Whether a card is there that is not as it was written."""
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8", errors="replace")
    found = MARK.search(text)
    return found is None or found[1] != _digest(text[: found.start()])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
