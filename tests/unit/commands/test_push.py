"""`finetune push` against a Hub on this machine: what goes out in one commit, what must not, and every refusal."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard
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
FILES = {ABOUT, "checksums.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}


@pytest.fixture
def run(copied_run: FinishedRun) -> Path:
    return copied_run("sentence")


def test_model_and_card_go_out_in_one_commit(run: Path, hub: HubServer, in_process: InProcess) -> None:
    (run / "model" / "notes.md").write_text("mine, and not of the model")
    code, out, error = in_process("push", run.name, NAME, "--yes", data="")
    assert (code, out.strip()) == (0, f"{hub.url}/{NAME}"), error
    (commit,) = hub.uploads.commits
    assert set(commit["paths"]) == FILES | {".gitattributes"}
    there = hub.repositories["model", NAME].files
    for name in FILES - {ABOUT}:
        assert there[name] == (run / "model" / name).read_bytes()
    assert all(f"  {name} " in error for name in FILES) and TOKEN not in out + error  # shown before
    card = ModelCard(there[ABOUT].decode())
    assert card.data.eval_results and f'finetune.load("{NAME}")' in card.text and "results/" not in card.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", DATA)
def test_nothing_that_goes_out_has_a_text_of_the_data(finished_run: FinishedRun, hub: HubServer, kind: str) -> None:
    run, name = finished_run(kind), f"me/{kind.replace(' ', '-')}"
    assert finetune.push(run, name) == f"{hub.url}/{name}"
    lines = read_lines(RunFolder(run), "dev")
    texts = {cell for line in lines for cell in line.values() if isinstance(cell, str) and len(cell.split()) > 2}
    texts |= {" ".join(line["words"]) for line in lines if "words" in line} | {str(run.parents[3])}  # nor a folder
    sent = hub.repositories["model", name].files.values()
    assert len(texts) > 1 and not [text for held in sent for text in texts if text.encode() in held]


def test_private_is_private_and_no_public_one_becomes_it(run: Path, hub: HubServer) -> None:
    finetune.push(run, "me/secret", private=True)
    assert hub.uploads.private == {"me/secret"}
    finetune.push(run, NAME)
    with pytest.raises(UserError, match="public"):
        finetune.push(run, NAME, private=True)
    assert len(hub.uploads.commits) == 2


def test_old_weights_are_replaced_and_a_card_of_the_users_stays(run: Path, hub: HubServer) -> None:
    files = {"finetune.safetensors": b"old", "model-00001-of-2.safetensors": b"old", "figure.png": b"theirs"}
    hub.uploads.keep(NAME, files)
    (run / "model" / ABOUT).write_text("---\nlicense: mit\n---\n\n# My words\n")
    finetune.push(run, NAME)
    there = hub.repositories["model", NAME].files
    assert set(there) == FILES | {"figure.png"}
    assert there[ABOUT].decode() == (run / "model" / ABOUT).read_text()


@pytest.mark.parametrize(
    ("token", "typed", "word"),
    [
        (TOKEN, [NAME], "`--yes`"),
        (THEIRS, [NAME, "--yes"], "one who may write"),
        (TOKEN, ["them/reviews", "--yes"], "one who may write"),
        ("", [NAME, "--yes"], "hf auth login"),
        (TOKEN, ["me/a/b", "--yes"], "OWNER/NAME"),
    ],
)
def test_a_name_or_token_that_may_not_write_is_one_line(
    run: Path, hub: HubServer, in_process: InProcess, monkeypatch: pytest.MonkeyPatch, token: str, typed: list[str],
    word: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("HF_TOKEN", token)
    code, out, error = in_process("push", run.name, *typed, data="")
    assert code == 2, error
    assert_error(error.splitlines()[-1], word)
    assert not hub.uploads.commits and (not token or token not in out + error)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [("predictions-dev.parquet", b"PAR1", "predictions-dev"), ("vocab.txt", f"hf_{'a' * 34}".encode(), "token")],
)
def test_what_must_not_go_out_stops_the_push(name: str, content: bytes, word: str, run: Path, hub: HubServer) -> None:
    (run / "model" / name).write_bytes(content)
    write_checksums(run / "model")
    record = load_record(run / "record.json")
    sums = {**record.files, f"model/{CHECKSUMS}": sha256_of(run / "model" / CHECKSUMS)}
    write_record(run / "record.json", record.model_copy(update={"files": sums}))
    with pytest.raises(UserError, match=word):
        finetune.push(run, NAME)
    assert not hub.requests
