"""Toys of KLUE's tasks as the official files of version 1.1, and as rows of the Hub's copy."""

import json
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, Features, List

from finetune.tasks.klue_re import LABELS
from support.relations import klue_rows

TOPICS = {"정치": "국회 대통령", "경제": "주가 환율", "스포츠": "야구 결승골"}
RELATIONS = {"entailment": "비가 온다", "contradiction": "비가 오지 않는다", "neutral": "우산을 산다"}
SENTENCES = (  # with KLUE-NER's marks
    "<이순신:PS> 장군은 <한산도:LC>에서 이겼다.",
    "<김 구:PS>는 <3월 1일:DT> <서울:LC>에 갔다.",
    "<한국은행:OG>은 <두 번:QT> 발표했다.",
    "회의는 <오전 9시:TI>에 시작한다.",
)
STATED = "장마는 한 달가량 이어진다. 서울은 흐리다."
NUMBERS = range(12)


def ynat() -> list[dict[str, Any]]:
    """Headlines whose words tell the topic."""
    return [
        {"guid": f"ynat-v1_{n:05d}", "title": f"{TOPICS[topic]} 소식 {n}", "url": "https://example.com", "label": topic,
         "annotations": {"annotators": ["1", "2", "3"], "annotations": {"first-scope": [topic] * 3}},
         "predefined_news_category": topic, "date": "2016.06.30. 오전 10:36"}
        for n in NUMBERS
        for topic in [list(TOPICS)[n % 3]]
    ]  # fmt: skip


def sts() -> list[dict[str, Any]]:
    """Pairs that share more words the higher their number; `label` is rounded, `real-label` is not."""
    return [
        {"guid": f"klue-sts-v1_{n:05d}", "source": "airbnb-rtt", "sentence1": "숙소가 아주 깨끗하고 조용해요",
         "sentence2": " ".join(["숙소가", "아주", "깨끗하고", "조용해요", "좋아요"][: 1 + n % 5]),
         "labels": {"label": round(real, 1), "real-label": real, "binary-label": int(real >= 3)},
         "annotators": {"agreement": "0:0:0:2:3:0:0", "annotators": ["07"], "annotations": [4]}}
        for n in NUMBERS
        for real in [1 + n % 5 - 1 / 7]
    ]  # fmt: skip


def nli() -> list[dict[str, Any]]:
    """Pairs whose second sentence tells the relation."""
    return [
        {"guid": f"klue-nli-v1_{n:05d}", "genre": "NSMC", "premise": f"{n}일에 비가 많이 온다",
         "hypothesis": RELATIONS[relation], "gold_label": relation, "author": relation, "label2": relation}
        for n in NUMBERS
        for relation in [list(RELATIONS)[n % 3]]
    ]  # fmt: skip


def tagged(sentence: str) -> list[tuple[str, str]]:
    """(character, tag) of a sentence with marks, spaces included."""
    found: list[tuple[str, str]] = []
    for part in sentence.replace("<", "\n<").replace(">", "\n").split("\n"):
        text, _, kind = part.removeprefix("<").rpartition(":") if part.startswith("<") else (part, "", "")
        tags = [f"{'I' if place else 'B'}-{kind}" if kind else "O" for place in range(len(text))]
        found += zip(text, tags, strict=True)
    return found


def ner() -> str:
    """The lines of KLUE-NER's file: comments, a character and its tag a line, an empty line after each sentence."""
    lines = ["## 토큰, 레이블 구분자 : \\t", "## 컬럼명 : CHAR\tNE_TAG"]
    for n in NUMBERS:
        sentence = SENTENCES[n % len(SENTENCES)]
        lines += [f"## klue-ner-v1_{n:05d}-wikitree\t{sentence}"]
        lines += [f"{character}\t{tag}" for character, tag in tagged(sentence)]
        lines += ["\t" if n == 3 else ""]  # a few official sentences end so
    return "\n".join(lines) + "\n"


