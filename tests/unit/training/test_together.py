"""Several tasks in one run: whose batch is next, one encoder, and a model, predictions and scores for each task."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.cli import InProcess, assert_error
from support.runs import DATA
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.runs.events import unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run
from finetune.runs.predictions import read_lines
from finetune.runs.record_files import load_record
from finetune.runs.together import Sampling
from finetune.training.run_options import RunOptions
from finetune.training.targets import load_target
from finetune.training.together.batches import tasks_of_updates
from finetune.training.together.run import run_together
from finetune.training.trainer import Paused

pytestmark = pytest.mark.nightly

KINDS = ("sentence", "tagging", "regression")
NAMES = ["number.csv", "reviews.csv", "tags.conll"]
SETTINGS = {
    "max_length": 16,
    "train.epochs": 2,
    "train.batch_size": 8,
    "train.learning_rate": 2e-3,
    "train.precision": "fp32",
}

Trained = Callable[..., RunFolder]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of data of different types, in the working folder."""
    for kind in KINDS:
        name, content, _ = DATA[kind]
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trained(files: Path, tiny_bert: Path) -> Trained:
    """Trains the three together, in a folder of runs."""

    def train(out: str = "results", pause_after: int | None = None, **settings: Any) -> RunFolder:
        tasks = ", ".join(f'{{ task = "{DATA[kind][0]}" }}' for kind in KINDS)
        (files / "three.toml").write_text(f'model = "{tiny_bert}"\n[together]\ntasks = [{tasks}]\n')
        usual = {
            key: value for key, value in SETTINGS.items() if "train.updates" not in settings or "epochs" not in key
        }
        resolved = load_target("three.toml", usual | settings)
        options = RunOptions(source=source_of(None), out=files / out, device="cpu")
        record = run_together(resolved, options, watch=unwatched, pause_after=pause_after)
        return RunFolder.of(files / out, record.task, record.id)

    return train


def weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    """All weights of the models of a run, by file and name."""
    found = sorted(folder.path.glob("**/*.safetensors"))
    return {f"{file.parts[-4:-2]} {name}": one for file in found for name, one in load_file(file).items()}


@pytest.mark.parametrize("sampling", ["proportion", "turns", 0.0, 0.5, 1.0])
def test_whose_batch_is_next_is_a_function_of_seed_and_update(sampling: Sampling) -> None:
    given: dict[str, Any] = {"sampling": sampling, "data_seed": 3}
    batches, counts = np.array([1, 4, 25]), np.array([10, 40, 250])
    found = tasks_of_updates(batches, counts, updates=3_000, **given)
    assert (tasks_of_updates(batches, counts, updates=100, **given) == found[:100]).all()
    shares = np.bincount(found) / len(found)
    power = {"proportion": 1.0, "turns": 0.0}.get(str(sampling), sampling)
    expected = counts ** float(power)  # type: ignore[arg-type]
    assert shares == pytest.approx(expected / expected.sum(), abs=0.03)
    if sampling == "proportion":
        assert (np.sort(found[:30]) == np.repeat([0, 1, 2], batches)).all()
        assert (found[:30] != found[30:60]).any()


def test_each_task_has_its_model_predictions_and_scores_on_one_encoder(trained: Trained) -> None:
    folder = trained()
    record = load_record(folder.record_file)
    scores = dict(record.scores["dev"])
    assert scores.pop("mean") == pytest.approx(sum(scores.values()) / 3)
    assert [name.split()[0] for name in scores] == NAMES
    encoder = load_file(folder.model / "model.safetensors")
    for name, headline in zip(NAMES, scores.values(), strict=True):
        run = find_run(f"{record.id}/{name}", folder.path.parents[1])
        assert run is not None
        own = load_record(run.record_file)
        assert (own.task, own.score, own.together and own.together.run) == (name, headline, record.id)
        assert [len(own.epochs), own.epochs[-1]["headline"]] == [2, own.score]
        state = {key.removeprefix("bert."): one for key, one in load_file(run.model / "model.safetensors").items()}
        assert all(torch.equal(encoder[key], state[key]) for key in encoder if not key.startswith("pooler"))
        assert sum(key in state for key in encoder) > 30
        predictor, lines = load_predictor(run.path), read_lines(run, "dev")
        if name == "reviews.csv":
            again = predictor([line["text"] for line in lines])
            assert [one.value for one in again] == [line["prediction"] for line in lines]


def test_the_classes_of_transformers_load_each_task(trained: Trained) -> None:
    folder = trained()
    text = "the cat sat 1"
    for name, kind in (
        ("reviews.csv", AutoModelForSequenceClassification),
        ("tags.conll", AutoModelForTokenClassification),
    ):
        run = find_run(str(folder.path / name), Path())
        assert run is not None
        model, predictor = kind.from_pretrained(run.model).eval(), load_predictor(run.path)
        inputs = AutoTokenizer.from_pretrained(run.model)(text, return_tensors="pt")
        logits = model(**inputs).logits[0]
        if name == "reviews.csv":
            ours = predictor.engine.logits(predictor.encoded([predictor.row(text)]))[0]
            assert logits.detach().numpy() == pytest.approx(ours, abs=1e-5)
        assert logits.isfinite().all()


