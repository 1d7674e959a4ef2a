"""export.json: what the folder of an exported model says of its graph, its source, its machine and its check."""

import json
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
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

GRAPH = "model.onnx"
IDS, MASK, SEGMENTS, POSITIONS = "input_ids", "attention_mask", "token_type_ids", "positions"
MOST_BYTES = 1 << 24  # of export.json
AGAIN = "Export the run again: finetune export RUN -o FOLDER"
CPU_INFO = Path("/proc/cpuinfo")
EXACT = ("avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm")  # instructions that add products of 8 bits exactly

Input = Literal["input_ids", "attention_mask", "token_type_ids", "positions"]


@dataclass(frozen=True, kw_only=True)
class ExportedHead:
    """What prediction needs of a head and its encoder: the names of the logits, and the shape that they have.

    With `by_position` each token has logits `(batch, length, labels)`, else a text `(batch, labels)`. `most_tokens` is
    the longest sequence. The last two are of exports that are not read any more: of heads for words, and of encoders
    that read a text by its length.
    """

    labels: tuple[str, ...] = ()
    by_position: bool = False
    most_tokens: Annotated[int, Field(ge=1)]
    vocabulary: Literal[0] = 0
    padded_up_to: None = None


@dataclass(frozen=True, kw_only=True)
class ExportSource:
    """The run that was exported: its task, its id or folder, and the fingerprint of its model's files.

    `temperature` is the one fitted on dev; None where its probabilities are not a softmax.
    """

    task: str
    run: str
    fingerprint: str
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, kw_only=True)
class MachineKind:
    """A kind of processor: its architecture, and its instructions that add products of 8 bits exactly."""

    machine: str
    instructions: tuple[str, ...] = ()

    @property
    def saturates(self) -> bool:
        """Whether sums of products of 8 bits overflow: an x86 without VNNI adds two of them in 16 bits."""
        return self.machine in ("x86_64", "AMD64", "i386", "i686") and not {*EXACT} & {*self.instructions}


@dataclass(frozen=True, kw_only=True)
class ScoresOfBoth:
    """The headline of a run and of its export on dev, in points, with the interval of the difference and its p."""

    metric: str
    run: float
    export: float
    difference: float
    interval: tuple[float, float] | None = None
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class ExportCheck:
    """How an export answered its run's dev rows: `equal` of `rows` answers are the same; `changed` are other rows."""

    rows: int
    largest_difference: float
    equal: int
    changed: tuple[str, ...] = ()
    score: ScoresOfBoth | None = None


@dataclass(frozen=True, kw_only=True)
class ExportFacts:
    """What export.json says. `positions` among the inputs are those that are read, -1 for padding, `(batch, n)`.

    `bits` are those of int8 weights. `tolerance` is in points.
    """

    format: Literal[1] = 1
    engine: Literal["onnx"] = "onnx"
    precision: Literal["fp32", "int8"] = "fp32"
    bits: Literal[8, 7] | None = None
    inputs: tuple[Input, ...]
    head: ExportedHead
    source: ExportSource
    made_for: MachineKind
    versions: Mapping[str, str] = field(default_factory=dict)
    check: ExportCheck | None = None
    tolerance: float | None = None


def this_machine() -> MachineKind:
    """The kind of this processor; its instructions are those that Linux lists."""
    flags = set[str]()
    with suppress(OSError):
        for line in re.findall(r"^(?:flags|Features)\s*:(.*)", CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)[:1]:
            flags.update(line.split())
    return MachineKind(machine=platform.machine(), instructions=tuple(name for name in EXACT if name in flags))


def is_export(folder: str | Path) -> bool:
    """Whether this is the folder of an exported model."""
    return is_file(Path(folder, EXPORT))


def write_export_facts(folder: Path, facts: ExportFacts) -> None:
    """Writes export.json, whole or not at all. Raises OSError where it cannot be written."""
    write_atomically(folder / EXPORT, json.dumps(asdict(facts), indent=1, ensure_ascii=False) + "\n")


def read_export_facts(folder: Path) -> ExportFacts:
    """The facts of an exported model whose files are all there, and as they were written.

    Raises UserError for another format, for facts that are damaged, and for a file that is missing or was changed.
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
    for name in (GRAPH, "config.json", CHECKSUMS):
        if not is_file(folder / name):
            raise UserError(f"{folder / name}: is missing", AGAIN)
    verify_folder(folder, remedy=AGAIN)
    return facts
