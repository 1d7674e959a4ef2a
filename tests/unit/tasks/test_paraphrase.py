"""The quickstart's data set is sound."""

from support.paths import ROOT

from finetune.data.formats.delimited import CSV, read_strictly
from finetune.data.source import Source
from finetune.task_types.registry import find


def test_the_quickstart_set_is_balanced_and_has_no_sentence_twice() -> None:
    task = find("paraphrase")
    splits = {split: task.load(Source(), split).rows for split in ("train", "dev")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 1000, "dev": 200}
    for rows in splits.values():
        assert sum(row.gold == "same" for row in rows) * 2 == len(rows)
    texts = [text.lower() for rows in splits.values() for row in rows for text in row.texts]
    assert len(set(texts)) == len(texts) == 2400


def test_counting_words_solves_the_quickstart_set_only_in_part() -> None:
    task = find("paraphrase")
    train, dev = (task.load(Source(), split).rows for split in ("train", "dev"))
    given = task.baselines(train, dev)
    assert task.score(given["majority"], dev)["accuracy"] == 0.5
    assert 0.55 < task.score(given["tfidf-logistic"], dev)["accuracy"] < 0.75


def test_a_second_reader_agrees_with_the_dev_labels() -> None:
    """Their judgements were made from the sentences alone, before they saw a label."""
    file = ROOT / "tests" / "data" / "paraphrase-second-reader.csv"
    judged = [fields["label"] for _, fields in read_strictly(file, CSV, columns=["id", "label"])]
    gold = [row.gold for row in find("paraphrase").load(Source(), "dev").rows]
    assert sum(a == b for a, b in zip(gold, judged, strict=True)) >= 0.95 * len(gold)