def test_a_run_that_resumes_ends_with_the_same_bits(trained: Trained) -> None:
    whole = weights(trained("whole"))
    with pytest.raises(Paused):
        trained("parts", pause_after=1)
    resumed = weights(trained("parts"))
    assert whole.keys() == resumed.keys() and len(whole) > 100
    assert all(torch.equal(one, resumed[name]) for name, one in whole.items())


def test_the_best_epoch_is_that_of_the_mean(trained: Trained) -> None:
    record = load_record(trained(**{"train.select": "best", "train.epochs": 3}).record_file)
    means = [epoch["headline"] for epoch in record.epochs]
    assert record.selected_epoch == 1 + int(np.argmax(means))
    assert record.score == pytest.approx(max(means))


def test_what_decides_the_result_decides_the_id(files: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, once = trained().path.name, {"train.epochs": 1}
    ids = {trained(**once).path.name, trained(**once, **{"together.sampling": "turns"}).path.name}
    ids.add(trained(**once, **{"together.weights": {"reviews.csv": 2.0}}).path.name)
    assert len({usual, *ids}) == 4
    assert trained(**{"together.weights": {}}).path.name == usual


def test_a_weight_counts_and_a_task_without_a_batch_keeps_its_head(trained: Trained) -> None:
    one = {"train.updates": 1, "together.sampling": "turns", "train.warmup": 0.0, "train.dropout": 0.0}
    plain, heavier = trained(**one), trained(**one, **{"together.weights": {"number.csv": 3.0}})
    first, other = load_record(plain.record_file), load_record(heavier.record_file)
    assert other.epochs[0]["loss"] == pytest.approx(3 * first.epochs[0]["loss"], rel=1e-4)
    changed = trained(**one, **{"train.learning_rate": 1e-2})
    for name, moves in (("number.csv", True), ("reviews.csv", False)):
        before, after = (load_file(next(run.path.glob(f"{name}/*/model/*.safetensors"))) for run in (plain, changed))
        assert torch.equal(before["classifier.weight"], after["classifier.weight"]) != moves


def test_the_command_line_trains_lists_and_predicts(files: Path, tiny_bert: Path, in_process: InProcess) -> None:
    settings = [f"model={tiny_bert}", "train.updates=4", "max_length=16"]
    code, out, err = in_process("run", "reviews.csv", "tags.conll", "--together", *settings, "--quiet", data="")
    assert (code, "reviews.csv macro f1" in out, "tags.conll f1" in out) == (0, True, True), err
    (record_file,) = files.glob("results/*/*/record.json")
    run = record_file.parent.name
    code, out, _ = in_process("ls", data="")
    assert "reviews.csv macro f1" in out and run in out
    code, out, _ = in_process("show", f"{run}/tags.conll", data="")
    assert code == 0 and "reviews.csv, tags.conll; sampling proportion" in out
    (files / "new.csv").write_text("review\nthe cat sat\nthe dog ran\n")
    code, _, err = in_process("predict", f"{run}/reviews.csv", "new.csv", "-o", "out.csv", data="")
    assert code == 0, err
    assert len((files / "out.csv").read_text().splitlines()) == 3
    for command in (["predict", run, "new.csv"], ["card", run], ["show", run, "--predictions", "2"]):
        assert_error(in_process(*command, data="")[2], f"{run}/reviews.csv, {run}/tags.conll")
    assert_error(in_process("predict", f"{run}/review.csv", "new.csv", data="")[2], "reviews.csv")
    code, _, err = in_process("run", "reviews.csv", f"model={run}", *settings[1:], "--quiet", data="")
    assert code == 0, err
    single = next(file for file in files.glob("results/reviews.csv/*/record.json"))
    lineage = json.loads(single.read_text())["lineage"]
    assert lineage["run"] == run


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["reviews.csv"], "several tasks"),
        (["reviews.csv", "reviews.csv"], "reviews.csv is there twice"),
        (["reviews.csv", "tags.conll", "frozen=true"], "frozen"),
        (["reviews.csv", "tags.conll", "lora=4"], "lora"),
        (["reviews.csv", "tags.conll", "model=word2vec:8"], "word2vec"),
        (["reviews.csv", "tags.conll", "together.weights.tags=2"], "together.weights.tags"),
        (["reviews.csv", "tags.conll", "together.sampling=often"], "together.sampling"),
        (["glue-mrpc", "conll-2003"], "train.epochs (3, 4)"),
        (["glue-mrpc", "pretrain"], "perplexity"),
    ],
)
def test_groups_that_clash_are_one_line(files: Path, in_process: InProcess, typed: list[str], said: str) -> None:
    code, _, err = in_process("run", *typed, "--together", data="")
    assert code == 2
    assert_error(err, said)


def test_one_task_is_not_several(files: Path) -> None:
    (files / "one.toml").write_text('[together]\ntasks = [{ task = "reviews.csv" }]\n')
    with pytest.raises(UserError, match="a single task"):
        load_target("one.toml", {})
