"""`finetune export`: a graph of a run's model, checked on the run's dev rows before its folder appears."""

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import cast

from finetune.analysis.card import model_card
from finetune.commands.export.check import CheckedExport, checked_export
from finetune.commands.export.graph import graph_inputs, write_graph
from finetune.commands.export.int8 import quantize
from finetune.commands.export.result import Export
from finetune.commands.export.rows import checked_rows, run_to_export
from finetune.commands.export.wanted import MAKES_GRAPHS, MOST_TOLERANCE, WantedExport, require_new_folder
from finetune.data.atomic import replace_folder, settle, temporary_folder
from finetune.data.checksums import ABOUT, CHECKSUMS, NAME, write_checksums
from finetune.data.messages import so_many
from finetune.data.source import Source
from finetune.errors import UserError, first_line
from finetune.inference.exported.export_facts import (
    GRAPH,
    ExportedHead,
    ExportFacts,
    ExportSource,
    Input,
    write_export_facts,
)
from finetune.inference.exported.this_machine import this_machine
from finetune.inference.predictor import Predictor, load_predictor
from finetune.inference.temperature import with_dev_temperature
from finetune.models.families import most_tokens
from finetune.models.fingerprint import DECISIVE
from finetune.models.loading import load_trained
from finetune.models.model import EncoderWithHead
from finetune.runs.environment import versions
from finetune.runs.events import Note, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.task_types.registry import find

FEW = 200  # rows, of which one answer is 0.5 % and more
FULL = ("no", "fp32")  # precisions of an engine
ROUNDING = 1e-9  # points: 85.0 to 84.5 is a loss of 0.5 and a bit in binary numbers
LEFT_OUT = ("*.safetensors", "*.index.json", "adapter*", CHECKSUMS, ".*")  # weights, and what is written again

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def export_model(
    model: str, wanted: WantedExport, *, task: str | None, source: Source, out: Path, watch: Watcher
) -> Export:
    """Writes the folder of an export. Raises UserError where it does not answer as the run does, and writes nothing."""
    named = None if task is None else find(task)
    predictor = load_predictor(model, task=named, out=out, watch=watch, device="cpu")
    trained = predictor.folder
    assert trained is not None
    engine = predictor.torch_engine  # of a run, not of an export
    if engine.pretrains:
        raise UserError(f"{model} predicts words of a text, and is not exported", "Fine-tune it first, with model=RUN")
    run = run_to_export(model, out)
    rows = checked_rows(predictor, run, source, named=named)
    with _written_export(wanted) as scratch:
        _copy_settings(trained, scratch)
        graph = load_trained(trained, predictor.task.head)
        watch(Working("tracing"))
        write_graph(graph, scratch / GRAPH)
        facts = _facts(graph, wanted, padded_up_to=_padded_up_to(engine.model, predictor))
        facts = replace(facts, source=_source(predictor, run, model, out))
        if wanted.bits:
            watch(Working("weights to int8"))
            _in_int8(scratch, wanted.bits)
        _describe(scratch, facts)
        export = load_predictor(scratch, task=named)
        watch(Working(f"checking {so_many(len(rows))}"))
        checked = checked_export(predictor, export, rows, record=None if run is None else run.record())
        _require_as_good(checked, wanted, predictor)
        facts = replace(facts, check=checked.facts, tolerance=wanted.tolerance if wanted.bits else None)
        _describe(scratch, facts)
        if run is not None:
            card = model_card(run, exports={wanted.folder.absolute().name: facts})
            (scratch / ABOUT).write_text(card, encoding="utf-8")
        size = sum(file.stat().st_size for file in scratch.glob("model.*"))
    computes_in = engine.computes_in[1]
    notes = [f"the export is compared with the run in fp32; here the run predicts in {computes_in}"]
    notes = [] if computes_in in FULL else notes
    for note in notes:
        watch(Note(note))
    before = sum(file.stat().st_size for pattern in WEIGHTS for file in trained.glob(pattern))
    return Export(
        folder=wanted.folder, facts=facts, size=size, size_before=before, changed=checked.changed, notes=notes
    )


@contextmanager
def _written_export(wanted: WantedExport) -> Iterator[Path]:
    """Yields a new folder that takes the place of the wanted one at the end.

    Raises UserError where that cannot be written, by then also for what was put there in the meantime.
    """
    folder = wanted.folder
    try:
        with temporary_folder(folder.absolute()) as scratch:
            yield scratch
            settle(scratch)
            require_new_folder(folder, force=wanted.force)
            replace_folder(scratch, folder.absolute())
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written ({error.strerror or first_line(error)})", "Free space, or name another folder"
        ) from error


