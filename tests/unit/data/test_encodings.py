"""Files in encodings from before Unicode: each is read as it was written, or the command asks; never wrongly."""

from itertools import product
from pathlib import Path

import pytest
from support.languages import LANGUAGES, sentences

from finetune.data.detect import detect
from finetune.data.reading import read_table
from finetune.errors import UserError

WRITTEN = {
    "Chinese": ["gb18030", "gb2312"],
    "Chinese (traditional)": ["big5", "cp950"],
    "Japanese": ["shift_jis", "cp932", "euc_jp", "iso2022_jp"],
    "Korean": ["cp949"],
    "Russian": ["cp1251", "koi8-r", "iso8859-5", "cp866"],
    "Turkish": ["cp1254", "iso8859-9"],
    "Hebrew": ["cp1255"],
    "Arabic": ["cp1256"],
    "Greek": ["cp1253"],
    "German": ["latin-1", "cp1252", "cp850"],
    "French": ["iso8859-15", "mac-roman"],
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
        if columns and encoding in ("cp1251", "koi8-r", "gb18030", "cp932"):
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


@pytest.mark.parametrize("text", ["좋아요", "별로", "재밌다 ㅋㅋ", "정말 마음에 들었습니다."])
def test_short_korean_in_cp949_is_read_rightly(text: str, tmp_path: Path) -> None:
    for content in (f"{text}\n", f"text,label\n{text},good\n"):
        (tmp_path / "a.csv").write_bytes(content.encode("cp949"))
        assert outcome(tmp_path / "a.csv", content) == "right"


def reviews(path: Path, encoding: str, language: str = "Russian") -> Path:
    rows = [f"{text},{('good', 'bad')[i % 2]}" for i, text in enumerate(sentences(language, 40, 0))]
    path.write_bytes(("text,label\n" + "\n".join(row.replace(", ", " ") for row in rows) + "\n").encode(encoding))
    return path


@pytest.mark.parametrize(
    ("encoding", "given", "name"),
    [
        ("cp1251", "windows-1251", "cp1251"),
        ("cp949", "euc-kr", "cp949"),  # names mean the larger ones of Windows
        ("cp932", "Shift-JIS", "cp932"),
        ("gb18030", "gb2312", "gb18030"),
        ("cp950", "big5", "cp950"),
    ],
)
def test_the_encoding_that_is_given_is_taken(encoding: str, given: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text\n".encode(encoding) * 3)
    assert detect(tmp_path / "a.csv", given).encoding == name


@pytest.mark.parametrize(
    ("encoding", "given", "said"),
    [
        ("cp1251", "windows-1215", "'windows-1215'"),
        ("cp1251", "rot13", "'rot13'"),
        ("cp1251", "euc-jp", "not in euc-jp: 40 of 40"),
        ("utf-8", "cp949", "is in UTF-8, not in cp949"),
        ("utf-8", "utf-16", "is in UTF-8, not in utf-16"),
        ("utf-16", "utf-8", "is in UTF-16, not in utf-8"),
    ],
)
def test_a_wrong_encoding_is_refused_in_one_line(encoding: str, given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        read_table(reviews(tmp_path / "a.csv", encoding), given)


def test_a_few_bad_bytes_spoil_their_rows_alone(tmp_path: Path) -> None:
    lines = reviews(tmp_path / "a.csv", "cp949", "Korean").read_bytes().splitlines()
    lines[7] = b"\xff\xff\xff broken,good"
    (tmp_path / "a.csv").write_bytes(b"\n".join(lines))
    for given in ("", "cp949"):
        table = read_table(tmp_path / "a.csv", given)
        assert (table.form.encoding, table.form.damaged) == ("cp949", True)
        assert [fault.row for fault in table.faults] == [7]
