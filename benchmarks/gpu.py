"""What a GPU must show: that training on it is right, and how fast it is next to transformers.Trainer at its best.

python benchmarks/gpu.py --out results/gpu

It runs the tests marked `gpu`, then measures, each contestant in a process of its own, in alternation, and then trains
the runs of `gpu_runs`, several at a time, whose records come into results/. The same command again trains what is not
there. `--parts` takes some parts, `--shapes` some of the shapes of `gpu_shapes`; with `--limit 32` the parts that need
no GPU are rehearsed on a CPU. Trainer has bf16, batches grouped by length and padded to multiples of 8, fused AdamW,
sdpa, four loading processes, and does not look for nan losses, which would make it wait.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
from gpu_runs import SWEEPS, Setup, finished_runs
from gpu_shapes import SHAPES, Shape

from finetune.data.messages import so_many

UPDATES, EPOCHS = 40, 3  # an epoch: the first compiles and makes graphs, the second is timed, the third profiled
RATE, DEVICE, SEEN = 2e-5, "cuda", torch.profiler.ProfilerActivity.CUDA
MODEL = "new:12x768"  # of the size of BERT-base
TRAINED_ROWS, PREDICTED_ROWS = 320, 10_000
PARTS = ["checks", "speed", "prediction", *SWEEPS]
ANYWHERE = {"prediction", *SWEEPS}  # what a CPU can rehearse
PEAK = 8192  # rows and columns of the matrix product whose rate is the device's limit


@dataclass
class Watch:
    """The time and the launches of epochs, by calls at the beginning and at each end."""

    ends: list[float] = field(default_factory=list)
    profiler: Any = None
    found: dict[str, float] = field(default_factory=dict)

    def mark(self) -> None:
        """Call at the beginning of the first epoch, and at the end of each."""
        torch.cuda.synchronize()
        self.ends.append(time.perf_counter())
        if len(self.ends) == EPOCHS:
            self.profiler = torch.profiler.profile(activities=[SEEN])
            self.profiler.__enter__()
        if len(self.ends) == EPOCHS + 1:
            self.profiler.__exit__(None, None, None)
            self._read(self.ends[-1] - self.ends[-2])

    def _read(self, seconds: float) -> None:
        events = self.profiler.events()
        busy = sum(each.device_time for each in events if each.device_type.name == "CUDA") / 1e6
        launches = sum("Launch" in each.name for each in events)
        self.found = {"launches_an_update": launches / UPDATES, "idle_in_profile": 1 - busy / seconds}

    def measured(self, shape: Shape, lengths: list[int]) -> dict[str, float]:
        """Figures of the second epoch, and the first one's seconds."""
        seconds = self.ends[2] - self.ends[1]
        return {
            "examples_per_second": len(lengths) / seconds,
            "milliseconds_an_update": 1000 * seconds / UPDATES,
            "tflops": shape.operations(lengths) / seconds / 1e12,
            "first_epoch_seconds": self.ends[1] - self.ends[0],
            "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
            **self.found,
        }


def ours(shape: Shape) -> dict[str, float]:
    """Our trainer as in a run in bf16, with graphs."""
    from measuring import unscored
    from transformers import BertModel

    from finetune.inference.engine import Engine
    from finetune.models.backbone import Backbone
    from finetune.models.device import build_accelerator
    from finetune.models.fast_paths import take_fast_paths
    from finetune.models.head import EncoderWithHead
    from finetune.runs.events import unwatched
    from finetune.runs.recipe_tables import Train
    from finetune.task_types.classification.head import LabelHead
    from finetune.task_types.classification.task import SentenceRow
    from finetune.task_types.span.head import SpanHead
    from finetune.task_types.tagging.head import TaggingHead
    from finetune.training.trainer import Trainer

    device, watch = torch.device(DEVICE), Watch()
    backbone = Backbone(BertModel(shape.config))
    heads: dict[str, Callable[[], Any]] = {
        "sentence": lambda: LabelHead(backbone, ("0", "1")),
        "tagging": lambda: TaggingHead(backbone, [str(tag) for tag in range(9)]),
        "span": lambda: SpanHead(backbone),
    }
    model = EncoderWithHead(backbone, heads[shape.head]())
    model.head.initialise()
    notes = take_fast_paths(model, device=device)
    engine = Engine(model=model, accelerator=build_accelerator(device, "bf16"), pad_id=0, watch=unwatched)
    features = shape.features(UPDATES)
    rows = [SentenceRow(id=str(feature.row), text="", gold="0") for feature in features]
    settings = Train(batch_size=shape.batch, epochs=EPOCHS, learning_rate=RATE, precision="bf16")

    def scored(engine: Engine) -> Any:
        watch.mark()
        return unscored(engine)

    trainer = Trainer(engine=engine, settings=settings, data_seed=0, rows=rows)
    model.to(device)
    watch.mark()
    progress, _ = trainer.fit(features, scored)
    assert not [*notes, *progress.notes], (notes, progress.notes)
    return watch.measured(shape, [len(feature) for feature in features])


