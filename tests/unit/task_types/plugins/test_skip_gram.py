"""Words near a word: what is drawn, the loss by hand, and an encoder without layers that later runs read."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.cli import Finetune, assert_error
from support.corpora import documents, piece_features
from support.runs import as_csv
from support.toy_language import write_groups
from torch.nn.functional import logsigmoid

from finetune.models.feature import IGNORED
from finetune.task_types.plugins.objectives.skip_gram import NEGATIVES, WINDOW, SkipGram, SkipGramHead
from finetune.task_types.pretraining.pieces import WORDS


def test_near_tokens_are_of_the_same_text_and_nearer_ones_more_often(tiny_bert: Path) -> None:
    pieces, distances = piece_features(documents(30, lines=(2, 6)), tiny_bert, size=40)[:6], list[int]()
    for seed in range(20):
        for feature in SkipGram().draw(pieces, np.random.default_rng(seed), share=0.15, unit="tokens"):
            ids = np.asarray(feature.input_ids)
            assert feature.label[WORDS].shape == (len(feature.reads), 1 + NEGATIVES)
            assert len(feature.reads) == len(ids) - 2  # all but [CLS] and [SEP]
            for place, wanted in zip(feature.reads, feature.label[WORDS][:, 0], strict=True):
                if wanted != IGNORED:
                    at = np.flatnonzero(ids[1:-1] == wanted) + 1
                    distances.append(min(abs(at[at != place] - place)))
    assert max(distances) <= WINDOW
    counts = np.bincount(distances)
    assert counts[1] > counts[3] > counts[5] > 0


def test_the_loss_tells_a_near_token_from_others() -> None:
    head = SkipGramHead.__new__(SkipGramHead)
    logits, labels = torch.randn(1, 2, 9), torch.tensor([[[3, 1, 8], [IGNORED, 0, 0]]])
    (loss,) = head.losses(logits, {WORDS: labels}).values()
    near, others = logits[0, 0, 3], logits[0, 0, [1, 8]]
    assert float(loss) == pytest.approx(float(-logsigmoid(near) - logsigmoid(-others).sum()), rel=1e-5)


def test_an_encoder_without_layers_is_read_by_later_runs(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    write_groups(tmp_path / "corpus.txt", documents=60)
    few = ("max_length=32", "--device", "cpu", "--quiet")
    learned = ("run", "corpus.txt", "objective=skip-gram", "train.updates=4", *few)
    assert_error(here(*learned, f"model={tiny_bert}").stderr, "objective=skip-gram", "model=new:0x128")
    done = here(*learned, "model=new:0x32x1", f"tokenizer={tiny_bert}")
    assert done.returncode == 0, done.stderr
    (encoder,) = (path.name for path in tmp_path.glob("results/corpus.txt/*"))
    rows = [(f"the cat sat {number} times", "ab"[number % 2]) for number in range(40)]
    (tmp_path / "rows.csv").write_text(as_csv(("text", "label"), *rows))
    done = here("run", "rows.csv", f"model={encoder}", "train.epochs=1", *few)
    assert done.returncode == 0, done.stderr
    (run,) = (path.name for path in tmp_path.glob("results/rows.csv/*"))
    done = here("predict", run, "rows.csv", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
