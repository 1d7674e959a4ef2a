"""Pre-training speed on a CPU against transformers' run_mlm: same text, vocabulary, model, batch, and no dropout.

finetune tokenizer corpus.txt -o vocabulary
python benchmarks/pretraining_speed.py corpus.txt vocabulary --out results/benchmarks/FILE.json
"""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import numpy as np
import torch
from against_trainer import EndOfUpdate, LossTrainer
from datasets import Dataset
from dated import out_parser, write_json
from measuring import Meter, fresh
from pretraining_job import Job, Result, train_ours
from transformers import BertForMaskedLM, DataCollatorForLanguageModeling, PrinterCallback, TrainingArguments

from finetune.data.documents import read_documents
from finetune.data.source import Source
from finetune.inference.feature_batches import stepped
from finetune.models.feature import lengths
from finetune.models.tokenizers.load import read_tokenizer
from finetune.models.untrained import size_of
from finetune.task_types.resolved_run import resolved_run
from finetune.training.prepare import build_run, plan_run
from finetune.training.updates import Batches

SIZES = ("new:tiny", "new:mini")
PATHS = ("out", "text", "vocabulary")


def train_theirs(job: Job) -> Result:
    """Trainer as run_mlm.py sets it up: all lines in one, cut into blocks of the length, masks from the collator."""
    started = time.perf_counter()
    tokenizer = read_tokenizer(job.vocabulary)
    config = size_of(job.model).config(tokenizer)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(job.seed)
    model = BertForMaskedLM(config)
    meter = Meter(model)
    wanted = job.updates * job.batch_size * job.length
    ids = np.fromiter(chain.from_iterable(_lines(job.text, tokenizer)), np.int64, wanted)
    blocks = Dataset.from_dict({"input_ids": ids.reshape(-1, job.length).tolist()})
    with TemporaryDirectory() as scratch:
        settings = TrainingArguments(
            output_dir=scratch, per_device_train_batch_size=job.batch_size, max_steps=job.updates,
            learning_rate=1e-3, weight_decay=0.01, warmup_steps=0.1, seed=job.seed, use_cpu=True,
            logging_strategy="no", save_strategy="no", eval_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        trainer = LossTrainer(
            model=model, args=settings, train_dataset=blocks, callbacks=[EndOfUpdate(meter)],
            data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15),
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.losses = []
        trainer.train()
    found = meter.measurement([float(loss) for loss in trainer.losses])
    return Result(measured=found, masks=0.0, memory=machine.memory()["VmHWM"], first_update=meter.ends[0] - started)


def _lines(text: Path, tokenizer: Any) -> Any:
    """The ids of each line between special tokens, from the start again where the text ends."""
    while True:
        for document in read_documents(text):
            yield from tokenizer(list(document.lines))["input_ids"]


CONTESTANTS: dict[str, Callable[[Job], Result]] = {"finetune": train_ours, "run_mlm": train_theirs}


def padding_share(job: Job) -> float:
    """The share of padding in batches."""
    with TemporaryDirectory() as scratch:
        os.environ["FINETUNE_CACHE"] = scratch
        planned = plan_run(resolved_run(job.recipe), source=Source(), device="cpu")
        build_run(planned)
        each = lengths(planned.features[planned.task.train_split])
    every = Batches(each, batch_size=job.batch_size, data_seed=0, updates=len(each) // job.batch_size)
    batches = every[: len(every)]
    padded = sum(len(batch) * stepped(int(each[batch].max()), most=job.length) for batch in batches)
    tokens = sum(int(each[batch].sum()) for batch in batches)
    return 1 - tokens / padded


def _compared(job_of: Callable[..., Job], model: str, rounds: int) -> dict[str, Any]:
    """All measurements of a model, and the ratio of the medians in tokens a second without padding."""
    found: dict[str, list[Result]] = {name: [] for name in CONTESTANTS}
    for number in range(rounds):
        for name in list(CONTESTANTS)[:: -1 if number % 2 else 1]:
            result = fresh(CONTESTANTS[name], job_of(model=model, seed=number))
            found[name].append(result)
            print(f"{model}  round {number + 1}  {name}: {result.measured.tokens_per_second:,.0f} tokens/s", flush=True)
    medians = {name: statistics.median(one.measured.tokens_per_second for one in each) for name, each in found.items()}
    return {
        "tokens_per_second": medians,
        "ratio": medians["finetune"] / medians["run_mlm"],
        "masks_share": statistics.median(one.masks for one in found["finetune"]),
        "measurements": {name: [asdict(one) for one in each] for name, each in found.items()},
    }


def main() -> None:
    """Reads the options, measures, prints and writes."""
    parser = out_parser(__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("text", type=Path, help="a file of text")
    parser.add_argument("vocabulary", type=Path, help="folder of `finetune tokenizer`")
    parser.add_argument("--models", nargs="+", default=list(SIZES))
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each contestant")
    given = parser.parse_args()
    shared = {"text": given.text.resolve(), "vocabulary": given.vocabulary.resolve(), "updates": given.updates}
    job_of = partial(Job, **shared, batch_size=given.batch_size, length=given.length)
    smallest = job_of(model=given.models[0], seed=0)
    parts: dict[str, Callable[[], Any]] = {
        **{model: partial(_compared, job_of, model, given.rounds) for model in given.models},
        "padding_share": partial(fresh, padding_share, smallest),
    }
    settings = {key: value for key, value in vars(given).items() if key not in PATHS}
    measured: dict[str, Any] = {}
    for name, measure in parts.items():
        measured[name] = measure()
        write_json(given.out, {**machine.facts(), "settings": settings, **measured})
    for model in given.models:
        ratio, masks = measured[model]["ratio"], measured[model]["masks_share"]
        print(f"{model}: {ratio:.2f} times the tokens/s of run_mlm; masks take {masks:.1%} of an update")
    print(f"{measured['padding_share']:.1%} of a batch is padding")


if __name__ == "__main__":
    main()
