"""An export's folder is a model name like any other, for what predicts; the rest names the run to use instead."""

import csv
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.cli import Finetune, assert_error
from support.predicted_files import predict, written
from support.runs import REVIEWS, FinishedRun
from support.training import CPU

import finetune as package
from finetune.data.checksums import write_checksums
from finetune.errors import UserError
from finetune.inference.export_facts import EXPORT, read_export_facts
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import Predictor, load_predictor
from finetune.models.device import build_accelerator
from finetune.runs.events import Event, RowsPredicted
from finetune.runs.folder import RunFolder

TORCHLESS = """import sys
class Absent:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="session")
def export(exported_run: FinishedRun) -> Path:
    return exported_run("sentence")


@pytest.fixture
def copy(export: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(export, tmp_path / "export"))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    texts = [f"{text} {'the cat sat on it ' * (i % 9)}" for i, (text, _) in enumerate(REVIEWS * 3)]
    return written(tmp_path / "new.csv", [("review",), *((text,) for text in texts)])


def cells(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def assert_same_cells(one: Path, other: Path) -> None:
    ours, theirs = cells(one), cells(other)
    assert [row["prediction"] for row in ours] == [row["prediction"] for row in theirs]
    for name in ours[0]:
        if name.startswith("p("):
            assert np.allclose([float(row[name]) for row in ours], [float(row[name]) for row in theirs], atol=1e-5)


def in_single_precision(predictor: Predictor) -> Predictor:
    """As a graph computes; by itself torch takes bf16 where the processor has it."""
    engine = replace(predictor.torch_engine, accelerator=build_accelerator(CPU, "fp32"))
    return replace(predictor, engine=engine)


def test_an_export_answers_a_file_as_its_run(export: Path, reviews: Path, new: Path, tmp_path: Path) -> None:
    predict(in_single_precision(load_predictor(reviews)), new, tmp_path / "run.csv")
    predict(load_predictor(export), new, tmp_path / "export.csv")
    assert_same_cells(tmp_path / "run.csv", tmp_path / "export.csv")


def test_a_stopped_prediction_resumes(export: Path, new: Path, tmp_path: Path) -> None:
    predictor, whole, output = load_predictor(export), tmp_path / "whole.csv", tmp_path / "out.csv"
    predict(predictor, new, whole)

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(predictor, new, output, options={}, watch=stopped)
    assert predict(predictor, new, output).resumed == 64
    assert output.read_bytes() == whole.read_bytes()


def test_a_run_and_its_export_share_no_journal(export: Path, reviews: Path, new: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(load_predictor(reviews), new, output, options={}, watch=stopped)
    assert predict(load_predictor(export), new, output).resumed == 0


def test_nothing_on_its_path_imports_torch_or_transformers(export: Path, new: Path, tmp_path: Path) -> None:
    """Neither in the command nor in Python."""
    arguments = ["predict", str(export), str(new), "-o", "out.csv"]
    command = f"sys.argv[1:] = {arguments}; from finetune.cli.app import main; main()"
    code = (
        f"import finetune; m = finetune.load({str(export)!r}); m('the cat'); m.predict(['the cat']);"
        f" finetune.evaluate(m.folder, {str(reviews_file(export))!r});"
        " assert not [n for n in sys.modules if n.split('.')[0] in ('transformers', 'accelerate', 'datasets')]"
    )
    for part in (command, code):
        done = subprocess.run(
            [sys.executable, "-c", TORCHLESS + part], cwd=tmp_path, capture_output=True, text=True, env=os.environ
        )
        assert done.returncode == 0, done.stderr
    assert len(cells(tmp_path / "out.csv")) == 240


def test_a_new_process_writes_nothing_but_its_output(export: Path, new: Path, tmp_path: Path) -> None:
    """onnxruntime would keep an id of the device and a store of events in the home folder."""
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    for folder in (home, scratch):
        folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "FINETUNE_", "HF_"))}
    env |= {"HOME": str(home), "TMPDIR": str(scratch), "FINETUNE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "finetune", "predict", export, new, "-o", "out.csv"]
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    assert len(cells(tmp_path / "out.csv")) == 240
    assert [*home.rglob("*"), *scratch.rglob("*")] == []


@pytest.mark.slow
def test_it_starts_at_once(export: Path, new: Path, finetune: Finetune) -> None:
    """In seconds of the processor, about one; importing what trains takes five."""
    seconds = []
    for _ in range(4):
        before = os.times()
        assert finetune("predict", export, new, "-o", "out.csv", "--force").returncode == 0
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(seconds) < 3  # with the 240 rows


def reviews_file(export: Path) -> Path:
    return export.parent / "sentence" / "reviews.csv"


def test_the_commands_that_need_torch_say_so_without_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,b\nc,d\n")
    code = TORCHLESS + "sys.argv[1:] = ['run', 'a.csv']; from finetune.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert_error(done.stderr, "torch", "bert-finetune[train]")


def test_an_export_takes_no_other_device(here: Finetune, export: Path, new: Path) -> None:
    assert_error(here("predict", export, new, "--device", "cuda").stderr, "--device")
    assert_error(here("predict", export, new, "--engine", "torch").stderr, "was taken out", "finetune export")


def test_a_missing_engine_names_its_extra(
    here: Finetune, export: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert_error(here("predict", export, new).stderr, "onnxruntime", "bert-finetune[onnx]")


def test_what_it_cannot_do_names_its_run(here: Finetune, export: Path, new: Path) -> None:
    run = read_export_facts(export).source.run
    for arguments in (
        ("explain", export, "the cat"),
        ("features", export, new, "-o", "f.npz"),
        ("view", export, "the cat"),
    ):
        done = here(*arguments)
        assert done.returncode == 2
        assert_error(done.stderr, str(export), run)
    for arguments in (("run", reviews_file(export), f"model={export}"), ("show", export)):
        done = here(*arguments)
        assert done.returncode == 2
        assert_error(done.stderr, export.name, "export.json")


def test_faults_of_a_folder(here: Finetune, copy: Path, new: Path) -> None:
    """Each is one line that names the file. A graph that was changed is not loaded."""

    def assert_fault(*words: str) -> None:
        done = here("predict", copy, new)
        assert done.returncode == 2
        assert_error(done.stderr, *words)

    graph, content = copy / "model.onnx", (copy / "model.onnx").read_bytes()
    graph.write_bytes(content[:-9] + b"123456789")
    assert_fault("model.onnx", "checksum")
    write_checksums(copy)
    graph.write_bytes(b"not a graph")
    write_checksums(copy)
    assert_fault("model.onnx", "onnxruntime cannot load it")
    graph.unlink()
    assert_fault("model.onnx", "missing")
    graph.write_bytes(content)
    write_checksums(copy)
    (copy / "tokenizer.json").unlink()
    assert_fault("tokenizer.json", "missing")
    facts = (copy / EXPORT).read_text()
    for changed, word in (
        (facts.replace('"format": 1', '"format": 2'), "format"),
        (facts[:-20], "JSON"),
        (facts.replace('"onnx"', '"tensorrt"'), "engine"),
        (facts.replace('"onnx"', '"openvino"'), "'openvino' was taken out"),
        (facts.replace('"most_tokens": 128', '"most_tokens": -1'), "most_tokens"),
        (facts.replace('"bits": null', '"bits": 8'), "bits"),
        (facts.replace('"attention_mask"', '"positions"'), "attention_mask"),
        ("[]", EXPORT),
    ):
        (copy / EXPORT).write_text(changed)
        assert_fault(EXPORT, word)
    (copy / "checksums.json").unlink()
    (copy / EXPORT).write_text(facts)
    assert_fault("checksums.json", "missing")


def test_the_model_in_python(export: Path, reviews: Path) -> None:
    model, own = package.load(export), package.load(reviews)
    assert model.labels == own.labels
    assert model("the cat sat").value == own("the cat sat").value
    assert (
        package.evaluate(export, reviews_file(export)).scores == package.evaluate(reviews, reviews_file(export)).scores
    )
    with pytest.raises(UserError, match="Name the run"):
        model.explain("the cat sat")
    assert RunFolder(reviews).record() is not None
