"""An exported graph has torch's logits, and its folder is a model like any other for what predicts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.exported import exported_facts, with_graph
from support.predicted_files import predict, read, written
from support.runs import REVIEWS, FinishedRun
from support.toys import labelled_shapes, late_task
from support.training import Train, build

import finetune as package
from finetune.data.checksums import write_checksums
from finetune.errors import UserError
from finetune.inference import feature_batches
from finetune.inference.export_facts import EXPORT
from finetune.inference.exported_engine import ExportedEngine, OnnxSession
from finetune.inference.feature_batches import Diverged
from finetune.inference.predict_file import predict_file
from finetune.inference.predictor import load_predictor
from finetune.models.feature import Feature
from finetune.runs.events import Event, RowsPredicted, unwatched
from finetune.task_types.task import Task

EVERY = [
    pytest.param(task, marks=pytest.mark.slow if task.name == "toy-cats" else pytest.mark.nightly)
    for task in (*labelled_shapes(), late_task())
]


@pytest.mark.parametrize("task", EVERY, ids=lambda task: task.name)
def test_logits_equal_those_of_torch_whatever_the_batch(
    task: Task, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, features = build(task, tiny_bert, Train())
    own = trainer.engine
    facts = exported_facts(with_graph(own.model.eval(), tmp_path / "model.onnx"))
    session = OnnxSession(tmp_path / "model.onnx")
    exported = ExportedEngine(session=session, exported=facts, pad_id=own.pad_id, watch=unwatched)
    assert (exported.most_tokens, exported.labels) == (own.most_tokens, own.labels)
    empty = Feature(row=0, input_ids=[2, 3], token_type_ids=[0, 0])
    for tokens in (40, 4_000):
        monkeypatch.setitem(feature_batches.BATCH_TOKENS, "cpu", tokens)
        for some in (features[:60], [], *[[empty], [empty, *features[:3]]] * (task.name == "toy-cats")):
            for one, other in zip(exported.logits(some), own.logits(some), strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5)


def test_logits_are_in_the_order_of_the_texts_and_nan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = list[tuple[int, ...]]()

    def count(inputs: dict[str, np.ndarray]) -> np.ndarray:
        shapes.append(inputs["input_ids"].shape)
        return np.asarray(inputs["attention_mask"].sum(1, keepdims=True).astype(np.float32))

    monkeypatch.setitem(feature_batches.BATCH_TOKENS, "cpu", 20)
    texts = [Feature(row=row, input_ids=[1] * size) for row, size in enumerate((3, 9, 7, 9, 2))]
    found = ExportedEngine(session=count, exported=exported_facts({}), pad_id=0, watch=unwatched).logits(texts)
    assert [each.tolist() for each in found] == [[3], [9], [7], [9], [2]]
    assert shapes == [(2, 9), (2, 7), (1, 2)]
    nan = ExportedEngine(
        session=lambda given: count(given) * np.nan, exported=exported_facts({}), pad_id=0, watch=unwatched
    )
    with pytest.raises(Diverged, match="nan"):
        nan.logits(texts)


@pytest.fixture(scope="session")
def export(exported_run: FinishedRun) -> Path:
    return exported_run("sentence")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    texts = [f"{text} {'the cat sat on it ' * (i % 9)}" for i, (text, _) in enumerate(REVIEWS * 3)]
    return written(tmp_path / "new.csv", [("review",), *((text,) for text in texts)])


@pytest.mark.slow
def test_an_export_answers_as_its_run_and_resumes_its_own_journal_alone(
    export: Path, reviews: Path, new: Path, tmp_path: Path
) -> None:
    predictor, run, output = load_predictor(export), load_predictor(reviews), tmp_path / "out.csv"
    predict(run, new, tmp_path / "run.csv")
    predict(predictor, new, tmp_path / "export.csv")
    ours, theirs = read(tmp_path / "export.csv"), read(tmp_path / "run.csv")
    for one, other in zip(ours, theirs, strict=True):
        assert one["prediction"] == other["prediction"]
        assert float(one["p(good)"]) == pytest.approx(float(other["p(good)"]), abs=1e-5)

    def stopped(event: Event) -> None:
        if isinstance(event, RowsPredicted) and event.done >= 64:
            raise KeyboardInterrupt

    for stopped_in, resumed in ((predictor, 64), (run, 0)):
        with pytest.raises(KeyboardInterrupt):
            predict_file(stopped_in, new, output, options={}, watch=stopped)
        assert predict(predictor, new, output).resumed == resumed
        assert output.read_bytes() == (tmp_path / "export.csv").read_bytes()
        output.unlink()
    model, own = package.load(export), package.load(reviews)
    data = reviews.parents[2] / "reviews.csv"
    assert (model.labels, model("the cat sat").value) == (own.labels, own("the cat sat").value)
    assert package.evaluate(export, data).scores == package.evaluate(reviews, data).scores
    with pytest.raises(UserError, match="Name the run"):
        model.explain("the cat sat")


def test_an_export_of_version_0_1_has_its_graph_at_the_top(export: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(export, tmp_path / "old"))
    (old / "onnx" / "model.onnx").rename(old / "model.onnx")
    (old / "onnx").rmdir()
    write_checksums(old)
    assert package.load(old)("the cat sat").probabilities == package.load(export)("the cat sat").probabilities


TORCHLESS = """import sys
class Absent:
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.slow
def test_without_torch_it_predicts_and_writes_nothing_but_its_output(
    export: Path, new: Path, reviews: Path, tmp_path: Path
) -> None:
    """onnxruntime would keep an id of the device and a store of events in the home folder."""
    home, scratch, data = tmp_path / "home", tmp_path / "scratch", str(reviews.parents[2] / "reviews.csv")
    for folder in (home, scratch):
        folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "FINETUNE_", "HF_"))}
    env |= {"HOME": str(home), "TMPDIR": str(scratch), "FINETUNE_CACHE": str(tmp_path / "cache")}
    code = (
        f"import finetune; m = finetune.load({str(export)!r}); m('the cat'); m.predict(['the cat']);"
        f" finetune.evaluate(m.folder, {data!r});"
        " assert not [n for n in sys.modules if n.split('.')[0] in ('transformers', 'accelerate', 'datasets')];"
        f" sys.argv[1:] = ['predict', {str(export)!r}, {str(new)!r}, '-o', 'out.csv'];"
        " from finetune.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", TORCHLESS + code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(read(tmp_path / "out.csv")) == 240
    assert [*home.rglob("*"), *scratch.rglob("*")] == []


@pytest.mark.parametrize(
    ("name", "old", "new_content", "words"),
    [
        ("onnx/model.onnx", None, b"not a graph", ["onnxruntime cannot load it"]),
        ("checksums.json", None, None, ["missing"]),
        (EXPORT, b'"onnx"', b'"tensorrt"', ["engine"]),
        (EXPORT, b"{", b"", ["JSON"]),
    ],
)
def test_a_damaged_folder_is_one_error_that_names_the_file(
    name: str, old: bytes | None, new_content: bytes | None, words: list[str], export: Path, tmp_path: Path
) -> None:
    """A graph that was changed is not loaded."""
    copy = Path(shutil.copytree(export, tmp_path / "export"))
    content = (copy / name).read_bytes()
    if new_content is None:
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(new_content if old is None else content.replace(old, new_content))
        if name == "onnx/model.onnx":
            with pytest.raises(UserError, match=r"model\.onnx.*checksum"):
                load_predictor(copy)
        write_checksums(copy)
    with pytest.raises(UserError, match=f"{name}") as raised:
        load_predictor(copy)("the cat")
    assert [word for word in words if word not in str(raised.value)] == []
