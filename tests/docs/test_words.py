"""The field's words instead of words of our own: see docs/reference/glossary.md."""

import re
import tokenize
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from support.paths import ROOT

ROOTS = (  # files, and folders with all that is below them
    *("README.md", "README.ko.md", "CONTRIBUTING.md", "docs"),
    *("finetune", "tasks", "recipes", "benchmarks"),
)
SUFFIXES = (".md", ".py", ".toml", ".j2")
GENERATED = r"<!-- ([\w-]+) -->.*?<!-- /\1 -->"  # a table in a page, whose words are those of the code
CODE = r"```.*?```|`[^`\n]*`"  # in a page: examples of files, names
RETIRED = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bheed(s|ed)?\b": "take into account",
    r"\banew\b": "again, from scratch",
    r"\bbeside\b": "next to, with",
    r"\bparted by\b": "separated by",
    r"\bof (one's|your) own\b": "your, custom, separate",
    r"\b(go(es)?|gone|going|went) on with\b": "resume",
    r"(?<!here\s)\bis no (?!longer|better|worse|more|less|other)\w+": "is not a",
    r"\b(is|was|are|were|be|been) said\b": "the log shows, a note reports",
    r"\bstands?\b(?! for| still)": "is",
    r"\bas sure as\b|\bsurer\b|\bsurest\b": "calibrated, more confident",
    r"\bfor want of\b": "without",
    r"\ball the same\b": "still",
    r"\bthe golds?\b": "the label",
    r"\bbe told (from|apart)\b": "be distinguished, be detected",
}


RETIRED_KO = {  # one Korean term for one thing
    "사전학습|사전훈련|사전 훈련": "사전 학습",
    "미세 ?조정|파인 튜닝": "파인튜닝",
    "기준선|기준 모델|베이스 라인": "베이스라인",
    "데이터 누출|데이터 유출|데이터누수": "데이터 누수",
    "임계값|임계치|기준값|문턱값": "임곗값",
    "라벨|래벨": "레이블",
    "프리즈|프리징|얼린|얼려|고정된 인코더|고정한 인코더": "동결",
    "교정된 확률|교정 확률|캘리브레이션": "보정된 확률",
    "(?<!대응)표본|예시 데이터|데이터 포인트": "샘플",
    "훈련": "학습",
    "부류": "클래스",
    "모르는 토큰|미지 토큰|알 수 없는 토큰": "미등록 토큰",
    "창으로|창들": "윈도",
    "에포크|에폭": "epoch",
    "재현율과 정확률|정확률": "정밀도",
    "모델을 훈련": "모델을 학습",
    "출력층|분류층": "헤드",
    "선택지": "보기",
    r"\b(?:error|warning|note)\**[가-힣]": "오류, 경고, 참고",
    r"\d\s%\s?[가-힣]": "95%",
    r"\| 정도 \||정도가 둘": "심각도",
    "대응 샘플 검정|대응 표본": "대응표본 검정",
    "인코더를 쓸 만합니다": "인코더를 쓸 가치가 있습니다",
    "10분의 1": "10%",
    "많아도": "최대",
    "열의 뜻": "열의 역할",
    "그럴듯": "확실하지 않음, 하나로 정할 수 없음",
    "흩어지지": "항상 같은 분할에 넣음",
    "위의 모든 것": "위 형식의 파일",
    "따른 우연": "변동",
    "같은 것을 레이블마다": "레이블마다 0/1 열을 하나씩",
    "다음은 한국어 데이터": "다음 단계에서는",
}
KOREAN = [
    ROOT / "README.ko.md",
    ROOT / "docs" / "generate" / "findings_ko.toml",
    ROOT / "docs" / "tutorials" / "notebook.ko.ipynb",
    *sorted((ROOT / "docs" / "ko").rglob("*.md")),
]


def pages() -> Iterator[Path]:
    """Every text of ROOTS."""
    for name in ROOTS:
        path = ROOT / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.suffix in SUFFIXES)


def blanked(text: str, pattern: str) -> str:
    """The text without what matches, its lines where they were."""
    return re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def without_names(source: str) -> str:
    """A Python file's text without its names, its lines where they were: comments and strings of words are checked."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(StringIO(source).readline):
        a_name = token.type == tokenize.STRING and token.start[0] == token.end[0] and " " not in token.string
        if token.type == tokenize.NAME or a_name:
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + " " * (end - start) + lines[row - 1][end:]
    return blanked("".join(lines), CODE)


def retired(text: str, words: Mapping[str, str] = RETIRED) -> list[str]:
    """`line: words (plainer words)` for each retired word."""
    return [
        f"{text.count(chr(10), 0, found.start()) + 1}: {' '.join(found[0].split())} ({plainer})"
        for pattern, plainer in words.items()
        for found in re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE)
    ]


def test_no_retired_word_is_written() -> None:
    assert [f"{page.relative_to(ROOT)}:{found}" for page in pages() for found in retired(written(page))] == []


def written(page: Path) -> str:
    """The words of a page, without code, generated parts and names."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return blanked(blanked(text, GENERATED), CODE)
    return without_names(text) if page.suffix == ".py" else text


def test_korean_pages_have_one_term_for_one_thing() -> None:
    for page in KOREAN:
        assert retired(page.read_text(encoding="utf-8"), RETIRED_KO) == [], page


def test_korean_sentences_are_polite() -> None:
    """No sentence of a page ends in the plain style; rows of examples and headings may."""
    plain = re.compile(r"[가-힣]*(?:한다|된다|있다|없다|이다|않는다|였다|했다)\.(?=\s|$)")
    for page in KOREAN:
        text = blanked(page.read_text(encoding="utf-8"), CODE)
        assert page.suffix == ".toml" or plain.findall(text) == [], page
