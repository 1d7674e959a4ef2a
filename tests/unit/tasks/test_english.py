"""Published English files with their quirks, row by row; and what happens to files that are not as they should be."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.relations import write_semeval

from finetune.data.source import Source, source_of
from finetune.errors import UserError
from finetune.task_types.options import configured
from finetune.task_types.registry import find

MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
PAIR = "index\tsentence1\tsentence2\tlabel\n"
MNLI = "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n"
SCORE = "index\tsentence1\tsentence2\tscore\n"
SWAG = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
MAN = '0,anet_1,2,"A man sits. He",A man sits.,He,gold,"runs, fast.",stands.,sings.,sleeps.'
AX = "Domain\tPremise\tHypothesis\tLabel\n"
QUOTES = '1\t1\t2\tHe said "no .\tShe said " yes\n0\t3\t4\tOne\tTwo\n'
EU = "EU NNP I-NP I-ORG\nsaid VB I-VP O\n\n\nRome NN I-NP I-LOC\n"


def put(folder: Path, file: str, content: Any, encoding: str = "utf-8") -> Source:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding=encoding)
    return Source(folder=folder, explicit=True)


READ: list[tuple[str, str, str, str, list[tuple[Any, ...]]]] = [  # texts and gold of each row
    ("mrpc", "train", "MRPC/train.tsv", f"\ufeff{MRPC}{QUOTES}",
     [('He said "no .', 'She said " yes', "equivalent"), ("One", "Two", "not_equivalent")]),
    ("cola", "train", "glue/CoLA/train.tsv", "gj04\t1\t\tIt is.\ngj04\t0\t*\tIs it is.\n",
     [("It is.", "acceptable"), ("Is it is.", "unacceptable")]),
    ("cola", "test", "glue/CoLA/test.tsv", "index\tsentence\n0\tWell.\n", [("Well.", None)]),
    ("stsb", "dev", "STS-B/dev.tsv", f"{SCORE}0\ta\tb\t3.800\n", [("a", "b", 3.8)]),
    ("mnli", "dev", "MNLI/dev_matched.tsv", f"{MNLI}0\tx\ta\tb\tneutral\tentailment\n", [("a", "b", "entailment")]),
    ("mnli", "dev-mismatched", "MNLI/dev_mismatched.tsv", f"{MNLI}0\tx\tc\td\tneutral\tneutral\n",
     [("c", "d", "neutral")]),
    ("qnli", "train", "QNLI/train.tsv", "index\tquestion\tsentence\tlabel\n0\tWho?\tHe.\tnot_entailment\n",
     [("Who?", "He.", "not_entailment")]),
    ("rte", "train", "RTE/train.tsv", f"{PAIR}0\tA.\tB.\tentailment\n", [("A.", "B.", "entailment")]),
    ("wnli", "train", "WNLI/train.tsv", f"{PAIR}0\tA.\tB.\t1\n", [("A.", "B.", "entailment")]),
    ("sst2", "train", "SST-2/train.tsv", "sentence\tlabel\nfine \t1\n", [("fine ", "positive")]),
    ("qqp", "train", "QQP/train.tsv", f"{QQP}1\t2\t3\tWhy?\tHow?\t1\nbroken\n4\t5\n", [("Why?", "How?", "duplicate")]),
    ("ax", "test", "glue/diagnostic/diagnostic.tsv", "index\tsentence1\tsentence2\n0\tA\tB\n", [("A", "B", None)]),
    ("ax", "test", "glue/diagnostic/diagnostic-full.tsv", f"{AX}x\tA\tB\tentailment\n", [("A", "B", "entailment")]),
]  # fmt: skip


@pytest.mark.parametrize(("task", "split", "file", "content", "expected"), READ)
def test_glue_is_read(task: str, split: str, file: str, content: str, expected: Any, tmp_path: Path) -> None:
    loaded = find(task).load(put(tmp_path, file, content), split)
    assert [(*row.texts, row.gold) for row in loaded.rows] == expected
    assert [row.id for row in loaded.rows] == [f"{split}-{number}" for number in range(len(expected))]
    assert ("2 malformed lines, first 3" in "".join(loaded.notes)) == (task == "qqp")


def test_other_published_files_are_read(tmp_path: Path) -> None:
    (row,) = find("swag").load(put(tmp_path, "swag/train.csv", f"{SWAG},label\n{MAN},2\n"), "train").rows
    assert (row.context, row.gold) == ("A man sits.", 2)
    assert row.choices == ("He runs, fast.", "He stands.", "He sings.", "He sleeps.")
    assert find("swag").load(put(tmp_path, "swag/test.csv", f"{SWAG}\n{MAN}\n"), "test").rows[0].gold is None
    for fold in range(5):
        line = f"n\tThe cat {fold}\tsat.\tran.\tflew.\tsang.\t{fold % 4}\n"
        source = put(tmp_path, f"codah/cv_split/fold_{fold}/train.tsv", line)
    for fold in (0, 3):
        (row,) = configured(find("codah"), {"fold": fold}).load(source, "train").rows
        assert (row.context, row.gold) == (f"The cat {fold}", fold)
    with pytest.raises(UserError, match="'fold' is"):
        configured(find("codah"), {"fold": 5})
    source = put(
        tmp_path, "conll2003/eng.train", f"-DOCSTART- -X- O O\n\n{EU}\n-DOCSTART- -X- O O\n\nx y z O\n", "latin-1"
    )
    found = [(row.document, row.words, row.gold) for row in find("conll-2003").load(source, "train").rows]
    expected = [("1", ("EU", "said"), ("B-ORG", "O")), ("1", ("Rome",), ("B-LOC",)), ("2", ("x",), ("O",))]
    assert [(words, tags) for _, words, tags in found] == [(words, tags) for _, words, tags in expected]
    assert [one == found[0][0] for one, _, _ in found] == [True, True, False]


def test_semeval_takes_every_tenth_training_sentence_as_dev(tmp_path: Path) -> None:
    write_semeval(tmp_path)
    task, source = find("semeval-2010-8"), Source(folder=tmp_path)
    train, dev, test = (task.load(source, split).rows for split in ("train", "dev", "test"))
    assert [len(train), len(dev), len(test)] == [36, 4, 12]
    assert [row.id for row in dev] == ["10", "20", "30", "40"]
    assert (dev[0].text, dev[0].gold) == ("The <e1>storm</e1> came from the <e2>flood</e2> 10.", "Cause-Effect(e2,e1)")


def squad(
    question: dict[str, Any], *, context: str = "The red cat sat on a red mat.", times: int = 1
) -> dict[str, Any]:
    article = {"title": "T", "paragraphs": [{"context": context, "qas": [question]}]}
    return {"version": "1.1", "data": [article] * times}


GOOD = {"id": "q1", "question": "Who sat?", "answers": [{"text": "red cat", "answer_start": 4}]}
BARE = {"id": "q1", "question": "Who sat?"}
V1, V2 = "train-v1.1.json", "train-v2.0.json"


@pytest.mark.parametrize(
    ("file", "question", "answers", "start"),
    [
        (V1, GOOD, ("red cat",), 4),
        (V2, BARE | {"answers": [], "is_impossible": True}, (), None),
        (V1, BARE | {"answers": [{"text": "cat", "answer_start": 5}]}, ("cat",), 8),  # fixed, as it is certain
        (V1, BARE | {"answers": [{"text": "red", "answer_start": 2}]}, ("red",), None),
        (V1, BARE | {"answers": [{"text": "dog", "answer_start": 4}]}, ("dog",), None),
    ],
)
def test_squad_is_read(file: str, question: Any, answers: Any, start: int | None, tmp_path: Path) -> None:
    name = "squad-v1" if file == V1 else "squad-v2"
    loaded = find(name).load(put(tmp_path, file, squad(question)), "train")
    (row,) = loaded.rows
    assert (row.id, row.title, row.answers, row.start) == ("q1", "T", answers, start)
    noted = 0 if not answers or start == 4 else 1 if start == 8 else 2
    assert [note.endswith("first q1") for note in loaded.notes] == [True] * noted


@pytest.mark.parametrize(
    ("task", "file", "content", "said"),
    [
        ("mrpc", "MRPC/train.tsv", f"{MRPC}1\t1\t2\ta\tb\n1\t1\t2\ta\n", "train.tsv:3: expected 5 cells"),
        ("mrpc", "MRPC/train.tsv", f"{MRPC}2\t1\t2\ta\tb\n", "train.tsv:2: unknown label '2'"),
        ("stsb", "STS-B/train.tsv", f"{SCORE}0\ta\tb\tnan\n", "train.tsv:2: 'nan'"),
        ("ax", "glue/diagnostic/diagnostic.tsv", "index\tsentence1\tsentence2\n0\tA\tB\n", "has no split 'train'"),
        ("swag", "swag/train.csv", f"{SWAG},label\n{MAN},7\n", r"train\.csv:2:.*'7'"),
        ("codah", "codah/cv_split/fold_0/train.tsv", "n\tThe cat\ta\tb\tc\td\t4\n", r"train\.tsv:1:.*'4'"),
        ("conll-2003", "conll2003/eng.train", "EU NN I-ORG\nsaid O\n", r"eng\.train:2: .*found 2"),
        ("conll-2003", "conll2003/eng.train", "EU I-ORG\n\nsaid X-ORG\n", r"eng\.train:3: 'X-ORG'"),
        ("squad-v1", V1, '{"data": [}', r"train-v1\.1\.json:1: is not JSON"),
        ("squad-v1", V1, squad(GOOD | {"answers": [{"text": "cat"}]}), r"qas\[0\]:.*answer_start"),
        ("squad-v1", V1, squad(GOOD | {"answers": []}), r"'q1'.*squad-v2"),
        ("squad-v1", V1, squad(GOOD | {"is_impossible": True}), r"'q1'.*is_impossible"),
        ("squad-v1", V1, squad(GOOD, times=2), r"data\[1\].*'q1'.*data\[0\]"),
    ],
)
def test_faults_of_files_are_named(task: str, file: str, content: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        find(task).load(put(tmp_path, file, content), "train")


def test_where_files_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "glue/RTE/train.tsv", f"{PAIR}0\ta\tb\tentailment\n")
    for folder in (tmp_path, tmp_path / "glue", tmp_path / "glue" / "RTE"):
        assert len(find("rte").load(Source(folder=folder, explicit=True), "train").rows) == 1
    put(tmp_path, "RTE/train.tsv", f"{PAIR}0\ta\tb\tentailment\n")
    put(tmp_path, "latin/SST-2/train.tsv", "sentence\tlabel\nfine\t1\ncaf\xe9\t0\n", "latin-1")
    for task, source, said in (
        ("rte", Source(folder=tmp_path, explicit=True), "both match"),
        ("sst2", Source(folder=tmp_path / "latin", explicit=True), r"train\.tsv:3:"),
        ("mrpc", Source(folder=tmp_path / "nowhere", explicit=True), "no such folder"),
        ("mrpc", Source(folder=tmp_path), r"MRPC/train\.tsv.*nyu-mll/glue.*`data_folder`"),
    ):
        with pytest.raises(UserError, match=said):
            find(task).load(source, "train")
    monkeypatch.setenv("FINETUNE_DATA", str(tmp_path))
    assert source_of(None) == Source(folder=tmp_path)
    assert source_of(Path("x")) == Source(folder=Path("x"), explicit=True)