def mrc() -> dict[str, Any]:
    """Articles with a question each; every third has no answer, but a plausible one."""
    articles = []
    for n in NUMBERS:
        answers = [{"text": text, "answer_start": 4} for text in ("한 달가량", "한 달")]
        impossible = n % 3 == 2
        question = {
            "guid": f"klue-mrc-v1_{n:05d}",
            "question": "태풍은 언제 오는가?" if impossible else f"{n}년에 장마는 얼마나 이어지는가?",
            "question_type": 3 if impossible else 1,
            "is_impossible": impossible,
            "answers": [] if impossible else answers,
        }
        question |= {"plausible_answers": answers[:1]} if impossible else {}
        paragraph = {"context": STATED, "qas": [question]}
        articles.append({"title": "장마", "news_category": "종합", "source": "hankyung", "paragraphs": [paragraph]})
    return {"version": "v1.1", "data": articles}


def write_klue(folder: Path) -> Path:
    """The official files, train and dev alike, in the folders of the official repository."""
    files = ("ynat", ynat()), ("klue-sts", sts()), ("klue-nli", nli()), ("klue-re", klue_rows(12)), ("klue-mrc", mrc())
    for name, content in files:
        for split in ("train", "dev"):
            write_official(folder, f"{name}-v1.1_{split}.json", json.dumps(content, ensure_ascii=False))
    for split in ("train", "dev"):
        write_official(folder, f"klue-ner-v1.1_{split}.tsv", ner())
    return folder


def write_official(folder: Path, file: str, text: str) -> None:
    """An official file in its folder, which is called as the file but for the split."""
    path = folder / "klue_benchmark" / file.partition("_")[0] / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_hub(folder: Path) -> None:
    """The data set as the Hub has it, for `load_dataset` in that folder: labels are numbers, and NER has no guid."""
    topics = ["IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치"]
    relations = ["entailment", "neutral", "contradiction"]
    tags = [*(f"{prefix}-{kind}" for kind in ("DT", "LC", "OG", "PS", "QT", "TI") for prefix in "BI"), "O"]
    configs = {
        "ynat": [{**_part(row, "guid", "title", "url"), "label": topics.index(row["label"])} for row in ynat()],
        "sts": [_part(row, "guid", "source", "sentence1", "sentence2", "labels") for row in sts()],
        "nli": [
            {**_part(row, "guid", "premise", "hypothesis"), "label": relations.index(row["gold_label"])}
            for row in nli()
        ],
        "ner": [
            {"tokens": [character for character, _ in pairs], "ner_tags": [tags.index(tag) for _, tag in pairs]}
            for pairs in (tagged(SENTENCES[n % len(SENTENCES)]) for n in NUMBERS)
        ],
        "mrc": [_hub_question(article) for article in mrc()["data"]],
    }
    configs["re"] = [{**row, "label": LABELS.index(row["label"])} for row in klue_rows(12)]
    kinds = {
        "re": {"label": ClassLabel(names=list(LABELS))},
        "ynat": {"label": ClassLabel(names=topics)},
        "nli": {"label": ClassLabel(names=relations)},
        "ner": {"ner_tags": List(ClassLabel(names=tags))},
    }
    place = folder / "klue" / "klue"
    for config, rows in configs.items():
        table = Dataset.from_list(rows)
        typed = table.cast(Features({**table.features, **kinds.get(config, {})}))
        for split in ("train", "validation"):
            typed.to_parquet(place / config / f"{split}-00000-of-00001.parquet")
    splits = {config: [{"split": s, "path": f"{config}/{s}-*"} for s in ("train", "validation")] for config in configs}
    card = {"configs": [{"config_name": config, "data_files": files} for config, files in splits.items()]}
    (place / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")  # JSON is YAML


def _part(row: dict[str, Any], *columns: str) -> dict[str, Any]:
    return {column: row[column] for column in columns}


def _hub_question(article: dict[str, Any]) -> dict[str, Any]:
    """A question as the Hub has it: what is only plausible is among the answers."""
    (paragraph,) = article["paragraphs"]
    (question,) = paragraph["qas"]
    answers = question["answers"] + question.get("plausible_answers", [])
    return {
        **_part(article, "title", "news_category", "source"),
        **_part(question, "guid", "is_impossible", "question_type", "question"),
        "context": paragraph["context"],
        "answers": {key: [answer[key] for answer in answers] for key in ("answer_start", "text")},
    }