def theirs(shape: Shape, *, compiled: bool = False) -> dict[str, float]:
    """transformers.Trainer on the same rows."""
    import transformers
    from datasets import Dataset
    from tokenizers import Tokenizer, models

    watch = Watch()

    class Epochs(transformers.TrainerCallback):  # type: ignore[misc]
        """Marks epochs."""

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            """Called before the first epoch."""
            watch.mark()

        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            """Called after each epoch."""
            watch.mark()

    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]")), pad_token="[PAD]"
    )
    kinds = {"sentence": "SequenceClassification", "tagging": "TokenClassification", "span": "QuestionAnswering"}
    config = shape.config
    config.num_labels = 9 if shape.head == "tagging" else 2
    model = getattr(transformers, f"BertFor{kinds[shape.head]}")(config)
    tagging = shape.head == "tagging"
    collator = transformers.DataCollatorForTokenClassification if tagging else transformers.DataCollatorWithPadding
    features = shape.features(UPDATES)
    with TemporaryDirectory() as scratch:
        args = transformers.TrainingArguments(
            output_dir=scratch, per_device_train_batch_size=shape.batch, num_train_epochs=EPOCHS, learning_rate=RATE,
            train_sampling_strategy="group_by_length", bf16=True, optim="adamw_torch_fused", dataloader_num_workers=4,
            dataloader_persistent_workers=True, logging_nan_inf_filter=False, torch_compile=compiled,
            logging_strategy="no", save_strategy="no", eval_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        transformers.Trainer(
            model=model, args=args, train_dataset=Dataset.from_list([_theirs(shape, each) for each in features]),
            data_collator=collator(tokenizer, pad_to_multiple_of=8), processing_class=tokenizer, callbacks=[Epochs()],
        ).train()  # fmt: skip
    return watch.measured(shape, [len(feature) for feature in features])


def _theirs(shape: Shape, feature: Any) -> dict[str, Any]:
    """A row as transformers' collators take it."""
    row: dict[str, Any] = {
        "input_ids": list(feature.input_ids),
        "token_type_ids": list(feature.token_type_ids),
        "attention_mask": [1] * len(feature),
    }
    if shape.head == "sentence":
        return row | {"label": feature.label}
    if shape.head == "span":
        return row | {"start_positions": feature.label[0], "end_positions": feature.label[1]}
    labels = [-100] * len(feature)
    for place, label in zip(feature.reads, feature.label, strict=True):
        labels[place] = label
    return row | {"labels": labels}


CONTESTANTS: dict[str, Callable[[Shape], dict[str, float]]] = {
    "finetune": ours,
    "trainer": theirs,
    "trainer-compiled": lambda shape: theirs(shape, compiled=True),
}


def checked() -> dict[str, Any]:
    """The tests marked `gpu`: how many passed, and the names and first lines of those that did not."""
    with TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "4", "-m", "gpu", "tests/gpu", f"--junitxml={report}"]
        subprocess.run(command, check=False)
        cases = list(ElementTree.parse(report).iter("testcase"))
    bad = {
        f"{case.get('name')}": str(fault.get("message"))[:300]
        for case in cases
        for fault in case
        if fault.tag in ("failure", "error")
    }
    skipped = sum(case.find("skipped") is not None for case in cases)
    return {"passed": len(cases) - len(bad) - skipped, "skipped": skipped, "failed": bad}


