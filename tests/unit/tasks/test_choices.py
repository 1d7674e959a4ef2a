"""SWAG's csv and CODAH's folds."""

from pathlib import Path

import pytest

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.options import configured
from finetune.task_types.registry import find

SWAG = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"


def test_swag_from_its_official_csv(tmp_path: Path) -> None:
    line = '0,anet_1,2,"A man sits. He",A man sits.,He,gold,"runs, fast.",stands.,sings.,sleeps.'
    (tmp_path / "swag").mkdir()
    (tmp_path / "swag/train.csv").write_text(f"{SWAG},label\n{line},2\n")
    (tmp_path / "swag/test.csv").write_text(f"{SWAG}\n{line}\n")
    (row,) = find("swag").load(Source(folder=tmp_path), "train").rows
    assert row.context == "A man sits."
    assert row.choices == ("He runs, fast.", "He stands.", "He sings.", "He sleeps.")
    assert row.gold == 2
    assert find("swag").load(Source(folder=tmp_path), "test").rows[0].gold is None
    (tmp_path / "swag/train.csv").write_text(f"{SWAG},label\n{line},7\n")
    with pytest.raises(UserError, match=r"train\.csv:2:.*'7'"):
        find("swag").load(Source(folder=tmp_path), "train")


def test_codah_reads_the_fold_that_is_asked_for(tmp_path: Path) -> None:
    for fold in range(5):
        folder = tmp_path / "codah" / "cv_split" / f"fold_{fold}"
        folder.mkdir(parents=True)
        (folder / "train.tsv").write_text(f"n\tThe cat {fold}\tsat.\tran.\tflew.\tsang.\t{fold % 4}\n")
    source = Source(folder=tmp_path)
    assert find("codah").load(source, "train").rows[0].context == "The cat 0"
    third = configured(find("codah"), {"fold": 3}).load(source, "train")
    assert (third.rows[0].context, third.rows[0].gold) == ("The cat 3", 3)
    for wrong in (5, "1"):
        with pytest.raises(UserError, match="'fold' is"):
            configured(find("codah"), {"fold": wrong})
    (tmp_path / "codah/cv_split/fold_0/train.tsv").write_text("n\tThe cat\tsat.\tran.\tflew.\tsang.\t4\n")
    with pytest.raises(UserError, match=r"train\.tsv:1:.*'4'"):
        find("codah").load(source, "train")
