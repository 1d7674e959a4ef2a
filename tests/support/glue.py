"""GLUE's submission: test sets of random words, models with random heads, and what a zip holds."""

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from finetune.commands import submission
from finetune.models.building import build_model
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find
from support.toys import sentences
from support.training import CPU

Checkpoint = Callable[..., str]

OFFICIAL = {
    "CoLA.tsv": 1063,
    "SST-2.tsv": 1821,
    "MRPC.tsv": 1725,
    "STS-B.tsv": 1379,
    "QQP.tsv": 390965,
    "MNLI-m.tsv": 9796,
    "MNLI-mm.tsv": 9847,
    "QNLI.tsv": 5463,
    "RTE.tsv": 3000,
    "WNLI.tsv": 146,
    "AX.tsv": 1104,
}
NINE = ["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"]
FEW = 150  # rows at most of a set that is predicted in a test
PAIR = "index\tsentence1\tsentence2"
FILES = {  # header, and one line of the official test file
    "CoLA.tsv": ("CoLA/test.tsv", "index\tsentence", "{0}\t{1}"),
    "SST-2.tsv": ("SST-2/test.tsv", "index\tsentence", "{0}\t{1}"),
    "MRPC.tsv": ("MRPC/test.tsv", "index\t#1 ID\t#2 ID\t#1 String\t#2 String", "{0}\t1\t2\t{1}\t{2}"),
    "STS-B.tsv": ("STS-B/test.tsv", PAIR, "{0}\t{1}\t{2}"),
    "QQP.tsv": ("QQP/test.tsv", "id\tquestion1\tquestion2", "{0}\t{1}\t{2}"),
    "MNLI-m.tsv": ("MNLI/test_matched.tsv", PAIR, "{0}\t{1}\t{2}"),
    "MNLI-mm.tsv": ("MNLI/test_mismatched.tsv", PAIR, "{0}\t{2}\t{1}"),
    "QNLI.tsv": ("QNLI/test.tsv", "index\tquestion\tsentence", "{0}\t{1}\t{2}"),
    "RTE.tsv": ("RTE/test.tsv", PAIR, "{0}\t{1}\t{2}"),
    "WNLI.tsv": ("WNLI/test.tsv", PAIR, "{0}\t{1}\t{2}"),
    "AX.tsv": ("diagnostic/diagnostic.tsv", PAIR, "{0}\t{1}\t{2}"),
}


@pytest.fixture(scope="session")
def checkpoint(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The folder of a model with a random head for a task, its logits spread around 0, and then around a bias."""

    def make(task: str, *, bias: float = 0.0) -> str:
        folder = tmp_path_factory.mktemp(task)
        tokenizer = load_tokenizer(tiny_bert)
        model, _ = build_model(tiny_bert, find(task).head, Recipe(task="any", seed=0), device=CPU)
        pairs = None if task in ("cola", "sst2") else sentences(64, seed=2)
        tokens = tokenizer(sentences(64), pairs, padding=True, return_tensors="pt")
        output = model.head.output
        with torch.no_grad():
            logits = model.eval()(tokens["input_ids"], tokens["attention_mask"], tokens["token_type_ids"], None)
            output.weight /= logits.std(dim=0)[:, None]
            output.bias.copy_((output.bias - logits.mean(dim=0)) / logits.std(dim=0) + bias)
        save_checkpoint(model, folder, tokenizer, {"task": task})
        return str(folder)

    return make


@pytest.fixture(scope="session")
def nine(checkpoint: Checkpoint) -> dict[str, str]:
    return {task: checkpoint(task) for task in NINE}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Official test files of random words, with a few rows."""
    folder = tmp_path_factory.mktemp("glue-test-sets")
    for name in FILES:
        write_test_set(folder, name, min(OFFICIAL[name], FEW))
    return folder


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts that the made files have."""
    small = [replace(file, rows=min(file.rows, FEW)) for file in submission.FILES]
    monkeypatch.setattr(submission, "FILES", tuple(small))


def write_test_set(folder: Path, name: str, rows: int) -> Path:
    place, header, line = FILES[name]
    texts = sentences(2 * rows, seed=len(name))
    lines = [line.format(index, texts[2 * index], texts[2 * index + 1]) for index in range(rows)]
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text("\n".join([header, *lines]) + "\n")
    return folder / place


def predictions_of(file: Path) -> dict[str, list[str]]:
    """The predictions of each file of a zip, whose form is checked: header, and an index that counts from 0."""
    found = {}
    with zipfile.ZipFile(file) as gzipped:
        for name in gzipped.namelist():
            text = gzipped.read(name).decode("utf-8")
            assert text.endswith("\n")
            header, *lines = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
            assert header == ["index", "prediction"]
            assert [line[0] for line in lines] == [str(index) for index in range(len(lines))]
            found[name] = [prediction for _, prediction in lines]
    return found
