"""Korean data sets: published layouts, dev rows where there is no file of them, and files with faults."""

from pathlib import Path

import pytest
from support.korean import write_korean

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.registry import find
from finetune.tasks import korean


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(folder=write_korean(tmp_path_factory.mktemp("korean")))


def test_nsmc_keeps_its_quotes_and_gives_a_thirtieth_of_the_training_rows_to_dev(source: Source) -> None:
    train, dev, test = (find("nsmc").load(source, split).rows for split in ("train", "dev", "test"))
    assert len(train) + len(dev) == 6 * 72
    assert 0 < len(dev) < 6 * 72 / 10
    assert not {row.text for row in train} & {row.text for row in dev}
    assert (test[1].id, test[1].text, test[1].gold) == ("test-1", '배우 "정말 0 좋아요', "positive")


def test_kornli_is_trained_on_both_translations_and_scored_on_xnli(source: Source) -> None:
    task = find("kornli")
    train = task.load(source, "train")
    assert [len(task.load(source, split).rows) for split in ("train", "dev", "test")] == [108, 36, 36]
    assert len({row.id for row in train.rows}) == 108
    assert (train.rows[0].id, train.rows[-1].id, train.rows[0].gold) == ("snli-0", "multinli-35", "entailment")
    assert "snli_1.0_train.ko.tsv and " in train.origin
    with pytest.raises(UserError, match="xnli has no split 'extra'"):
        task.load(source, "extra")


def test_korsts_has_numbers_and_korquad_places(source: Source) -> None:
    row = find("korsts").load(source, "test").rows[1]
    assert (row.text, row.pair, row.gold) == ("배우 좋다.", "음악 좋다.", 1.25)
    asked = find("korquad").load(source, "dev").rows[0]
    assert (asked.answers, asked.context[asked.start : asked.start + 2]) == (("서울",), "서울")


def test_the_types_of_naver_names_come_before_b_and_i(source: Source) -> None:
    train, dev, test = (find("naver-ner").load(source, split).rows for split in ("train", "dev", "test"))
    assert (len(train) + len(dev), len(test)) == (18 * 24, 48)
    assert dev
    assert (test[0].words, test[0].gold) == (("정말", "안나", "0", "영화", "봤다"), ("O", "B-PER", "I-PER", "O", "O"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("안나 봤다\tPER-B", r"train.tsv:1: has 2 words and 1 tag"),
        ("안나 봤다\tPER-B -", r"train.tsv:1: '-' is not a tag"),
        ("안나 봤다\tB-PER O", r"train.tsv:1: 'B-PER' is not a tag"),
        ("안나 봤다\tXXX-B O", r"train.tsv:1: 'XXX-B' is not a tag"),
        ("1\t안나\tPER_B", r"train.tsv:1: "),  # the challenge's own files: a word a line
    ],
)
def test_faults_of_tagged_lines_are_named(line: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=expected):
        find("naver-ner").load(Source(folder=tmp_path), "train")


@pytest.mark.parametrize(
    ("task", "split", "file", "text", "expected"),
    [
        ("nsmc", "train", "ratings_train.txt", "id\tdocument\tlabel\n1\t좋다\t2\n", r"ratings_train.txt:2: .*'2'"),
        ("nsmc", "test", "ratings_test.txt", "id\ttext\tlabel\n1\t좋다\t1\n", r"ratings_test.txt:2: .*'document'"),
        ("korsts", "dev", "sts-dev.tsv", "score\tsentence1\tsentence2\n높음\t가\t나\n", r"sts-dev.tsv:2: '높음'"),
        ("kornli", "dev", "xnli.dev.ko.tsv", "sentence1\tsentence2\tgold_label\n가\t나\t-\n", r"xnli.dev.ko.tsv:2:"),
        ("korquad", "dev", "KorQuAD_v1.0_dev.json", '{"paragraphs": []}', r"KorQuAD_v1.0_dev.json: has no 'data'"),
    ],
)
def test_faults_of_files_are_named(task: str, split: str, file: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=expected):
        find(task).load(Source(folder=tmp_path, explicit=True), split)


def test_the_naver_names_have_no_copy_to_look_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"looked for test.tsv in naver-ner.*`data_folder`"):
        find("naver-ner").load(Source(folder=tmp_path), "test")


def test_the_hub_copy_of_korsts_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rows(repository: str, config: str | None, split: str, **rest: object) -> list[dict[str, object]]:
        asked.append((repository, config, split, rest["revision"]))
        return [{"sentence1": "가", "sentence2": "나", "score": 2.5, "document": "다", "label": 1}]

    monkeypatch.setattr("finetune.tasks.glue.hub_rows", rows)
    loaded = korean.KORSTS(Source(), "dev")
    assert (loaded.rows[0].gold, loaded.origin) == (2.5, "dkoterwa/kor-sts (valid)")
    assert "lacks 96" in loaded.notes[0]
    assert find("nsmc").load(Source(), "test").rows[0].gold == "positive"
    assert asked == [("dkoterwa/kor-sts", None, "valid", None), ("e9t/nsmc", None, "test", "refs/convert/parquet")]


@pytest.mark.slow
def test_the_real_files(real_data: Path) -> None:
    counts = {
        name: [len(find(name).load(Source(folder=real_data), split).rows) for split in ("train", "dev", "test")]
        for name in ("nsmc", "korsts")
    }
    assert counts["korsts"] == [5749, 1500, 1379]
    assert (sum(counts["nsmc"][:2]), counts["nsmc"][2]) == (150_000, 50_000)
    assert 4_500 < counts["nsmc"][1] < 5_500
