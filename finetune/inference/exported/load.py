"""Loads an exported model to predict without torch."""

from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.inference.exported.engine import ExportedEngine
from finetune.inference.exported.export_facts import GRAPH, ExportFacts
from finetune.inference.exported.sessions import open_session
from finetune.inference.exported.this_machine import saturates, this_machine
from finetune.models.tokenizers.fast import load_fast_tokenizer
from finetune.runs.events import Note, Watcher


def load_exported(
    folder: Path, facts: ExportFacts, *, device: str | None, watch: Watcher
) -> tuple[ExportedEngine, Any]:
    """The engine of an export's folder, and its tokenizer, with a note where it was made for another machine.

    Raises UserError for a device that is not a CPU, onnxruntime that is not installed, and a damaged graph.
    """
    if device not in (None, "cpu"):
        raise UserError(f"{folder} is an export, which predicts on a CPU and not on {device}", "Leave `device` out")
    session = open_session(folder / GRAPH)
    tokenizer = load_fast_tokenizer(folder)
    if note := machine_note(folder, facts):
        watch(Note(note))
    return ExportedEngine(session=session, exported=facts, pad_id=tokenizer.pad_token_id, watch=watch), tokenizer


def machine_note(folder: Path, facts: ExportFacts) -> str:
    """What to know where products of an int8 export saturate here, and not where it was made; empty where nothing."""
    if facts.bits != 8 or saturates(facts.made_for) or not saturates(this_machine()):
        return ""
    why = "this processor has no VNNI, where products of 8 bits saturate: answers may differ from those checked"
    return f"{folder} was made with weights of 8 bits on a machine with VNNI; {why}. Export it here"
