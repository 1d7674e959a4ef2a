"""The files that the documents speak of, made up and small."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from support.klue import write_klue
from support.korean import write_korean
from support.relations import write_semeval
from support.toys import sentences, write_columns, write_squad, write_swag

TOPICS = ("News > Sport > Tennis", "News > Sport > Chess", "News > World", "Fun > Jokes")


def pet(number: int) -> dict[str, object]:
    """A text with two spans by characters."""
    return {"text": f"the cat saw the dog {number}", "e1": [4, 7], "e2": [16, 19], "label": "ab"[number % 2]}


def request(number: int) -> dict[str, object]:
    """A text with a tag for each word, and an intent."""
    intent, first = (("play_music", "play"), ("get_weather", "find"))[number % 2]
    thing, place = ("song", "city")[number % 2], ("red", "blue", "old")[number % 3]
    return {"text": f"{first} the {place} one {number}", "slots": f"O O B-{thing} I-{thing} O", "intent": intent}


@pytest.fixture(scope="session")
def page_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nine GLUE tasks, made up, in the layout of the official files."""
    folder = tmp_path_factory.mktemp("glue-data") / "glue"
    pair = "index\tsentence1\tsentence2\t"
    made: dict[str, tuple[str, str, tuple[str, ...]]] = {
        "CoLA": ("", "s\t{}\t\tthe cat sat {}", ("0", "1")),
        "SST-2": ("sentence\tlabel", "fine cat {1}\t{0}", ("0", "1")),
        "MRPC": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "{}\t1\t2\tthe cat {}\tdog", ("0", "1")),
        "STS-B": (pair + "score", "{1}\ta cat\ta dog\t{0}", ("0.5", "3.0")),
        "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "1\t2\t3\twho {1}\twhy\t{0}", ("0", "1")),
        "MNLI": (pair + "gold_label", "{1}\ta cat\ta dog\t{0}", ("entailment", "neutral", "contradiction")),
        "QNLI": ("index\tquestion\tsentence\tlabel", "{1}\twho\the\t{0}", ("entailment", "not_entailment")),
        "RTE": (pair + "label", "{1}\ta cat\ta dog\t{0}", ("entailment", "not_entailment")),
        "WNLI": (pair + "label", "{1}\ta cat\ta dog\t{0}", ("0", "1")),
    }
    for name, (header, line, labels) in made.items():
        (folder / name).mkdir(parents=True)
        lines = [header] * bool(header) + [line.format(labels[i % len(labels)], i) for i in range(20)]
        for file in ("train", "dev", "dev_matched", "dev_mismatched", "test", "test_matched", "test_mismatched"):
            (folder / name / f"{file}.tsv").write_text("\n".join(lines) + "\n")
    (folder / "CoLA" / "test.tsv").write_text("index\tsentence\n" + "0\tthe cat sat\n" * 20)
    (folder / "diagnostic").mkdir()
    (folder / "diagnostic" / "diagnostic.tsv").write_text("index\tsentence1\tsentence2\n" + "0\ta cat\ta dog\n" * 20)
    write_other_shapes(folder.parent)
    write_korean(folder.parent)
    return folder


def write_other_shapes(folder: Path) -> None:
    """The toys of the other shapes, in the official files of every task."""
    (folder / "conll2003").mkdir()
    write_columns(folder / "conll2003", ("eng.train", "eng.testa", "eng.testb"), types=("PER", "LOC"))
    write_columns(
        folder, ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"), types=("person", "group")
    )
    for version in ("v1.1", "v2.0"):
        write_squad(folder, version)
    write_swag(folder)
    write_klue(folder)
    write_semeval(folder)
    (folder / "codah/cv_split/fold_1").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        lines = [f"n\tThe cat {i}\tsat.\tran.\tflew.\tsang.\t{i % 4}" for i in range(20)]
        (folder / f"codah/cv_split/fold_1/{split}.tsv").write_text("\n".join(lines) + "\n")