def _copy_settings(trained: Path, scratch: Path) -> None:
    """Copies what prediction reads besides the weights: config, tokenizer, and what is known of dev.

    The folder of a checkpoint may have anything else, such as the states of an optimizer.
    """
    for file in {file for pattern in DECISIVE for file in trained.glob(pattern)}:
        left_out = any(file.match(pattern) for pattern in LEFT_OUT) or not NAME.fullmatch(file.name)
        if file.is_file() and not left_out:
            shutil.copy(file, scratch)


def _describe(folder: Path, facts: ExportFacts) -> None:
    """Writes export.json, and the checksums of all files."""
    write_export_facts(folder, facts)
    write_checksums(folder)


def _padded_up_to(model: EncoderWithHead, predictor: Predictor) -> int | None:
    """Up to how many tokens a text may be padded. Raises UserError for texts that are read by sparse attention."""
    limit = model.backbone.padded_up_to
    if getattr(model.backbone.config, "attention_type", "") != "block_sparse":
        return None if limit is None else max(1, limit)
    if limit is not None and predictor.max_length > limit:
        kind = model.backbone.config.model_type
        raise UserError(
            f"encoders of type '{kind}' read texts of more than {limit} tokens by sparse attention, which no graph of "
            f"any length has, and max_length is {predictor.max_length}",
            f"Train it with max_length={limit}, or serve the run itself: finetune serve RUN",
        )
    return None


def _facts(model: EncoderWithHead, wanted: WantedExport, *, padded_up_to: int | None) -> ExportFacts:
    """What is known of an export before it is made, but for its source."""
    return ExportFacts(
        precision="int8" if wanted.bits else "fp32",
        bits=wanted.bits,  # type: ignore[arg-type]
        inputs=cast(tuple[Input, ...], graph_inputs(model)),
        head=ExportedHead(
            labels=model.head.labels,
            by_position=model.by_position,
            most_tokens=most_tokens(model.backbone.encoder),
            padded_up_to=padded_up_to,
        ),
        source=ExportSource(task="", run="", fingerprint=""),
        made_for=this_machine(),
        versions=versions() | {name: version(name) for name in sorted(MAKES_GRAPHS)},
    )


def _source(predictor: Predictor, run: RunFolder | None, model: str, out: Path) -> ExportSource:
    """The run, with the temperature that its dev predictions give."""
    temperature = None
    with suppress(UserError):  # not a run, or its probabilities are not a softmax
        temperature = with_dev_temperature(predictor, model, "dev", out=out).temperature
    name = model if run is None else run.path.name
    return ExportSource(task=predictor.task.name, run=name, fingerprint=predictor.fingerprint, temperature=temperature)


def _in_int8(folder: Path, bits: int) -> None:
    """Makes the weights of a folder's graph int8."""
    small = folder / "small.onnx"
    quantize(folder / GRAPH, small, bits=bits)
    for file in folder.glob(f"{GRAPH}*"):  # weights may be in a file next to it
        file.unlink()
    small.rename(folder / GRAPH)


def _require_as_good(checked: CheckedExport, wanted: WantedExport, run: Predictor) -> None:
    """Raises UserError for a graph with other logits than the run's, and for int8 that loses more than is tolerated."""
    if wanted.bits is None and not checked.close:
        kind = run.torch_engine.model.backbone.config.model_type
        raise UserError(
            f"the graph of this encoder of type '{kind}' does not compute the same: its logits differ by up to "
            f"{checked.facts.largest_difference:.2g}, and {len(checked.changed):,} of {checked.facts.rows:,} answers",
            "Serve the run itself: finetune serve RUN",
        )
    if wanted.bits is not None and checked.lost > wanted.tolerance + ROUNDING:
        raise lost_too_much(checked, wanted)


def lost_too_much(checked: CheckedExport, wanted: WantedExport) -> UserError:
    """The error, with the score of both, and the interval of their difference."""
    facts, metric = checked.facts, checked.metric
    changed = f"{len(checked.changed):,} of {facts.rows:,} answers changed"
    if facts.rows < FEW:
        changed += f"; of so few rows one answer is {100 / facts.rows:.1f} %"
    if facts.score is None:
        what = f"int8 has {metric.name} undefined, and {changed}, where `tolerance` is {wanted.tolerance:g} % of them"
    else:
        low, high = facts.score.interval or (facts.score.difference, facts.score.difference)
        what = (
            f"int8 loses {checked.lost:.2f} points of {metric.name}, and `tolerance` is {wanted.tolerance:g}: "
            f"{facts.score.run:.2f} became {facts.score.export:.2f} (95 %: {low:+.2f} to {high:+.2f}), {changed}"
        )
    more = f"`tolerance` {math.ceil(10 * checked.lost) / 10:g}, or " * (checked.lost <= MOST_TOLERANCE)
    return UserError(what, f"Give {more}no `int8`" if more else "Leave `int8` out")