def peak() -> float:
    """The rate of a large matrix product in bf16, TFLOP/s."""
    one, other = (torch.randn(PEAK, PEAK, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        one @ other
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(10):
        one @ other
    torch.cuda.synchronize()
    return 10 * 2 * PEAK**3 / (time.perf_counter() - started) / 1e12


def speed(shapes: list[str], contestants: list[str], rounds: int, keep: Callable[[Any], None]) -> dict[str, Any]:
    """Each contestant on each shape, in a process a round, in alternation; `keep` gets what there is after each."""
    found: dict[str, dict[str, list[Any]]] = {shape: {name: [] for name in contestants} for shape in shapes}
    for number in range(rounds):
        for name in contestants[:: -1 if number % 2 else 1]:
            command = [sys.executable, __file__, "--one", name, "--shapes", *shapes]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                shape, figures = json.loads(line)
                found[shape][name].append(figures)
                print(f"{shape}  {name}: {figures}", flush=True)
            if done.returncode:
                print(done.stderr[-1500:], flush=True)
            keep(found)
    return found


def measure(name: str, shapes: list[str]) -> None:
    """Prints a contestant's figures on each shape as lines of JSON."""
    for shape in shapes:
        torch.cuda.reset_peak_memory_stats()
        with redirect_stdout(sys.stderr):
            figures = CONTESTANTS[name](SHAPES[shape])
        print(json.dumps((shape, figures)), flush=True)
        gc.collect()
        torch.cuda.empty_cache()


def predicted(device: str, rows: int) -> dict[str, Any]:
    """Rows a second of a fine-tuned BERT-base with random weights: ours, and `pipeline` by its best batch, in bf16."""
    import numpy as np
    import transformers

    import finetune
    from finetune.models.pretrained import resolve
    from finetune.models.tokenizers.load import load_tokenizer

    vocabulary = load_tokenizer(resolve("minilm").folder).get_vocab()
    words = np.array(sorted(word for word in vocabulary if word.isalpha() and len(word) > 3))
    texts = [" ".join(each) for each in np.random.default_rng(0).choice(words, (rows, 40))]
    with TemporaryDirectory() as scratch, redirect_stdout(sys.stderr):
        file = Path(scratch) / "rows.csv"
        lines = (f"{text},{'ab'[number % 2]}\n" for number, text in enumerate(texts[:TRAINED_ROWS]))
        file.write_text("".join(["text,label\n", *lines]))
        run = finetune.run(
            str(file),
            model=MODEL,
            tokenizer=str(resolve("minilm").folder),
            out=f"{scratch}/results",
            pooling="family",
            device=device,
            train={"epochs": 1},
        )
        found: dict[str, list[float]] = {}
        model = run.model
        for _ in range(3):
            found.setdefault("finetune", []).append(_rate(lambda: model.predict(texts), rows))
            for batch in (64, 256, 1024):
                pipeline = transformers.pipeline(
                    "text-classification", model=str(run.folder / "model"), device=device, dtype=torch.bfloat16
                )
                name = f"pipeline, batch {batch}"
                found.setdefault(name, []).append(_rate(partial(pipeline, texts, batch_size=batch), rows))
    return found


def _rate(predict: Callable[[], Any], rows: int) -> float:
    started = time.perf_counter()
    predict()
    return rows / (time.perf_counter() - started)


def main() -> None:
    """Checks, measures and writes."""
    parser = argparse.ArgumentParser(description="What a GPU must show")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--contestants", nargs="+", choices=list(CONTESTANTS), default=["finetune", "trainer"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--one", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=Path, default=Path("build/gpu-runs"), help="folder of the runs")
    parser.add_argument("--records", type=Path, default=Path("results"), help="folder that keeps their records")
    parser.add_argument("--data", type=Path, help="folder with the tasks' files; default: $FINETUNE_DATA")
    parser.add_argument("--limit", type=int, help="rehearse with so many rows of each split")
    parser.add_argument("--out", type=Path, help="folder to write to")
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.shapes)
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not (options.limit and ANYWHERE.issuperset(options.parts)):
        parser.error("this machine has no GPU that torch can use")
    if options.limit and options.records == parser.get_default("records"):
        parser.error("--limit: name a folder for the records, other than that of the tables")
    facts = machine.facts()
    if device == "cuda":
        facts |= {"device": torch.cuda.get_device_name(), "peak_tflops": peak()}
    setup = Setup(
        runs=options.runs, records=options.records, data=options.data, device=device,
        limit=options.limit,
    )  # fmt: skip

    def keep(name: str, found: Any) -> None:
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            facts_and = {"about": f"{name} on a GPU: {so_many(UPDATES, 'update')} an epoch", **facts, name: found}
            (options.out / f"{name}.json").write_text(json.dumps(facts_and, indent=1) + "\n")

    parts: dict[str, Callable[[], Any]] = {
        "checks": checked,
        "speed": lambda: speed(options.shapes, options.contestants, options.rounds, partial(keep, "speed")),
        "prediction": lambda: predicted(device, options.limit or PREDICTED_ROWS),
        **{name: partial(finished_runs, name, setup) for name in SWEEPS},
    }
    for name in options.parts:
        keep(name, parts[name]())


if __name__ == "__main__":
    main()
