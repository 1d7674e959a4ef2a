"""Files in encodings from before Unicode: each is read as it was written, or the command asks; never wrongly."""

import json
from itertools import product
from pathlib import Path

import pytest
from support.cli import InProcess, assert_error
from support.languages import LANGUAGES, sentences

from finetune.data.detect import detect
from finetune.data.reading import read_table
from finetune.errors import UserError

WRITTEN = {
    "Chinese": ["gb18030", "gbk", "gb2312"],
    "Chinese (traditional)": ["big5", "cp950", "gb18030"],
    "Japanese": ["shift_jis", "cp932", "euc_jp", "iso2022_jp"],
    "Korean": ["cp949"],
    "Russian": ["cp1251", "koi8-r", "iso8859-5", "cp866"],
    "Ukrainian": ["cp1251", "koi8-u"],
    "Polish": ["cp1250", "iso8859-2"],
    "Turkish": ["cp1254", "iso8859-9"],
    "Hebrew": ["cp1255", "iso8859-8"],
    "Arabic": ["cp1256", "iso8859-6"],
    "Greek": ["cp1253", "iso8859-7"],
    "German": ["latin-1", "cp1252", "iso8859-15", "cp850"],
    "French": ["latin-1", "cp1252", "iso8859-15", "mac-roman"],
    "Spanish": ["latin-1", "cp1252"],
}
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
KINDS = {"short": (20, False), "long": (2_000, False), "columns": (20, True)}


def written(texts: list[str], *, columns: bool) -> str:
    """A file of lines, or one with a header and columns in ASCII around the texts."""
    if not columns:
        return "\n".join(texts) + "\n"
    rows = [f'{number},"{text}",{("good", "bad")[number % 2]},en-US' for number, text in enumerate(texts)]
    return "\n".join(["id,text,label,locale", *rows]) + "\n"


def outcome(path: Path, content: str) -> str:
    """`right`, `asks` or `wrong`: what a file is read as, held against what was written."""
    try:
        form = detect(path)
    except UserError as error:
        assert "encoding=" in error.way_out and " in " in error.what and "\n" not in str(error)
        return "asks"
    return "right" if path.read_bytes().decode(form.encoding).removeprefix("\ufeff") == content else "wrong"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", WRITTEN)
def test_a_file_of_an_older_encoding_is_asked_about_but_for_korean(language: str, kind: str, tmp_path: Path) -> None:
    count, columns = KINDS[kind]
    content = written(sentences(language, count, 0), columns=columns)
    path = tmp_path / "a.csv"
    for encoding in WRITTEN[language]:
        path.write_bytes(content.encode(encoding))
        assert outcome(path, content) == ("right" if encoding == "cp949" else "asks"), encoding
        assert path.read_bytes().decode(detect(path, encoding).encoding) == content


