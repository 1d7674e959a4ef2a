"""Small files in the published formats of NSMC, KorNLI, KorSTS, KorQuAD and the Naver names."""

import json
from itertools import product
from pathlib import Path

FILMS, ENDS = ("배우", "음악", "장면", "결말", "대사", "연출"), ("정말", "너무", "아주", "진짜", "조금", "꽤")
NAMES = {"안나": "PER", "민수": "PER", "서울": "LOC", "부산": "LOC"}


def write_korean(folder: Path) -> Path:
    """All five under their usual folders, of a few hundred short rows."""
    _write(folder / "nsmc/ratings_train.txt", "id\tdocument\tlabel", _reviews(6))
    _write(folder / "nsmc/ratings_test.txt", "id\tdocument\tlabel", _reviews(1))
    for file, times in (("snli_1.0_train", 2), ("multinli.train", 1), ("xnli.dev", 1), ("xnli.test", 1)):
        _write(folder / f"kornli/{file}.ko.tsv", "sentence1\tsentence2\tgold_label", _premises(times))
    for split, times in (("train", 2), ("dev", 1), ("test", 1)):
        columns = "genre\tfilename\tyear\tid\tscore\tsentence1\tsentence2"
        _write(folder / f"korsts/sts-{split}.tsv", columns, _pairs(times))
    for split, count in (("train", 24), ("dev", 6)):
        text = json.dumps(_articles(count, split), ensure_ascii=False)
        _write(folder / f"korquad/KorQuAD_v1.0_{split}.json", text, [])
    _write(folder / "naver-ner/train.tsv", *_split(_tagged(18)))
    _write(folder / "naver-ner/test.tsv", *_split(_tagged(2)))
    return folder


def _write(path: Path, head: str, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def _split(lines: list[str]) -> tuple[str, list[str]]:
    return lines[0], lines[1:]


def _reviews(times: int) -> list[str]:
    some = [
        f'{film} "{end} {number} {"좋아요" if good else "별로"}\t{good}'
        for number, film, end, good in product(range(times), FILMS, ENDS, (0, 1))
    ]
    return [f"{number}\t{line}" for number, line in enumerate(some)]


def _premises(times: int) -> list[str]:
    labels = {"entailment": "좋다", "neutral": "길다", "contradiction": "나쁘다"}
    return [
        f"{film} {end} 좋다.\t{film} {word}.\t{label}"
        for _, film, end, (label, word) in product(range(times), FILMS, ENDS[:2], labels.items())
    ]


def _pairs(times: int) -> list[str]:
    some = list(product(FILMS, FILMS, range(times)))
    return [
        f"main\tmade\t2012\t{number:04}\t{5.0 if one == two else 1.25:.3f}\t{one} 좋다.\t{two} 좋다."
        for number, (one, two, _) in enumerate(some)
    ]


def _articles(count: int, split: str) -> dict[str, object]:
    paragraphs = []
    for number in range(count):
        film = FILMS[number % len(FILMS)]
        context = f"{number}번째 작품의 {film}은 안나가 맡았다. 촬영은 서울에서 했다."
        answer = {"text": "서울", "answer_start": context.index("서울")}
        question = {"id": f"{split}-{number}-0", "question": "어디에서 촬영했는가?", "answers": [answer]}
        paragraphs.append({"context": context, "qas": [question]})
    return {"version": f"KorQuAD_v1.0_{split}", "data": [{"title": "작품", "paragraphs": paragraphs}]}


def _tagged(times: int) -> list[str]:
    lines = []
    for number, (name, kind), end in product(range(times), NAMES.items(), ENDS):
        lines.append(f"{end} {name} {number} 영화 봤다\tO {kind}-B {kind}-I O O")
    return lines
