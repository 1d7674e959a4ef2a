"""`finetune push` against a Hub on this machine: what goes out in one commit, what must not, and every refusal."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard, close_session, constants
from support.cli import InProcess, assert_error
from support.hub import THEIRS, TOKEN
from support.hub_server import HubServer
from support.runs import DATA, FinishedRun

import finetune
from finetune.data.checksums import ABOUT, CHECKSUMS, sha256_of, write_checksums
from finetune.errors import UserError
from finetune.runs.folder import RunFolder, read_lines
from finetune.runs.record_files import load_record, write_record

NAME = "me/reviews"
FILES = {ABOUT, "checksums.json", "config.json", "model.safetensors",
         "tokenizer.json", "tokenizer_config.json"}  # fmt: skip


@pytest.fixture
def run(copied_run: FinishedRun) -> Path:
    return copied_run("sentence")


def test_model_and_card_go_out_in_one_commit(run: Path, hub: HubServer, in_process: InProcess) -> None:
    (run / "model" / "notes.md").write_text("mine, and not of the model")
    code, out, error = in_process("push", run.name, NAME, "--yes", data="")
    assert code == 0, error
    assert out.strip() == f"{hub.url}/{NAME}"
    (commit,) = hub.uploads.commits
    assert set(commit["paths"]) == FILES | {".gitattributes"}
    there = hub.repositories["model", NAME].files
    for name in FILES - {ABOUT}:
        assert there[name] == (run / "model" / name).read_bytes()
    assert all(f"  {name} " in error for name in FILES)  # shown before
    assert error.startswith("---\n")
    assert TOKEN not in out + error
    card = ModelCard(there[ABOUT].decode())
    assert card.data.eval_results and f'finetune.load("{NAME}")' in card.text
    assert "results/" not in card.text


@pytest.mark.parametrize("kind", DATA)
def test_nothing_that_goes_out_has_a_text_of_the_data(finished_run: FinishedRun, hub: HubServer, kind: str) -> None:
    run = finished_run(kind)
    assert finetune.push(run, f"me/{kind.replace(' ', '-')}") == f"{hub.url}/me/{kind.replace(' ', '-')}"
    lines = read_lines(RunFolder(run), "dev")
    texts = {cell for line in lines for cell in line.values() if isinstance(cell, str) and len(cell.split()) > 2}
    texts |= {" ".join(line["words"]) for line in lines if "words" in line}
    sent = hub.repositories["model", f"me/{kind.replace(' ', '-')}"].files
    assert texts and not [(name, text) for name, held in sent.items() for text in texts if text.encode() in held]
    assert not [name for name, held in sent.items() if str(run.parents[3]).encode() in held]  # nor a folder of here


def test_private_is_private_and_no_public_one_becomes_it(
    run: Path, hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    finetune.push(run, "me/secret", private=True)
    assert hub.uploads.private == {"me/secret"}
    finetune.push(run, NAME)
    with pytest.raises(UserError, match="public"):
        finetune.push(run, NAME, private=True)
    assert len(hub.uploads.commits) == 2
    assert capsys.readouterr() == ("", "")


def test_another_model_replaces_weights_of_another_form(run: Path, hub: HubServer) -> None:
    files = {"finetune.safetensors": b"old", "model-00001-of-2.safetensors": b"old", "figure.png": b"theirs"}
    hub.uploads.keep(NAME, files)
    finetune.push(run, NAME)
    assert set(hub.repositories["model", NAME].files) == FILES | {"figure.png"}


def test_a_card_that_was_changed_by_hand_goes_out_as_it_is(run: Path, hub: HubServer) -> None:
    file = run / "model" / ABOUT
    file.write_text("---\nlicense: mit\n---\n\n# My words\n")
    finetune.push(run, NAME)
    assert hub.repositories["model", NAME].files[ABOUT].decode() == file.read_text()


def test_nothing_goes_out_without_a_yes(run: Path, hub: HubServer, in_process: InProcess) -> None:
    code, _, error = in_process("push", run.name, NAME, data="")
    assert code == 2 and "error: " in error and "`--yes`" in error.splitlines()[-1]
    assert not hub.uploads.commits and not hub.repositories


@pytest.mark.parametrize(
    ("token", "name", "word"),
    [(THEIRS, NAME, "one who may write"), (TOKEN, "them/reviews", "one who may write"),
     ("hf_unknown", NAME, "hf auth login"), ("", NAME, "hf auth login"), (TOKEN, "reviews", "OWNER/NAME"),
     (TOKEN, "me/a/b", "OWNER/NAME"), (TOKEN, "me/--", "me/--")],
)  # fmt: skip
def test_a_name_or_token_that_may_not_write_is_one_line(
    run: Path, hub: HubServer, in_process: InProcess, monkeypatch: pytest.MonkeyPatch, token: str, name: str, word: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    code, out, error = in_process("push", run.name, name, "--yes", data="")
    assert code == 2, error
    assert_error(error.splitlines()[-1], word)
    assert not hub.uploads.commits and (not token or token not in out + error)


def test_a_refused_commit_and_a_hub_that_is_gone_are_one_line(
    run: Path, hub: HubServer, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.uploads.refused = "a file of this repository is locked"
    code, _, error = in_process("push", run.name, NAME, "--yes", data="")
    assert code == 2
    assert_error(error.splitlines()[-1], NAME, hub.uploads.refused)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    close_session()
    code, _, error = in_process("push", run.name, NAME, "--yes", data="")
    assert code == 2
    assert_error(error.splitlines()[-1], NAME, "Check the network")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    close_session()
    code, _, error = in_process("push", run.name, NAME, "--yes", data="")
    assert code == 2
    assert_error(error.splitlines()[-1], NAME, "Check the network")


def test_what_must_not_go_out_stops_the_push(run: Path, hub: HubServer) -> None:
    model = run / "model"
    for name, content, word in (
        ("predictions-dev.parquet", b"PAR1", "predictions-dev.parquet"),
        ("vocab.txt", f"login hf_{'a' * 34}".encode(), "token"),
    ):
        (model / name).write_bytes(content)
        write_checksums(model)
        record = load_record(run / "record.json")
        sums = {**record.files, f"model/{CHECKSUMS}": sha256_of(model / CHECKSUMS)}
        write_record(run / "record.json", record.model_copy(update={"files": sums}))
        with pytest.raises(UserError, match=word):
            finetune.push(run, NAME)
        (model / name).unlink()
    assert not hub.requests
