"""GLUE's submission: eleven official files in one zip, complete, in order, spelled as the server reads them."""

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.cli import InProcess, assert_error
from support.toys import sentences
from support.training import CPU

import finetune
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference import glue_submission as submission
from finetune.inference import predictor
from finetune.models.saving import build_model, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.registry import find

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
FEW = 40  # rows of the sets that are too large to predict in a test
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
    """Official test files of random words: as many rows as GLUE's, or a few where it has very many."""
    folder = tmp_path_factory.mktemp("glue-test-sets")
    for name in FILES:
        write(folder, name, OFFICIAL[name] if OFFICIAL[name] <= 3000 else FEW)
    return folder


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts that the made files have."""
    small = [file if file.rows <= 3000 else replace(file, rows=FEW) for file in submission.FILES]
    monkeypatch.setattr(submission, "FILES", tuple(small))


def write(folder: Path, name: str, rows: int) -> Path:
    place, header, line = FILES[name]
    texts = sentences(2 * rows, seed=len(name))
    lines = [line.format(index, texts[2 * index], texts[2 * index + 1]) for index in range(rows)]
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text("\n".join([header, *lines]) + "\n")
    return folder / place


def read(file: Path) -> dict[str, list[str]]:
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


def test_nine_runs_make_eleven_files(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", *nine.values(), "-o", "glue.zip", data=made)
    assert code == 0, err
    assert "a constant" not in out
    found = read(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == {
        name: rows if rows <= 3000 else FEW for name, rows in OFFICIAL.items()
    }
    three = {"entailment", "neutral", "contradiction"}
    wanted = {name: {"0", "1"} for name in ("CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv", "WNLI.tsv")}
    wanted |= {name: {"entailment", "not_entailment"} for name in ("QNLI.tsv", "RTE.tsv")}
    wanted |= dict.fromkeys(("MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"), three)
    assert {name: set(found[name]) for name in wanted} == wanted
    assert all(0 <= float(score) <= 5 and len(score) == 5 for score in found["STS-B.tsv"])
    assert len(set(found["STS-B.tsv"])) > 100


@pytest.mark.parametrize(
    ("task", "name", "place", "spelled"),
    [
        ("cola", "CoLA.tsv", "CoLA", {"unacceptable": "0", "acceptable": "1"}),
        ("sst2", "SST-2.tsv", "SST-2", {"negative": "0", "positive": "1"}),
        ("mrpc", "MRPC.tsv", "MRPC", {"not_equivalent": "0", "equivalent": "1"}),
        ("wnli", "WNLI.tsv", "WNLI", {"not_entailment": "0", "entailment": "1"}),
        ("qqp", "QQP.tsv", "QQP", {"not_duplicate": "0", "duplicate": "1"}),
        ("rte", "RTE.tsv", "RTE", {"entailment": "entailment", "not_entailment": "not_entailment"}),
    ],
)
def test_the_files_hold_the_models_answers_row_by_row(
    in_process: InProcess,
    nine: dict[str, str],
    made: Path,
    few: None,
    tmp_path: Path,
    task: str,
    name: str,
    place: str,
    spelled: dict[str, str],
) -> None:
    code, _, err = in_process("submission", nine[task], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    model = predictor.load(nine[task], device="cpu")
    rows = find(task).load(Source(folder=made), "test").rows
    assert read(tmp_path / "glue.zip")[name] == [spelled[answer.value] for answer in model.answers(rows)]


def test_the_diagnostic_set_is_answered_by_the_mnli_run(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", nine["mnli"], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    source, found = Source(folder=made), read(tmp_path / "glue.zip")
    model = predictor.load(nine["mnli"], device="cpu")
    for name, task, split in (
        ("AX.tsv", "ax", "test"),
        ("MNLI-m.tsv", "mnli", "test"),
        ("MNLI-mm.tsv", "mnli", "test-mismatched"),
    ):
        rows = find(task).load(source, split).rows
        assert found[name] == [answer.value for answer in model.answers(rows)]
    assert found["MNLI-m.tsv"] != found["MNLI-mm.tsv"]
    assert out.count("predicted by") == 3


def test_missing_runs_are_named_and_nothing_is_written(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    given = [nine[task] for task in NINE if task not in ("mnli", "rte")]
    code, _, err = in_process("submission", *given, "-o", "glue.zip", data=made)
    assert code == 2
    assert err.startswith("error: no run was named for MNLI-m.tsv, MNLI-mm.tsv, RTE.tsv, AX.tsv. ")
    assert "(finetune run glue-mnli glue-rte)" in err
    assert "--fill-missing" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("*.zip"))


def test_missing_runs_are_filled_with_constants_that_are_listed(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    code, out, err = in_process("submission", nine["wnli"], "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    found = read(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == OFFICIAL
    numbers, named = {"CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv"}, {"MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}
    wanted = {name: {"0"} for name in numbers} | {name: {"entailment"} for name in named | {"QNLI.tsv", "RTE.tsv"}}
    wanted["STS-B.tsv"] = {"2.500"}
    assert {name: set(lines) for name, lines in found.items() if name != "WNLI.tsv"} == wanted
    assert set(found["WNLI.tsv"]) == {"0", "1"}
    listed = {name: line for line in out.splitlines() for name in OFFICIAL if f" {name} " in line}
    assert {name for name, line in listed.items() if "constant" in line} == set(OFFICIAL) - {"WNLI.tsv"}
    assert "predicted by" in listed["WNLI.tsv"]


@pytest.mark.parametrize("rows", [145, 147])
def test_another_number_of_rows_is_an_error(
    in_process: InProcess, nine: dict[str, str], tmp_path: Path, rows: int
) -> None:
    file = write(tmp_path, "WNLI.tsv", rows)
    (tmp_path / "glue.zip").write_text("what was there")
    code, _, err = in_process("submission", nine["wnli"], "-o", "glue.zip", "--fill-missing", data=tmp_path)
    assert code == 2
    assert_error(err, str(file), f"{rows} rows", "146")
    assert (tmp_path / "glue.zip").read_text() == "what was there"


def test_a_malformed_line_of_qqp_keeps_its_place(
    in_process: InProcess, nine: dict[str, str], made: Path, few: None, tmp_path: Path
) -> None:
    """Its answer counts for nothing, those after it would be wrong if it had none."""
    file = write(tmp_path, "QQP.tsv", FEW)
    whole = in_process("submission", nine["qqp"], "-o", "whole.zip", "--fill-missing", data=tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:4], lines[4] + "\tone field too many", *lines[5:]]) + "\n")
    filled = in_process("submission", nine["qqp"], "-o", "filled.zip", "--fill-missing", data=tmp_path)
    assert (whole[0], filled[0]) == (0, 0), filled[2]
    assert "1 malformed lines, first 5" in filled[2]
    before, after = (read(tmp_path / name)["QQP.tsv"] for name in ("whole.zip", "filled.zip"))
    assert before[:3] + before[4:] == after[:3] + after[4:]
    file.write_text("\n".join([*lines[:4], "broken", *lines[4:]]) + "\n")
    code, _, err = in_process("submission", nine["qqp"], "-o", "glue.zip", "--fill-missing", data=tmp_path)
    assert code == 2
    assert_error(err, f"{FEW + 1} rows", str(file), "1 malformed lines, first 5")


@pytest.mark.parametrize(("bias", "score"), [(1000.0, "5.000"), (-1000.0, "0.000")])
def test_scores_are_clipped(
    in_process: InProcess, checkpoint: Checkpoint, made: Path, tmp_path: Path, bias: float, score: str
) -> None:
    run = checkpoint("stsb", bias=bias)
    code, _, err = in_process("submission", run, "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 0, err
    assert set(read(tmp_path / "glue.zip")["STS-B.tsv"]) == {score}


def test_scores_inside_are_the_models(
    in_process: InProcess, checkpoint: Checkpoint, made: Path, tmp_path: Path
) -> None:
    run = checkpoint("stsb", bias=2.5)
    in_process("submission", run, "-o", "glue.zip", "--fill-missing", data=made)
    rows = find("stsb").load(Source(folder=made), "test").rows
    values = [answer.value for answer in predictor.load(run, device="cpu").answers(rows)]
    found = [float(score) for score in read(tmp_path / "glue.zip")["STS-B.tsv"]]
    inside = [index for index, value in enumerate(values) if 0 <= value <= 5]
    assert len(inside) > 1000
    assert [found[index] for index in inside] == pytest.approx([values[index] for index in inside], abs=6e-4)


def test_two_runs_of_one_task_are_refused(
    in_process: InProcess, nine: dict[str, str], checkpoint: Checkpoint, made: Path
) -> None:
    other = checkpoint("wnli")
    code, _, err = in_process(
        "submission", nine["wnli"], nine["rte"], other, "-o", "glue.zip", "--fill-missing", data=made
    )
    assert code == 2
    assert_error(err, nine["wnli"], other, "wnli")


def test_a_run_of_another_task_is_refused(in_process: InProcess, checkpoint: Checkpoint, made: Path) -> None:
    other = checkpoint("paraphrase")
    code, _, err = in_process("submission", other, "-o", "glue.zip", "--fill-missing", data=made)
    assert code == 2
    assert_error(err, other, "paraphrase", "cola, sst2, mrpc")


def test_a_task_without_a_run_and_a_model_without_a_task_are_named(
    in_process: InProcess, tiny_bert: Path, made: Path
) -> None:
    assert "mrpc" in in_process("submission", "mrpc", "-o", "glue.zip", data=made)[2]
    code, _, err = in_process("submission", str(tiny_bert), "-o", "glue.zip", data=made)
    assert code == 2
    assert "task" in err


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("nowhere/glue.zip", "cannot be written"),
        ("file/glue.zip", "cannot be written"),
        ("folder", "is not a regular file"),
    ],
)
def test_a_zip_that_cannot_be_written_is_said_before_anything_is_predicted(
    in_process: InProcess, tmp_path: Path, made: Path, output: str, fault: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    code, _, err = in_process("submission", "no-such-run", "-o", output, "--fill-missing", data=made)
    assert code == 2
    assert err.startswith(f"error: {output}: {fault}")
    assert len(err.splitlines()) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"file", "folder"}


def test_a_zip_that_is_cut_short_leaves_the_old_one(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "glue.zip").write_text("what was there")
    command = ("submission", nine["wnli"], "-o", "glue.zip", "--fill-missing")
    write_entry = zipfile.ZipFile.writestr

    def full(gzipped: zipfile.ZipFile, entry: zipfile.ZipInfo, text: str) -> None:
        if entry.filename == "MRPC.tsv":
            raise OSError(28, "No space left on device")
        write_entry(gzipped, entry, text)

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", full)
        code, _, err = in_process(*command, data=made)
    assert code == 2
    assert_error(err, "glue.zip", "No space left on device")
    assert (tmp_path / "glue.zip").read_text() == "what was there"
    assert [file.name for file in tmp_path.iterdir()] == ["glue.zip"]
    assert in_process(*command, data=made)[0] == 0
    assert len(read(tmp_path / "glue.zip")) == 11


def test_equal_answers_give_equal_bytes(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = set()
    for name, moment in (("a.zip", 1e9), ("b.zip", 1.5e9)):
        monkeypatch.setattr("time.time", lambda moment=moment: moment)
        assert in_process("submission", nine["wnli"], "-o", name, "--fill-missing", data=made)[0] == 0
        hashes.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(hashes) == 1


@pytest.mark.slow
def test_large_sets_are_predicted_in_parts_that_are_in_order(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_process("submission", nine["wnli"], "-o", "a.zip", "--fill-missing", data=made)
    monkeypatch.setattr(submission, "AT_ONCE", 50)
    in_process("submission", nine["wnli"], "-o", "b.zip", "--fill-missing", data=made)
    assert read(tmp_path / "a.zip") == read(tmp_path / "b.zip")


@pytest.mark.slow
def test_the_real_test_sets_are_answered_whole(
    in_process: InProcess, nine: dict[str, str], real_data: Path, tmp_path: Path
) -> None:
    given = [nine[task] for task in ("cola", "sst2", "mrpc", "stsb", "wnli")]
    code, out, err = in_process("submission", *given, "-o", "glue.zip", "--fill-missing", data=real_data)
    assert code == 0, err
    found = read(tmp_path / "glue.zip")
    assert {name: len(lines) for name, lines in found.items()} == OFFICIAL
    assert out.count("predicted by") == 5
    assert len(set(found["STS-B.tsv"])) > 100


@pytest.mark.slow
def test_the_function_writes_what_the_command_writes(
    in_process: InProcess, nine: dict[str, str], made: Path, tmp_path: Path
) -> None:
    assert in_process("submission", nine["wnli"], "-o", "a.zip", "--fill-missing", data=made)[0] == 0
    file = tmp_path / "b.zip"
    found = finetune.submission(nine["wnli"], path=file, fill_missing=True, data_folder=made)
    assert read(file) == read(tmp_path / "a.zip")
    assert {name for name, run in found.items() if run} == {"WNLI.tsv"}
    with pytest.raises(UserError, match="`fill_missing`"):
        finetune.submission(nine["wnli"], path=file, data_folder=made)
