"""export.json: the facts of an exported model, on its graph, its source and its check."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from finetune.data.atomic import write_atomically
from finetune.data.checksums import CHECKSUMS, verify_folder
from finetune.data.paths import is_file, read_small
from finetune.errors import UserError
from finetune.gone import gone
from finetune.runs.folder import EXPORT

GRAPHS = {"fp32": "onnx/model.onnx", "int8": "onnx/model_quantized.onnx"}  # as transformers.js names them
OLD_GRAPH = "model.onnx"  # of version 0.1
MOST_BYTES = 1 << 24  # of export.json
AGAIN = "Export the run again: finetune export RUN -o FOLDER"

Input = Literal["input_ids", "attention_mask", "token_type_ids", "positions"]
IDS: Input = "input_ids"
MASK: Input = "attention_mask"
SEGMENTS: Input = "token_type_ids"
POSITIONS: Input = "positions"
SPAN_ENDS = ["start_logits", "end_logits"]  # outputs of a head for spans; of others `logits`


@dataclass(frozen=True, kw_only=True)
class ExportedHead:
    """The facts of a head and its encoder that prediction needs.

    `labels` are the names of the logits: `(batch, length, labels)` if `by_position`, else `(batch, labels)`.
    `most_tokens` is the length of the longest sequence.
    """

    labels: tuple[str, ...] = ()
    by_position: bool = False
    most_tokens: Annotated[int, Field(ge=1)]


@dataclass(frozen=True, kw_only=True)
class ExportSource:
    """The run that was exported: its task, its id or folder, and the fingerprint of its model's files."""

    task: str
    run: str
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class HeadlineOfBoth:
    """The headline of a run and of its export on dev, in points."""

    metric: str
    run: float
    export: float


@dataclass(frozen=True, kw_only=True)
class ExportCheck:
    """The check of an export on its run's dev rows: `equal` of `rows` answers are the same.

    `changed` are ids of other rows. There is a `score` for int8 alone.
    """

    rows: int
    largest_difference: float
    equal: int
    changed: tuple[str, ...] = ()
    score: HeadlineOfBoth | None = None


@dataclass(frozen=True, kw_only=True)
class ExportFacts:
    """The content of export.json. Graphs of version 0.1 have an input `positions` `(batch, n)`: those that a head
    reads, -1 for padding.

    `bits` are those that int8 weights use. `tolerance` is in points of the headline.
    """

    format: Literal[1] = 1
    engine: Literal["onnx"] = "onnx"
    precision: Literal["fp32", "int8"] = "fp32"
    bits: Literal[7] | None = None
    inputs: tuple[Input, ...]
    head: ExportedHead
    source: ExportSource
    versions: Mapping[str, str] = field(default_factory=dict)
    check: ExportCheck | None = None
    tolerance: float | None = None


def graph_of(folder: Path, facts: ExportFacts) -> Path:
    """The file of an export's graph."""
    return folder / (OLD_GRAPH if is_file(folder / OLD_GRAPH) else GRAPHS[facts.precision])


def is_export(folder: str | Path) -> bool:
    """Whether this is the folder of an exported model."""
    return is_file(Path(folder, EXPORT))


def write_export_facts(folder: Path, facts: ExportFacts) -> None:
    """Writes export.json, whole or not at all. Raises OSError where it cannot be written."""
    write_atomically(folder / EXPORT, json.dumps(asdict(facts), indent=1, ensure_ascii=False) + "\n")


def read_export_facts(folder: Path) -> ExportFacts:
    """The facts of an exported model, after a check of its files.

    Raises UserError for another format, for damaged facts, and for a file that is missing or was changed.
    """
    file = folder / EXPORT
    content = read_small(file, most=MOST_BYTES, remedy=AGAIN)
    try:
        facts = TypeAdapter(ExportFacts).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if taken_out := gone(str(first["input"])):
            raise UserError(f"{file}: {taken_out.what}", taken_out.way_out) from error
        raise UserError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}", AGAIN) from error
    if not {IDS, MASK} <= set(facts.inputs):
        raise UserError(f"{file}: the graph has no {IDS} or {MASK}", AGAIN)
    for file in (graph_of(folder, facts), folder / "config.json", folder / CHECKSUMS):
        if not is_file(file):
            raise UserError(f"{file}: is missing", AGAIN)
    verify_folder(folder, remedy=AGAIN)
    return facts
