"""`finetune export`: a graph of a run's model, checked on the run's dev rows before its folder appears."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np

from finetune.commands.export.check import FULL, CheckedExport, checked_export
from finetune.commands.export.folder import copy_settings, describe, remove_graph, written_export
from finetune.commands.export.graph import graph_inputs, graph_outputs, write_graph
from finetune.commands.export.int8 import products, quantize
from finetune.commands.export.kept import KEPT
from finetune.commands.export.result import Export
from finetune.commands.export.rows import calibration_rows, checked_rows, run_to_export
from finetune.commands.export.wanted import MAKES_GRAPHS, MOST_TOLERANCE, OPENVINO, WantedExport
from finetune.data.messages import so_many
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.exported.export_facts import ExportedHead, ExportFacts, ExportSource, Input
from finetune.inference.exported.this_machine import this_machine
from finetune.inference.predictor import Predictor, load_predictor
from finetune.inference.temperature import with_dev_temperature
from finetune.models.batch import collate
from finetune.models.families import most_tokens
from finetune.models.feature import Feature
from finetune.models.loading import load_trained
from finetune.models.model import EncoderWithHead
from finetune.runs.environment import versions
from finetune.runs.events import Note, Watcher, Working
from finetune.runs.folder import RunFolder
from finetune.task_types.task import Task

FEW = 200  # rows, of which one answer is 0.5 % and more
ONNX = "model.onnx"
ROUNDING = 1e-9  # points: 85.0 to 84.5 is a loss of 0.5 and a bit in binary numbers
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def export_model(
    model: str, wanted: WantedExport, *, task: Task | None, source: Source, out: Path, watch: Watcher
) -> Export:
    """Writes the folder of an export. Raises UserError where it does not answer as the run does, and writes nothing."""
    notes: list[str] = []
    predictor = load_predictor(model, task=task, out=out, watch=watch, device="cpu")
    trained = predictor.folder
    assert trained is not None
    engine = predictor.torch_engine  # of a run, not of an export
    run = run_to_export(model, out)
    rows = checked_rows(predictor, run, source, named=task)
    with written_export(wanted) as scratch:
        copy_settings(trained, scratch)
        graph = load_trained(trained, predictor.task.head)
        watch(Working("tracing"))
        write_graph(graph, scratch / ONNX)
        facts = _facts(graph, wanted, padded_up_to=_padded_up_to(engine.model, predictor))
        facts = replace(facts, source=_source(predictor, run, model, out))
        calibration = _calibration(predictor, run, source, wanted)
        facts = replace(facts, kept_fp32=_finished(scratch, wanted, graph, calibration, watch))
        describe(scratch, facts)
        export = load_predictor(scratch, task=task, watch=lambda _: None)
        checked = checked_export(predictor, export, rows, watch, record=None if run is None else run.record())
        _require_as_good(checked, wanted, predictor)
        facts = replace(facts, check=checked.facts, tolerance=wanted.tolerance if wanted.bits else None)
        describe(scratch, facts)
        size = sum(file.stat().st_size for file in scratch.glob("model.*"))
    if (computes_in := engine.computes_in[1]) not in FULL:
        apart = f"{checked.in_half:,} of {so_many(len(rows))} it then answers differently"
        notes.append(
            f"the export is compared with the run in fp32; here the run predicts in {computes_in}, and {apart}"
        )
    for note in notes:
        watch(Note(note))
    before = sum(file.stat().st_size for pattern in WEIGHTS for file in trained.glob(pattern))
    return Export(
        folder=wanted.folder, facts=facts, size=size, size_before=before, changed=checked.changed, notes=notes
    )


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
    names = {*MAKES_GRAPHS, *(OPENVINO if wanted.engine == "openvino" else ())}
    return ExportFacts(
        engine=wanted.engine,
        precision="int8" if wanted.bits else "fp32",
        bits=wanted.bits,  # type: ignore[arg-type]
        method=wanted.method,
        inputs=cast(tuple[Input, ...], graph_inputs(model)),
        outputs=graph_outputs(model),  # type: ignore[arg-type]
        head=ExportedHead(
            labels=model.head.labels,
            by_position=model.by_position,
            vocabulary=model.head.vocabulary,
            most_tokens=most_tokens(model.backbone.encoder),
            padded_up_to=padded_up_to,
        ),
        source=ExportSource(task="", run="", fingerprint=""),
        made_for=this_machine(),
        versions=versions() | {name: version(name) for name in sorted(names)},
    )


def _source(predictor: Predictor, run: RunFolder | None, model: str, out: Path) -> ExportSource:
    """The run, with the temperature that its dev predictions give."""
    temperature = None
    with suppress(UserError):  # not a run, or its probabilities are not a softmax
        temperature = with_dev_temperature(predictor, model, "dev", out=out).temperature
    name = model if run is None else run.path.name
    return ExportSource(task=predictor.task.name, run=name, fingerprint=predictor.fingerprint, temperature=temperature)


def _calibration(
    predictor: Predictor, run: RunFolder | None, source: Source, wanted: WantedExport
) -> Sequence[Feature]:
    """The sequences that int8 is scaled by; none where that needs none."""
    if wanted.method != "static":
        return ()
    features = predictor.encoded(calibration_rows(predictor, run, source))
    return [sequence for feature in features for sequence in feature.choices or (feature,)]


def _finished(
    folder: Path, wanted: WantedExport, model: EncoderWithHead, calibration: Sequence[Feature], watch: Watcher
) -> tuple[str, ...]:
    """Makes the ONNX graph of a folder what is wanted; the names of the products that stay in fp32 in an int8 one."""
    graph, layers = folder / ONNX, int(model.backbone.config.num_hidden_layers)
    kept: tuple[str, ...] = ()
    if wanted.method == "dynamic":
        watch(Working("weights to int8"))
        small = folder / "small.onnx"
        kept = quantize(graph, small, wanted, layers=layers)
        remove_graph(graph)
        small.rename(graph)
    if wanted.engine == "openvino":
        from finetune.commands.export.openvino import convert, convert_to_int8

        if wanted.method == "static":
            watch(Working(f"scaling int8 by {len(calibration):,} texts"))
            _, kept = products(graph, wanted, layers=layers)
            inputs = [_arrays(one, graph_inputs(model)) for one in calibration]
            convert_to_int8(graph, folder / "model.xml", inputs, kept=kept)
        else:
            watch(Working("converting"))
            convert(graph, folder / "model.xml")
        remove_graph(graph)
    return kept


def _arrays(sequence: Feature, inputs: Sequence[str]) -> dict[str, np.ndarray]:
    """A sequence as a batch of one, without padding."""
    batch = collate([replace(sequence, label=None)], pad_id=0)
    zeros = {"token_type_ids": 0 * batch.attention_mask}
    every = zeros | {name: tensor for name in inputs if (tensor := getattr(batch, name)) is not None}
    return {name: every[name].numpy() for name in inputs}


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
    """The error, with the score of both, the interval of their difference, and what was not tried yet."""
    facts, metric = checked.facts, checked.metric
    changed = f"{len(checked.changed):,} of {facts.rows:,} answers changed"
    if facts.rows < FEW:
        changed += f"; of so few rows one answer is {100 / facts.rows:.1f} %"
    if facts.score is None:
        what = f"int8 has {metric.name} undefined, and {changed}, where `tolerance` is {wanted.tolerance:g} % of them"
    else:
        low, high = facts.score.interval or (facts.score.difference, facts.score.difference)
        unit = "%" if metric.magnitudes else "points"
        what = (
            f"int8 loses {checked.lost:.2f} {unit} of {metric.name}, and `tolerance` is {wanted.tolerance:g}: "
            f"{facts.score.run:.2f} became {facts.score.export:.2f} (95 %: {low:+.2f} to {high:+.2f}), {changed}"
        )
    return UserError(what, f"Try in this order: {', '.join(_ways_out(checked, wanted))}")


def _ways_out(checked: CheckedExport, wanted: WantedExport) -> list[str]:
    """What may lose less. Weights have a scale by column in any case."""
    ways = ["`bits` 7"] if wanted.bits == 8 and wanted.engine == "onnx" else []
    ways += [f"`keep_fp32` {name}" for name in KEPT if name not in wanted.keep]
    ways += ["`engine` openvino, which is scaled by training rows"] if wanted.engine == "onnx" else []
    ways += [f"`tolerance` {math.ceil(10 * checked.lost) / 10:g}"] if checked.lost <= MOST_TOLERANCE else []
    return [*ways, "no `int8`"]
