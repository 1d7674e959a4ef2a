"""Errors keep their English, and have a line of Korean below it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.cli import InProcess

from finetune.cli.terminal import print_error, print_errors
from finetune.errors import UserError
from finetune.languages.sentences import sentences_in
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_faults import setting_names

ROWS = "text,label\n" + "".join(f"문장 {n} 좋다,긍정\n문장 {n} 나쁘다,부정\n" for n in range(30))
FILES = {
    "r.csv": ROWS.encode(),
    "few.csv": "text,label\n하나,a\n둘,b\n".encode(),
    "one.csv": ROWS.replace("부정", "긍정").encode(),
    "none.csv": ("a,b,c\n" + "".join(f"문장 {n} 하나,둘 {n} 좋다,셋 {n} 참 좋다\n" for n in range(30))).encode(),
    "empty.csv": b"",
}


@pytest.fixture
def errors(tmp_path: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The lines of the error that a command ends with, in Korean."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("FINETUNE_LANG", "ko")

    def call(*typed: str) -> list[str]:
        code, _, err = in_process(*typed, data="")
        assert code == 2
        lines = err.splitlines()
        return lines[next(place for place, line in enumerate(lines) if line.startswith("error: ")) :]

    return call


@pytest.mark.parametrize(
    ("typed", "english", "korean"),
    [
        ("run nofile.csv", "no recipe or file is called 'nofile.csv'", "'nofile.csv'(이)라는 레시피나 파일이 없습니다"),
        ("run r.csv label=a", "has no column 'a'", "'a' 열이 없습니다(label=a). 이 파일의 열: text, label"),
        ("run r.csv encoding=foo", "unknown encoding 'foo'", "알 수 없는 인코딩 'foo'"),
        ("run none.csv", "no label column", "none.csv: 레이블 열을 찾지 못했습니다"),
        ("run empty.csv", "is empty", "empty.csv: 비어 있습니다"),
        ("run one.csv", "all 60 labelled rows have the label '긍정'", "60행의 레이블이 모두 '긍정'입니다"),
        ("run few.csv", "too few rows", "few.csv: 행이 너무 적어서 dev(으)로 떼어 둘 수 없습니다"),
        ("run r.csv train.epoch=3", "unknown key 'train.epoch'", "알 수 없는 설정 'train.epoch'. 혹시 'train.epochs'"),
        ("run r.csv train.epochs=0", "'train.epochs' is 0", "쓸 수 있는 값: 1 이상 10,000 이하의 정수"),
        ("run r.csv --epochs 3", "there is no option '--epochs'", "혹시 train.epochs=VALUE 아닌가요?"),
        ("rum r.csv", "there is no command 'rum'", "'rum' 명령어가 없습니다. 혹시 'run' 아닌가요?"),
        ("predict r.csv", "Missing argument 'file'", "'file' 인자가 없습니다"),
        ("predict nosuch r.csv", "'nosuch' is not a run", "'nosuch'은(는) results의 실행도"),
        ("report nosuch", "'nosuch' names no finished run", "`--out`에 있는 실행의 목록은 `finetune ls`로"),
        ("report r.csv", "no finished run in results", "r.csv(으)로 학습을 끝낸 실행이 없습니다. 먼저 학습하세요:"),
    ],
)  # fmt: skip
def test_a_frequent_error_is_in_both_languages(
    typed: str, english: str, korean: str, errors: Callable[..., list[str]]
) -> None:
    first, second = errors(*typed.split())
    assert english in first
    assert second.startswith("오류: ")
    assert korean in second


def test_what_is_not_known_is_in_english_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FINETUNE_LANG", "ko")
    print_error(UserError("nobody has translated this", "Leave it out"))
    print_error(UserError("the memory ran out", "Buy more of it"))  # the first half alone
    print_errors([UserError("a.csv: is empty"), UserError("a.csv: is empty")])
    assert capsys.readouterr().err.splitlines() == [
        "error: nobody has translated this. Leave it out",
        "error: the memory ran out. Buy more of it",
        "오류: 메모리가 부족합니다.",
        "error: a.csv: is empty (2 runs)",
        "오류: a.csv: 비어 있습니다.",
    ]


def test_what_a_setting_allows_is_known() -> None:
    found = sentences_in("ko", "errors")
    assert [allowed for allowed in setting_names(Recipe).values() if found.known(allowed) is None] == []


def test_in_english_nothing_is_added(in_process: InProcess) -> None:
    _, _, err = in_process("run", "nofile.csv", data="")
    assert "오류" not in err
