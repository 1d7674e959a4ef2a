"""What a GPU must show: that training on it is right, and how fast it is next to transformers.Trainer at its best.

python benchmarks/gpu.py --out results/gpu

It runs the tests marked `gpu`, then measures, each contestant in a process of its own, in alternation. `--parts` takes
some parts, `--shapes` some of the shapes, `--compiled` adds Trainer with torch_compile. Trainer has bf16, batches
grouped by length and padded to multiples of 8, fused AdamW, sdpa, four loading processes, and does not look for nan
losses, which would make it wait.
"""

import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers
from machine import Parts, options
from measuring import alternating, encoder_config, fresh, timed, unscored
from transformers import PretrainedConfig

from finetune.inference.engine import Engine
from finetune.models.backbone import Backbone
from finetune.models.device import build_accelerator
from finetune.models.fast_paths import take_fast_paths
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
from finetune.runs.events import unwatched
from finetune.runs.recipe import Train
from finetune.task_types.classification.head import LabelHead
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.span.head import SpanHead
from finetune.task_types.tagging.head import TaggingHead
from finetune.training.trainer import Trainer

UPDATES, EPOCHS = 40, 3  # an epoch: the first compiles and makes graphs, the second is timed, the third profiled
RATE, DEVICE, SEEN = 2e-5, "cuda", torch.profiler.ProfilerActivity.CUDA
PEAK = 8192  # rows and columns of the matrix product whose rate is the device's limit
SIZES = {
    "base": {"width": 768, "inner": 3072, "layers": 12, "heads": 12},
    "large": {"width": 1024, "inner": 4096, "layers": 24, "heads": 16},
}
LENGTHS = {  # head, and tokens of a text: mean, standard deviation, least and most
    "MRPC": ("sentence", 53, 14, 20, 105),
    "CoLA": ("sentence", 11, 4, 5, 40),
    "CoNLL-2003": ("tagging", 100, 25, 20, 128),
    "SQuAD": ("span", 300, 120, 100, 384),
}
SHAPES = (  # the lengths of a task, the size of BERT, and the rows of a batch
    *("MRPC, base, 32", "MRPC, base, 16", "CoLA, base, 32", "CoNLL-2003, base, 32", "SQuAD, base, 32"),
    *("MRPC, large, 32", "SQuAD, large, 16"),
)
VOCABULARY, CLS, SEP, FIRST, TAGS = 30_522, 101, 102, 1_000, 9


class Shape:
    """Made-up batches with the lengths of a task, and the config of an encoder with random weights."""

    def __init__(self, name: str) -> None:
        task, size, batch = name.split(", ")
        self.head, mean, deviation, least, most = LENGTHS[task]
        self.sizes, self.batch = SIZES[size], int(batch)
        self.config: PretrainedConfig = encoder_config("bert", self.sizes, vocab_size=VOCABULARY)
        generator = np.random.default_rng(0)
        lengths = generator.normal(mean, deviation, UPDATES * self.batch).round().clip(least, most).astype(int)
        self.features = [self._feature(row, length, generator) for row, length in enumerate(lengths.tolist())]

    def _feature(self, row: int, length: int, generator: np.random.Generator) -> Feature:
        ids = [CLS, *generator.integers(FIRST, VOCABULARY, length - 2).tolist(), SEP]
        made = partial(Feature, row=row, input_ids=ids, token_type_ids=[0] * length)
        if self.head == "sentence":
            return made(label=int(generator.integers(2)))
        if self.head == "span":
            return made(label=sorted(generator.integers(1, length - 1, 2).tolist()))
        words = sorted(generator.choice(np.arange(1, length - 1), max(1, round(0.7 * (length - 2))), replace=False))
        return made(reads=words, label=generator.integers(TAGS, size=len(words)).tolist())

    def operations(self) -> float:
        """The floating-point operations of an epoch, matrix products alone; a backward pass is two forward ones."""
        width, layers, lengths = self.sizes["width"], self.sizes["layers"], np.array(list(map(len, self.features)))
        return 3.0 * float(np.sum(24 * width**2 * layers * lengths + 4 * lengths**2.0 * width * layers))


