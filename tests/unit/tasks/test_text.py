"""Text as a shipped task: files of text, and the texts of other tasks' training rows."""

import json
import lzma
import os
from pathlib import Path

import pytest

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.storage.cache import FACTS
from finetune.task_types.options import configured
from finetune.task_types.registry import installed_task
from finetune.task_types.task import Task
from finetune.tasks.text import LABELLED


def texts(task: Task, folder: Path, split: str) -> list[str]:
    return [document.text for document in task.load(Source(folder=folder, explicit=True), split).rows]


def test_a_file_of_text_is_found_and_divided(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    with lzma.open(tmp_path / "text" / "simplewiki.txt.xz", "wt") as file:
        file.write("\n\n".join(f"the cat {number}\nsat" for number in range(400)))
    task = installed_task("simplewiki")
    train, dev = (texts(task, tmp_path, split) for split in ("train", "dev"))
    assert (len(train), len(dev)) == (300, 100)
    assert {*train, *dev} == {f"the cat {number}\nsat" for number in range(400)}
    with pytest.raises(UserError, match=r"enwiki-part\.txt\.xz"):
        texts(installed_task("enwiki-part"), tmp_path, "train")


def test_a_corpus_of_a_task_has_each_text_of_its_training_rows_once(tmp_path: Path) -> None:
    (tmp_path / "RTE").mkdir()
    head = "index\tsentence1\tsentence2\tlabel\n"
    rows = [f"{i}\tthe  premise {i // 2}\tthe claim {i}\tentailment\n" for i in range(400)]
    (tmp_path / "RTE" / "train.tsv").write_text(head + "".join(rows))
    (tmp_path / "RTE" / "dev.tsv").write_text(f"{head}0\tof dev\tof dev too\tentailment\n")
    task = installed_task("rte-text")
    train, dev = (texts(task, tmp_path, split) for split in ("train", "dev"))
    assert len(dev) == 100
    assert sorted([*train, *dev]) == sorted(
        [*(f"the premise {i}" for i in range(200)), *(f"the claim {i}" for i in range(400))]
    )
    (tmp_path / "RTE" / "train.tsv").write_text(head + "".join(rows[:300]))  # not the file of before from the cache
    assert len(texts(task, tmp_path, "train")) == 350
    with pytest.raises(UserError, match="objective=mlm-nsp needs documents of two lines"):
        texts(configured(task, {"objective": "mlm-nsp"}), tmp_path, "dev")


def test_a_corpus_of_a_task_is_kept_within_the_cache_s_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "RTE").mkdir()
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    head = "index\tsentence1\tsentence2\tlabel\n"
    rows = [f"{i}\tthe premise {i}\tthe claim {i}\tentailment\n" for i in range(400)]

    def corpus(seed: int) -> list[Path]:
        """The files in the cache after texts were read that no other seed has."""
        train = "".join(row.replace("claim", f"claim {seed}") for row in rows)
        (tmp_path / "RTE" / "train.tsv").write_text(head + train)
        texts(installed_task("rte-text"), tmp_path, "train")
        return list(tmp_path.glob("cache/corpora/*/*.txt"))

    (first,) = corpus(1)
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(1.9 * first.stat().st_size / 1e9))
    with pytest.raises(UserError, match=r"the texts of rte need [\d,]+ bytes.*FINETUNE_CACHE_GB"):
        corpus(2)  # a run may still read the first
    os.utime(first.parent / FACTS, (0, 0))
    (second,) = corpus(2)
    assert second.parent != first.parent


def test_every_task_with_training_rows_has_a_corpus() -> None:
    assert len(LABELLED) > 12
    assert {installed_task(f"{task.name}-text").name for task in LABELLED} >= {"sst2-text", "wnut-17-text", "stsb-text"}


def test_squad_by_article_keeps_articles_on_one_side(tmp_path: Path) -> None:
    paragraph = {"context": "the cat sat", "qas": []}
    articles = [
        {"title": title, "paragraphs": [paragraph | {"qas": [_question(f"{title}{i}") for i in range(3)]}]}
        for title in map(str, range(40))
    ]
    (tmp_path / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    task, source = installed_task("squad-v1-by-article"), Source(folder=tmp_path, explicit=True)
    train, dev = ({row.title for row in task.load(source, split).rows} for split in ("train", "dev"))
    assert not train & dev
    assert train | dev == set(map(str, range(40)))
    assert 2 <= len(dev) <= 16
    with pytest.raises(UserError, match="no split 'test'"):
        task.load(source, "test")


def _question(name: str) -> dict[str, object]:
    return {"id": name, "question": "who sat?", "answers": [{"text": "cat", "answer_start": 4}]}
