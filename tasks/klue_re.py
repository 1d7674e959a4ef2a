"""KLUE's relation extraction (Park et al. 2021): which of 30 relations a sentence gives two entities, in Korean.

From the official JSON files, or the Hub's `klue/klue` (`re`). The two entities are marked as KLUE's own code does;
`entity_types = true` adds their types to the markers. The labels of the test set are hidden.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from finetune.data import Source, hub_rows
from finetune.data.file_format import FileFormat
from finetune.data.formats.json_document import FORMAT, load_json
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics import auprc, micro_f1_without
from finetune.task_types import EntitySpan, Rows, SentenceRow, SentenceTask, with_markers
from finetune.tasks.klue import HUB, REPOSITORY, folders, official_file

MARKERS = ("<subj>", "<obj>")
NO_RELATION = "no_relation"
LABELS = (
    NO_RELATION,
    *("org:dissolved", "org:founded", "org:place_of_headquarters", "org:alternate_names", "org:member_of"),
    *("org:members", "org:political/religious_affiliation", "org:product", "org:founded_by"),
    *("org:top_members/employees", "org:number_of_employees/members", "per:date_of_birth", "per:date_of_death"),
    *("per:place_of_birth", "per:place_of_death", "per:place_of_residence", "per:origin", "per:employee_of"),
    *("per:schools_attended", "per:alternate_names", "per:parents", "per:children", "per:siblings", "per:spouse"),
    *("per:other_family", "per:colleagues", "per:product", "per:religion", "per:title"),
)


def read(source: Source, split: str) -> Rows:
    """The rows of a split, from the folder that the user named, else from the Hub."""
    file = official_file("klue-re", split)
    folder = source.find(folders("klue-re"), holds=file)
    if folder is not None:
        return _rows(load_official(folder / file), str(folder / file))
    found = hub_rows(REPOSITORY, "re", HUB[split], looked_for=file)
    named = ({**fields, "label": LABELS[fields["label"]]} for fields in found)
    return _rows(named, f"{REPOSITORY} (re, {HUB[split]})")


def load_official(path: Path) -> list[dict[str, Any]]:
    """The objects of an official file. Raises UserError for a file of another layout."""
    found = load_json(path, FileFormat(format=FORMAT, encoding="utf-8-sig"))
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{path}: is not a list of objects", "Give the file as it was published")
    return found


def _rows(found: Iterable[Mapping[str, Any]], origin: str) -> Rows:
    rows, other = [], list[str]()
    for number, fields in enumerate(found, start=1):
        where = f"{origin}: row {number}"
        missing = [name for name in ("guid", "sentence", "subject_entity", "object_entity") if name not in fields]
        if missing:
            raise UserError(f"{where}: has no '{missing[0]}'", "Give the file as it was published")
        text, entities = fields["sentence"], [fields["subject_entity"], fields["object_entity"]]
        spans = [_span(one, text, f"{where} ({fields['guid']})") for one in entities]
        other += [fields["guid"]] * any(
            text[span.start : span.end] != one.get("word") for span, one in zip(spans, entities, strict=True)
        )
        gold = fields.get("label")
        rows.append(SentenceRow(id=str(fields["guid"]), text=with_markers(text, spans, MARKERS), gold=gold))
    what = "an entity's word is not what its offsets say, which are used"
    notes = (f"{origin}: {so_many(len(other))} where {what}, first {other[0]}",) if other else ()
    return Rows(rows=rows, origin=origin, notes=notes)


def _span(entity: Any, text: str, where: str) -> EntitySpan:
    """An entity whose last character is at `end_idx`."""
    try:
        start, end, kind = int(entity["start_idx"]), int(entity["end_idx"]) + 1, str(entity["type"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{where}: has the entity {str(entity)[:60]}", "An entity has word, start_idx, end_idx and type"
        ) from error
    if not 0 <= start < end <= len(text):
        raise UserError(
            f"{where}: an entity is at {start} to {end - 1}, and the sentence has {so_many(len(text), 'character')}",
            "Correct its start_idx and end_idx",
        )
    return EntitySpan(start=start, end=end, type=kind)


TASKS = [
    SentenceTask(
        name="klue-re",
        read=read,
        labels=LABELS,
        spans=MARKERS,
        entity_types=False,
        metrics=(micro_f1_without(NO_RELATION), auprc),
    )
]