@dataclass
class Watch:
    """The time and the launches of epochs, by calls at the beginning and at each end."""

    ends: list[float] = field(default_factory=list)
    profiler: Any = None
    profiled: dict[str, float] = field(default_factory=dict)

    def mark(self, *_: Any, **__: Any) -> None:
        """Call at the beginning of the first epoch, and at the end of each."""
        torch.cuda.synchronize()
        self.ends.append(time.perf_counter())
        if len(self.ends) == EPOCHS:
            self.profiler = torch.profiler.profile(activities=[SEEN])
            self.profiler.__enter__()
        if len(self.ends) == EPOCHS + 1:
            self.profiler.__exit__(None, None, None)
            events, seconds = self.profiler.events(), self.ends[-1] - self.ends[-2]
            busy = sum(event.device_time for event in events if event.device_type.name == "CUDA") / 1e6
            launches = sum("Launch" in event.name for event in events)
            self.profiled = {"launches_an_update": launches / UPDATES, "idle_in_profile": 1 - busy / seconds}

    def measured(self, shape: Shape) -> dict[str, float]:
        """Figures of the second epoch, and the first one's seconds."""
        seconds = self.ends[2] - self.ends[1]
        return {
            "examples_per_second": len(shape.features) / seconds,
            "milliseconds_an_update": 1000 * seconds / UPDATES,
            "tflops": shape.operations() / seconds / 1e12,
            "first_epoch_seconds": self.ends[1] - self.ends[0],
            "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
            **self.profiled,
        }


def ours(shape: Shape) -> dict[str, float]:
    """Our trainer as in a run in bf16, with graphs."""
    device, watch = torch.device(DEVICE), Watch()
    backbone = Backbone(transformers.AutoModel.from_config(shape.config))
    heads: dict[str, Callable[[], Any]] = {
        "sentence": partial(LabelHead, backbone, ("0", "1")),
        "tagging": partial(TaggingHead, backbone, list(map(str, range(TAGS)))),
        "span": partial(SpanHead, backbone),
    }
    model = EncoderWithHead(backbone, heads[shape.head]())
    model.head.initialise()
    notes = take_fast_paths(model, device=device)
    engine = Engine(model=model, accelerator=build_accelerator(device, "bf16"), pad_id=0, watch=unwatched)
    rows = [SentenceRow(id=str(feature.row), text="", gold="0") for feature in shape.features]
    settings = Train(batch_size=shape.batch, epochs=EPOCHS, learning_rate=RATE, precision="bf16")

    def scored(engine: Engine) -> Any:
        watch.mark()
        return unscored(engine)

    trainer = Trainer(engine=engine, settings=settings, data_seed=0, rows=rows)
    model.to(device)
    watch.mark()
    progress, _ = trainer.fit(shape.features, scored)
    assert not [*notes, *progress.notes], (notes, progress.notes)
    return watch.measured(shape)


class Epochs(transformers.TrainerCallback):  # type: ignore[misc]
    """Marks epochs."""

    def __init__(self, watch: Watch) -> None:
        self.on_train_begin = self.on_epoch_end = watch.mark


