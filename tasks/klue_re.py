"""KLUE's relation extraction (Park et al. 2021): which of 30 relations a sentence gives two entities, in Korean.

From the official JSON files, or the Hub's `klue/klue` (`re`). The two entities are marked as KLUE's own code does;
`entity_types = true` adds their types to the markers. The labels of the test set are hidden.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from finetune.data import Source, hub_rows
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics import auprc, micro_f1_without
from finetune.task_types import EntitySpan, Rows, SentenceRow, SentenceTask, with_markers
from finetune.task_types.classification.marked import BRACKETS, spans_fault
from finetune.tasks.klue import (
    HUB,
    REMEDY,
    REPOSITORY,
    distinct_rows,
    folders,
    official_file,
    official_rows,
    text_of,
)

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
        path = folder / file
        loaded = _rows(official_rows(path), str(path))
        return replace(loaded, rows=distinct_rows(list(loaded.rows), path))
    hub = hub_rows(REPOSITORY, "re", HUB[split], looked_for=file)
    origin = f"{REPOSITORY} (re, {HUB[split]})"
    named = ({**fields, "label": LABELS[fields["label"]]} for fields in hub)
    return _rows(((f"{origin}: row {number}", fields) for number, fields in enumerate(named, start=1)), origin)


def _rows(relations: Iterable[tuple[str, Any]], origin: str) -> Rows:
    rows, other = [], list[str]()
    for where, fields in relations:
        name, text = text_of(fields, "guid", where), text_of(fields, "sentence", where)
        entities = [fields.get("subject_entity"), fields.get("object_entity")]
        spans = [_span(entity, text, f"{where} ({name})") for entity in entities]
        if fault := spans_fault(spans):
            raise UserError(f"{where} ({name}): {fault}", REMEDY)
        other += [name] * any(
            text[span.start : span.end] != entity.get("word") for span, entity in zip(spans, entities, strict=True)
        )
        gold = text_of(fields, "label", where)
        rows.append(SentenceRow(id=name, text=with_markers(text, spans, MARKERS), gold=gold))
    what = "an entity's word is not what its offsets say, which are used"
    notes = (f"{origin}: {so_many(len(other))} where {what}, first {other[0]}",) if other else ()
    return Rows(rows=rows, origin=origin, notes=notes)


def _span(entity: Any, text: str, where: str) -> EntitySpan:
    """An entity whose last character is at `end_idx`."""
    try:
        start, end, kind = int(entity["start_idx"]), int(entity["end_idx"]) + 1, entity["type"]
        if not isinstance(kind, str) or BRACKETS.search(kind):
            raise ValueError(f"its type is {kind!r}")
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
