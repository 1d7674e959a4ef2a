"""What commands write: never through a link that is there, never over an input, and over files of others if asked."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

OTHERS = "theirs\n"
ENCODER, NEW = "encoder", "new.csv"
# a command that writes: what is typed before its output, the output, one of its inputs, and an ending of another kind
COMMANDS: dict[str, tuple[list[str], str, str, str]] = {
    "report": (["report", "RUN", "-o"], "out.html", "", ".csv"),
    "explain": (["explain", "RUN", "--rows", NEW, "-o"], "out.html", NEW, ".csv"),
    "view": (
        ["view", ENCODER, "the cat sat", "--word", "cat", "--sentences", "sentences.txt", "-o"],
        "out.html",
        "sentences.txt",
        ".csv",
    ),
    "features": (["features", ENCODER, NEW, "--pool", "mean", "-o"], "out.npz", NEW, ".html"),
    "predict": (["predict", "RUN", NEW, "-o"], "out.csv", NEW, ".png"),
    "label-next": (["label-next", "RUN", NEW, "-o"], "out.csv", NEW, ".png"),
    "table": (["table", "glue", "-o"], "out.md", "", ".json"),
    "fix": (["check", "labelled.csv", "--fix"], "out.csv", "labelled.csv", ".png"),
    "search": (["search", "best.toml", "-o"], "out.toml", "best.toml", ".csv"),
    "submission": (["submission", "RUN", "--fill-missing", "-o"], "out.zip", "", ".csv"),
}
WRITERS = [name for name in COMMANDS if name not in ("search", "submission")]  # the others take long

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(in_process: InProcess, copied_run: FinishedRun, tiny_bert: Path, tmp_path: Path) -> Run:
    """Runs one of COMMANDS with an output: (exit code, standard error)."""
    run = copied_run("sentence")
    shutil.copytree(tiny_bert, tmp_path / ENCODER)
    (tmp_path / NEW).write_text("review\n" + "the cat sat\n" * 9)
    rows = "".join(f"the cat sat {number},good\nthe dog sat {number},bad\n" for number in range(9))
    (tmp_path / "labelled.csv").write_text(f"review,mark\n{rows}")
    (tmp_path / "sentences.txt").write_text("the cat sat\nthe cat ran\na cat sat\n" * 4)
    (tmp_path / "best.toml").write_text('task = "rte"\n')

    def call(name: str, output: str | Path, *more: str) -> tuple[int, str]:
        given = [run.name if word == "RUN" else word for word in COMMANDS[name][0]]
        code, _, err = in_process(*given, str(output), *more, data=tmp_path)
        return code, err

    return call


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that no command of a test names."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "inside").mkdir()
    for file in (folder / "file", folder / "inside" / "00000001-0.pt", folder / "inside" / "config.json"):
        file.write_text(OTHERS)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_through_a_link_that_is_there(
    name: str, typed: Run, elsewhere: Path, tmp_path: Path
) -> None:
    output, before = tmp_path / COMMANDS[name][1], contents(elsewhere)
    for pattern in (".{}.tmp", ".{}.part.jsonl", ".{}.lock", ".{}.0123456789abcdef.tmp"):
        (tmp_path / pattern.format(output.name)).symlink_to(elsewhere / "file")
    code, err = typed(name, output.name)
    assert contents(elsewhere) == before
    if code:
        assert_error(err, "symbolic link", output.name)
    else:
        assert output.is_file()
        assert not output.is_symlink()


@pytest.mark.parametrize(
    ("name", "to"),
    [
        *(("..", "inside"), ("", "file"), ("model", "nowhere"), ("model", "inside"), ("events.jsonl", "file")),
        *(("checkpoints", "inside"), ("predictions-dev.parquet", "nowhere"), (".lock", "file")),
    ],
)
def test_no_link_in_a_run_is_followed(
    name: str, to: str, copied_run: FinishedRun, in_process: InProcess, elsewhere: Path, tmp_path: Path
) -> None:
    run = copied_run("sentence")
    recipe = tmp_path / "again.toml"
    recipe.write_text((run / "recipe.toml").read_text())
    link = Path(os.path.normpath(run / name))
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(elsewhere / to)
    before = contents(elsewhere)
    code, _, err = in_process("run", "again.toml", "--force", data=tmp_path)
    assert contents(elsewhere) == before
    assert code == 2
    assert_error(err, f"results/{link.relative_to(tmp_path / 'results')}: is a symbolic link")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_others_is_replaced_if_asked_and_an_own_one_at_once(name: str, typed: Run, tmp_path: Path) -> None:
    output = tmp_path / COMMANDS[name][1]
    output.write_text(OTHERS)
    code, err = typed(name, output.name)
    assert (code, output.read_text()) == (2, OTHERS)
    assert_error(err, output.name, "`--force`")
    if name not in WRITERS:
        return
    assert typed(name, output.name, "--force")[0] == 0
    assert OTHERS.encode() != output.read_bytes()
    assert typed(name, output.name)[0] == 0  # the command is repeated
    output.write_bytes(output.read_bytes() + b"edited")
    code, err = typed(name, output.name)
    assert code == 2
    assert output.read_bytes().endswith(b"edited")


def test_a_link_that_leads_nowhere_is_replaced_and_the_command_repeated(typed: Run, tmp_path: Path) -> None:
    (tmp_path / "out.html").symlink_to(tmp_path / "nowhere")
    for _ in range(2):
        assert typed("report", "out.html")[0] == 0
        assert not (tmp_path / "out.html").is_symlink()
    assert not (tmp_path / "nowhere").exists()


def as_typed(how: str, file: Path) -> Path:
    """Another name of a file."""
    if how == "hard link":
        os.link(file, file.with_name(f"hard{file.suffix}"))
        return file.with_name(f"hard{file.suffix}")
    if how == "link":
        file.with_name(f"soft{file.suffix}").symlink_to(file)
        return file.with_name(f"soft{file.suffix}")
    return Path(ENCODER) / ".." / file.name if how == "roundabout" else file


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "hard link") for name, (_, _, read, _) in COMMANDS.items() if read),
        *(("predict", how) for how in ("as it is", "link", "roundabout")),
    ],
)
def test_an_input_is_never_replaced(name: str, how: str, typed: Run, tmp_path: Path) -> None:
    """Also with `--force`, and under an ending of the command's own kind."""
    given, output, read, _ = COMMANDS[name]
    data = tmp_path / read
    own = data.with_suffix(Path(output).suffix)
    data.rename(own)
    given[given.index(read)] = own.name
    try:
        before = own.read_bytes()
        code, err = typed(name, as_typed(how, own), *["--force"] * (name in WRITERS or name == "search"))
    finally:
        given[given.index(own.name)] = read
    assert (code, own.read_bytes()) == (2, before)
    assert_error(err, "overwrite the input")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_output_has_an_ending_of_another_kind_or_is_in_a_model(name: str, typed: Run, tmp_path: Path) -> None:
    _, output, _, ending = COMMANDS[name]
    wrong = f"out{ending}"
    code, err = typed(name, wrong)
    assert code == 2
    assert_error(err, wrong)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        (adapter / file).touch()
    for folder in (ENCODER, "adapter", *(str(one.parent) for one in tmp_path.glob("results/*/*/model/config.json"))):
        before = contents(tmp_path / folder)
        code, err = typed(name, Path(folder) / output)
        assert (code, contents(tmp_path / folder)) == (2, before)
        assert_error(err, "is in the folder of a model")
