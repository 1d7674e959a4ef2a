"""Text as a shipped task, the quickstart's data set, and real files with their published counts and scores."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.paths import ROOT

from finetune.data.formats.delimited import CSV, read_strictly
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.entities import chunks
from finetune.task_types.options import configured
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find, installed_task
from finetune.task_types.task import Task


def texts(task: Task, folder: Path, split: str) -> list[str]:
    return [document.text for document in task.load(Source(folder=folder, explicit=True), split).rows]


def write_rte(folder: Path, claims: int, word: str = "claim") -> None:
    (folder / "RTE").mkdir(exist_ok=True)
    rows = [f"{i}\tthe  premise {i // 2}\tthe {word} {i}\tentailment\n" for i in range(claims)]
    (folder / "RTE" / "train.tsv").write_text("index\tsentence1\tsentence2\tlabel\n" + "".join(rows))


def test_a_corpus_of_a_task_has_each_text_of_its_training_rows_once(tmp_path: Path) -> None:
    task = installed_task("rte-text")
    write_rte(tmp_path, 400)
    train, dev = (texts(task, tmp_path, split) for split in ("train", "dev"))
    assert len(dev) == 100
    expected = [*(f"the premise {i}" for i in range(200)), *(f"the claim {i}" for i in range(400))]
    assert sorted([*train, *dev]) == sorted(expected)
    write_rte(tmp_path, 300)  # not the file of before from the cache
    assert len(texts(task, tmp_path, "train")) == 350
    with pytest.raises(UserError, match="objective=mlm-nsp needs documents of two lines"):
        texts(configured(task, {"objective": "mlm-nsp"}), tmp_path, "dev")
    assert all(installed_task(f"{name}-text") for name in ("sst2", "wnut-17", "stsb"))


def test_squad_by_article_keeps_articles_on_one_side(tmp_path: Path) -> None:
    answers = [{"text": "cat", "answer_start": 4}]
    articles = []
    for title in map(str, range(40)):
        asked = [{"id": f"{title}-{i}", "question": "who sat?", "answers": answers} for i in range(3)]
        articles.append({"title": title, "paragraphs": [{"context": "the cat sat", "qas": asked}]})
    (tmp_path / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    task, source = installed_task("squad-v1-by-article"), Source(folder=tmp_path, explicit=True)
    train, dev = ({row.title for row in task.load(source, split).rows} for split in ("train", "dev"))
    assert not train & dev and train | dev == {*map(str, range(40))} and 2 <= len(dev) <= 16
    with pytest.raises(UserError, match="no split 'test'"):
        task.load(source, "test")


def test_the_quickstart_set_is_balanced_and_solved_only_in_part_by_counting_words() -> None:
    task = find("paraphrase")
    train, dev = (task.load(Source(), split).rows for split in ("train", "dev"))
    assert [Counter(row.gold for row in rows)["same"] for rows in (train, dev)] == [500, 100]
    given = [text.lower() for row in (*train, *dev) for text in row.texts]
    assert len(set(given)) == len(given) == 2400
    baselines = task.baselines(train, dev)
    assert task.score(baselines["majority"], dev)["accuracy"] == 0.5
    assert 0.55 < task.score(baselines["tfidf-logistic"], dev)["accuracy"] < 0.75
    file = ROOT / "tests" / "data" / "paraphrase-second-reader.csv"  # who judged the sentences and saw no label
    judged = [fields["label"] for _, fields in read_strictly(file, CSV, columns=["id", "label"])]
    assert sum(a == row.gold for a, row in zip(judged, dev, strict=True)) >= 0.95 * len(dev)


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        ("mrpc", (3668, 408, 1725)),
        ("cola", (8551, 1043, 1063)),
        ("sst2", (67349, 872, 1821)),
        ("stsb", (5749, 1500, 1379)),
        ("wnli", (635, 71, 146)),
        ("korsts", (5749, 1500, 1379)),
    ],
)
def test_real_files_are_read_whole(task: str, rows: tuple[int, ...], real_data: Path) -> None:
    source = Source(folder=real_data, explicit=True)
    splits = {split: find(task).load(source, split).rows for split in ("train", "dev", "test")}
    assert tuple(map(len, splits.values())) == rows
    assert all(row.gold is not None for split in ("train", "dev") for row in splits[split])
    assert task != "mrpc" or sum(row.gold == "equivalent" for row in splits["dev"]) == 279  # as was published


def test_entities_of_real_files_are_those_of_the_papers(real_data: Path) -> None:
    """Tjong Kim Sang and De Meulder 2003, Table 2."""
    source = Source(folder=real_data)
    dev, test = (find("conll-2003").load(source, split).rows for split in ("dev", "test"))
    counts = [Counter(kind for row in rows for kind, _, _ in chunks(row.gold)) for rows in (dev, test)]
    assert counts[0] == {"LOC": 1837, "MISC": 922, "ORG": 1341, "PER": 1842}
    assert counts[1] == {"LOC": 1668, "MISC": 702, "ORG": 1661, "PER": 1617}
    assert (len(dev), len({row.document for row in dev}), sum(len(row.words) for row in dev)) == (3250, 216, 51362)
    wnut = find("wnut-17").load(source, "test")
    assert sum(len(chunks(row.gold)) for row in wnut.rows) == 1079 and "documents" in wnut.notes[0]


@pytest.mark.parametrize(
    ("name", "file", "em", "f1"),
    [
        ("squad-v1", "dev-v1.1_BERT_ensemble_GoogleAI.json", 86.206, 92.196),
        ("squad-v2", "dev-v2.0_BERT_single_GoogleAI.json", 78.742, 81.775),
    ],
)
def test_published_answers_have_official_scores(name: str, file: str, em: float, f1: float, real_data: Path) -> None:
    answers = real_data / "squad-predictions" / file
    if not answers.is_file():
        pytest.skip(f"needs {answers}")
    given, rows = json.loads(answers.read_text()), find(name).load(Source(folder=real_data), "dev").rows
    scores = find(name).score([Answer(value=given[row.id]) for row in rows], rows)
    assert (round(100 * scores["em"], 3), round(100 * scores["f1"], 3)) == (em, f1)