@pytest.mark.parametrize(
    ("language", "encoding"),
    [("Russian", "cp1251"), ("Russian", "koi8-r"), ("German", "cp1252"), ("Chinese", "gb18030"), ("Japanese", "cp932")],
)
def test_the_question_names_the_encoding(language: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(written(sentences(language, 20, 0), columns=True).encode(encoding))
    with pytest.raises(UserError, match=f"in {encoding}"):
        detect(path)


@pytest.mark.parametrize("encoding", UNICODE)
def test_unicode_is_known_by_its_mark_and_asked_about_without(encoding: str, tmp_path: Path) -> None:
    for language, (count, columns) in product(LANGUAGES, KINDS.values()):
        content = written(sentences(language, min(count, 60), 0), columns=columns)
        (tmp_path / "a.csv").write_bytes(content.encode(encoding))
        read = "asks" if encoding.endswith("e") else "right"
        if read == "asks" and not columns and language not in ("English", "German"):
            continue  # few of its bytes are zero
        assert outcome(tmp_path / "a.csv", content) == read, language
        assert detect(tmp_path / "a.csv", encoding).encoding in (encoding, "utf-8-sig", "utf-8")


@pytest.mark.parametrize("text", ["좋아요", "별로", "재밌다 ㅋㅋ", "최고의 영화", "정말 마음에 들었습니다."])
def test_short_korean_in_cp949_is_read_rightly(text: str, tmp_path: Path) -> None:
    for content in (f"{text}\n", f"text,label\n{text},good\n"):
        (tmp_path / "a.csv").write_bytes(content.encode("cp949"))
        assert outcome(tmp_path / "a.csv", content) == "right"


def reviews(path: Path, encoding: str, language: str = "Russian", count: int = 40) -> Path:
    rows = [f"{text},{('good', 'bad')[i % 2]}" for i, text in enumerate(sentences(language, count, 0))]
    path.write_bytes(("text,label\n" + "\n".join(row.replace(", ", " ") for row in rows) + "\n").encode(encoding))
    return path


@pytest.mark.parametrize(
    ("given", "name"),
    [("windows-1251", "cp1251"), ("1251", "cp1251"), ("koi8-r", "koi8-r"), ("mac_cyrillic", "mac-cyrillic")],
)
def test_the_encoding_that_is_given_is_taken(given: str, name: str, tmp_path: Path) -> None:
    form = detect(reviews(tmp_path / "a.csv", "cp1251"), given)
    assert form.encoding == name
    assert form.sample in str(form.encoding_notes(tmp_path))


def test_names_of_encodings_mean_the_larger_ones_of_windows(tmp_path: Path) -> None:
    for written_in, given in (("cp949", "euc-kr"), ("cp932", "Shift-JIS"), ("gb18030", "gb2312"), ("cp950", "big5")):
        (tmp_path / "a.txt").write_bytes("text\n".encode(written_in) * 3)
        assert detect(tmp_path / "a.txt", given).encoding == written_in


@pytest.mark.parametrize(
    ("encoding", "given", "said"),
    [
        ("cp1251", "windows-1215", "'windows-1215'"),
        ("cp1251", "rot13", "'rot13'"),
        ("cp1251", "punycode", "'punycode'"),
        ("ascii", "idna", "'idna'"),
        ("cp1251", "euc-jp", "not in euc-jp: 40 of 40"),
        ("cp1251", "utf-8", "not in utf-8: 40 of 40"),
        ("utf-8", "cp949", "is in UTF-8, not in cp949"),
        ("utf-16", "utf-8", "is in UTF-16, not in utf-8"),
        ("ascii", "utf-16", "is in UTF-8, not in utf-16"),
    ],
)
def test_a_wrong_encoding_is_refused_in_one_line(
    encoding: str, given: str, said: str, in_process: InProcess, tmp_path: Path
) -> None:
    reviews(tmp_path / "a.csv", "utf-8" if encoding == "ascii" else encoding)
    if encoding == "ascii":
        (tmp_path / "a.csv").write_text("text,label\na cat,good\na dog,bad\n")
    for command in ("check", "init", "run"):
        code, _, err = in_process(command, "a.csv", f"encoding={given}", data=tmp_path)
        assert code == 2
        assert_error(err, said)


def test_a_few_bad_bytes_spoil_their_rows_alone(tmp_path: Path) -> None:
    lines = reviews(tmp_path / "a.csv", "cp949", "Korean").read_bytes().splitlines()
    lines[7] = b"\xff\xff\xff broken,good"
    (tmp_path / "a.csv").write_bytes(b"\n".join(lines))
    for given in ("", "cp949"):
        table = read_table(tmp_path / "a.csv", given)
        assert (table.form.encoding, table.form.damaged) == ("cp949", True)
        assert [fault.row for fault in table.faults] == [7]


@pytest.mark.slow
def test_all_commands_take_an_encoding(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    path, model = reviews(tmp_path / "a.csv", "cp1251"), f"model={tiny_bert}"
    small = ["train.epochs=1", "max_length=64", "--quiet"]
    code, _, err = in_process("run", "a.csv", model, *small, data=tmp_path)
    assert code == 2
    assert_error(err, "encoding=cp1251")
    code, _, err = in_process("run", "a.csv", "encoding=cp1251", model, *small, data=tmp_path)
    assert (code, err) == (0, "")
    (record,) = tmp_path.glob("results/*/*/record.json")
    (note,) = [note for note in json.loads(record.read_text())["notes"] if "CP1251" in note]
    assert note.startswith("a.csv: read as CP1251, such as '") and note.endswith("; encoding=NAME sets another")
    code, out, _ = in_process("run", "a.csv", "encoding=windows-1251", model, *small, data=tmp_path)
    assert code == 0 and record.parent.name in out  # the rows decide the id
    wrong = "encoding=koi8-r"
    code, out, _ = in_process("run", "a.csv", wrong, model, *small, data=tmp_path)
    assert code == 0 and record.parent.name not in out
    code, out, _ = in_process("init", "a.csv", "encoding=windows-1251", data=tmp_path)
    assert 'encoding = "windows-1251"' in out
    (tmp_path / "my.toml").write_text(out, encoding="utf-8")
    code, out, _ = in_process("run", "my.toml", model, *small, data=tmp_path)
    assert code == 0
    run = record.parent.name
    code, out, _ = in_process("predict", run, "a.csv", wrong, "-o", "out.csv", "--quiet", data=tmp_path)
    assert code == 0 and "KOI8-R" in out
    assert read_table(tmp_path / "out.csv").columns["text"] == read_table(path, "koi8-r").columns["text"]