def theirs(shape: Shape, *, compiled: bool = False) -> dict[str, float]:
    """transformers.Trainer on the same rows."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models

    watch, tagging = Watch(), shape.head == "tagging"
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, unk_token="[UNK]")), pad_token="[PAD]"
    )
    kinds = {"sentence": "SequenceClassification", "tagging": "TokenClassification", "span": "QuestionAnswering"}
    shape.config.num_labels = TAGS if tagging else 2
    collator = transformers.DataCollatorForTokenClassification if tagging else transformers.DataCollatorWithPadding
    with TemporaryDirectory() as scratch:
        args = transformers.TrainingArguments(
            output_dir=scratch, per_device_train_batch_size=shape.batch, num_train_epochs=EPOCHS, learning_rate=RATE,
            train_sampling_strategy="group_by_length", bf16=True, optim="adamw_torch_fused", dataloader_num_workers=4,
            dataloader_persistent_workers=True, logging_nan_inf_filter=False, torch_compile=compiled,
            logging_strategy="no", save_strategy="no", eval_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        transformers.Trainer(
            model=getattr(transformers, f"BertFor{kinds[shape.head]}")(shape.config), args=args,
            train_dataset=Dataset.from_list([_theirs(shape.head, feature) for feature in shape.features]),
            data_collator=collator(tokenizer, pad_to_multiple_of=8), processing_class=tokenizer,
            callbacks=[Epochs(watch)],
        ).train()  # fmt: skip
    return watch.measured(shape)


def _theirs(head: str, feature: Any) -> dict[str, Any]:
    """A row as transformers' collators take it."""
    row: dict[str, Any] = {name: list(getattr(feature, name)) for name in ("input_ids", "token_type_ids")}
    row["attention_mask"] = [1] * len(feature)
    if head == "sentence":
        return row | {"label": feature.label}
    if head == "span":
        return row | dict(zip(("start_positions", "end_positions"), feature.label, strict=True))
    labels = dict(zip(feature.reads, feature.label, strict=True))
    return row | {"labels": [labels.get(place, -100) for place in range(len(feature))]}


CONTESTANTS: dict[str, Callable[[Shape], dict[str, float]]] = {
    "finetune": ours, "trainer": theirs, "trainer-compiled": partial(theirs, compiled=True),
}  # fmt: skip


def checked() -> dict[str, Any]:
    """The tests marked `gpu`: how many passed, and the names and first lines of those that did not."""
    with TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        run([sys.executable, "-m", "pytest", "-q", "-n", "4", "-m", "gpu", "tests/gpu", f"--junitxml={report}"])
        cases = list(ElementTree.parse(report).iter("testcase"))
    faults = [(case, fault) for case in cases for fault in case if fault.tag in ("failure", "error")]
    bad = {str(case.get("name")): str(fault.get("message"))[:300] for case, fault in faults}
    skipped = sum(case.find("skipped") is not None for case in cases)
    return {"passed": len(cases) - len(bad) - skipped, "skipped": skipped, "failed": bad}


def peak() -> float:
    """The rate of a large matrix product in bf16, TFLOP/s."""
    left, right = (torch.randn(PEAK, PEAK, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def products() -> None:
        for _ in range(10):
            left @ right
        torch.cuda.synchronize()

    products()
    return 10 * 2 * PEAK**3 / timed(products) / 1e12


def measured(contestant: str, shape: str) -> dict[str, float]:
    """The figures of a contestant."""
    with redirect_stdout(sys.stderr):
        return CONTESTANTS[contestant](Shape(shape))


def speed(parts: Parts, shapes: Sequence[str], contestants: Sequence[str], rounds: int) -> None:
    """Each contestant on each shape, in a process a round, in alternation; written after each."""
    found: dict[str, dict[str, list[Any]]] = {shape: {name: [] for name in contestants} for shape in shapes}
    for _, name in alternating(contestants, rounds):
        for shape in shapes:
            found[shape][name].append(fresh(measured, name, shape))
            print(shape, name, found[shape][name][-1], flush=True)
            parts.write(speed=found)


def main() -> None:
    """Checks, measures and writes."""
    given = options(__doc__, parts=("checks", "speed"), shapes=SHAPES, compiled=False, rounds=2)
    if not torch.cuda.is_available():
        raise SystemExit("this machine has no GPU that torch can use")
    facts = {"device": torch.cuda.get_device_name(), "peak_tflops": peak()}
    for name in given.parts:
        out = given.out and given.out / f"{name}.json"
        parts = Parts(out, f"{name} on a GPU: {UPDATES} updates an epoch", key=name, **facts)
        if name == "checks":
            parts.write(checks=checked())
        else:
            speed(parts, given.shapes, tuple(CONTESTANTS)[: 3 if given.compiled else 2], given.rounds)


if __name__ == "__main__":
    main()