def _corpus() -> list[str]:
    """Documents of made-up words, enough of them for a large vocabulary."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(4_000)]
    lengths = (draw.choices(range(15, 26), k=3) for _ in range(600))
    return [" ".join(draw.choices(words, k=length)) for some in lengths for length in (*some, 0)]


def write_survey(folder: Path) -> None:
    """Korean rows as Excel writes them: a workbook of two sheets, and CSV in CP949."""
    rows = [(f"{row}번째 의견은 {('좋다', '나쁘다')[row % 2]}", ("만족", "불만")[row % 2]) for row in range(24)]
    book = Workbook()
    sheet = book.active or book.create_sheet()
    sheet.title = "응답"
    for cells in (("의견", "평가"), *rows):
        sheet.append(cells)
    book.create_sheet("안내").append(["2026"])
    book.save(folder / "survey.xlsx")
    lines = ["의견,평가", *(f"{text},{label}" for text, label in rows)]
    (folder / "survey.csv").write_text("\r\n".join(lines), encoding="cp949")


def write_own_data(folder: Path) -> None:
    """The files that docs/your-data.md and its Korean page speak of."""
    texts = [f"{'good' if row % 2 else 'bad'} {text}" for row, text in enumerate(sentences(24))]
    halves = [(row, text, row % 2) for row, text in enumerate(texts)]
    reviews = ["text,label", *(f"{text},{'good' if mark else 'bad'}" for _, text, mark in halves)]
    ratings = ["id\tdocument\tlabel", *(f"{row}\t{text} 영화\t{mark}" for row, text, mark in halves)]
    pairs = ["sentence1\tsentence2\tscore", *(f"{text}\t한 남자\t{row / 10}" for row, text, _ in halves)]
    marks = ("bad", "good")
    two = [f"{text},{marks[mark]},{marks[mark if row % 5 != 2 else 1 - mark]}" for row, text, mark in halves]
    tickets = [f"{text},{text} again,{'abc'[row % 3]},u{row % 8}" for row, text, _ in halves]
    parts = {
        f"{split}.csv": [reviews[0], *reviews[1 + number :: 3]] for number, split in enumerate(("train", "dev", "test"))
    }
    files = {
        **{f"{place}{name}": lines for place in ("", "data/reviews/") for name, lines in parts.items()},
        **{f"path/to/korsts/sts-{split}.tsv": pairs for split in ("train", "dev", "test")},
        **{f"path/to/nsmc/ratings_{split}.txt": ratings for split in ("train", "test")},
        "reviews.csv": reviews,
        "two.csv": ["text,label_1,label_2", *two],
        "ratings.csv": [line.replace("\t", ",") for line in ratings],
        "stars.csv": ["text,stars", *(f"{text},{1 + row % 5}" for row, text, _ in halves)],
        "tickets.csv": ["title,body,topic,user_id", *tickets],
        "rankings.csv": [
            "query,passage,label",
            *(f"who sat {n // 4},{text},{int(n % 4 == 1)}" for n, text, _ in halves),
        ],
        "search.csv": ["query,passage", *(f"who sat {row // 4},{text}" for row, text, _ in halves)],
        "answers.csv": ["query,passage,label", *(f"who sat {row},{text},1" for row, text, _ in halves)],
        "passages.csv": ["passage", *sentences(24, seed=9)],
        "topics.csv": ["text,topic", *(f"{text},{TOPICS[row % len(TOPICS)]}" for row, text, _ in halves)],
        "titles.csv": ["article,headline", *(f"{text} {row},{' '.join(text.split()[:3])}" for row, text, _ in halves)],
        "new-articles.csv": ["article", *texts],
        "new.csv": ["text", *texts],
        "soft.csv": [
            "text,prediction,p(bad),p(good)",
            *(f"{t},{'good,0.2,0.8' if m else 'bad,0.9,0.1'}" for _, t, m in halves),
        ],
        "pool.csv": ["text", *(f"{text} and {row} more" for row, text, _ in halves)],
        "labelled.csv": ["text,label", *(f"{text},{'ab'[mark]}" for _, text, mark in halves)],
        "other.csv": ["comment", *texts],
        "more.csv": [
            "text,label",
            *(f"{text},{('good', 'fair')[row % 2]}" for row, text in enumerate(sentences(24, seed=3))),
        ],
        "people.csv": ["head,tail,text,relation", *(f"Ann{n},Bo{n},Ann{n} saw Bo{n},{'ab'[n % 2]}" for n in range(24))],
        "nested.jsonl": [
            json.dumps({"text": f"the red cat {row} sat", "spans": [[0, 11, "PET"], [4, 7, "COLOUR"]]})
            for row in range(24)
        ],
        "requests.jsonl": [json.dumps(request(row), ensure_ascii=False) for row in range(24)],
        "pets.jsonl": [json.dumps(pet(row)) for row in range(24)],
        "new.jsonl": [json.dumps({name: cell for name, cell in pet(row).items() if name != "label"}) for row in (1, 2)],
        "lines.txt": texts,
        "corpus.txt": _corpus(),
        "sentence-pairs.txt": [f"{text}\t한 남자" for text in texts],
    }
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_survey(folder)
    for name in ("rows/a", "rows/year=2026/b", "big"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": texts}), folder / f"{name}.parquet")
