"""What is measured of rows: lengths, unknown tokens, languages, signs, columns and predictions."""

import numpy as np
import pytest
from support.runs import FinishedRun

from finetune.inference.predictor import Predictor, load_predictor
from finetune.inference.shift.measures import (
    OF_PARTS,
    WRITING,
    Measures,
    answer_measures,
    labels_of,
    language_names,
    row_parts,
    text_measures,
)
from finetune.task_types.parts import Answer


def measured(predictor: Predictor, *texts: str) -> Measures:
    rows = [predictor.row(text) for text in texts]
    return text_measures(predictor.task, rows, predictor.encoded(rows), predictor.tokenizer.unk_token_id)


def test_texts_are_measured_row_by_row(reviewer: Predictor) -> None:
    found = measured(reviewer, "the cat sat", "THE CAT! 12", "그 고양이가 앉았다", "이것은 그리고 the")
    assert {len(values) for values in found.values()} == {4}
    assert np.exp(found["length"][0]).tolist() == pytest.approx([5, 11])  # with [CLS] and [SEP]
    unknown = found["vocabulary"][:, 0]
    assert unknown[0] == 0
    assert unknown[2] > 0.5
    scripts = dict(zip(language_names(), found["language"].T, strict=True))
    assert scripts["Hangul letters"].tolist() == pytest.approx([0, 0, 1, 2 / 3], abs=0.03)
    assert scripts["frequent words of English"].tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    signs = dict(zip((*WRITING, "damage"), found["writing"].T, strict=True))
    assert signs["capitals"].tolist() == pytest.approx([0, 6 / 11, 0, 0])
    assert signs["digits"][1] == pytest.approx(2 / 11)
    assert signs["punctuation"][1] == pytest.approx(1 / 11)
    assert "columns" not in found  # one text


def test_replacement_characters_are_damage(reviewer: Predictor) -> None:
    assert measured(reviewer, "the c\ufffdt sat")["writing"][0, -1] == pytest.approx(1 / 11)


def test_each_text_of_a_pair_is_measured(finished_run: FinishedRun) -> None:
    predictor = load_predictor(finished_run("regression"))
    rows = [predictor.row("the cat sat", "the dog ran away?")]
    assert row_parts(predictor.task, rows[0]) == ("the cat sat", "the dog ran away?")
    found = text_measures(predictor.task, rows, predictor.encoded(rows), None)
    columns = dict(zip(OF_PARTS, found["columns"][0], strict=True))
    assert np.exp(columns["length of the first text"]) == pytest.approx(11)
    assert columns["question marks at the end of the second text"] == 1


@pytest.mark.parametrize(
    ("kind", "inputs", "labels"),
    [
        ("multilabel", ("the cat",), {"a", "b"}),
        ("tagging", ("the cat sat",), {"PET"}),
        ("span", ("who sat?", "the cat sat"), {"an answer", "no answer"}),
        ("choice", ("the cat", ["sat", "ran"]), {"choice 1", "choice 2"}),
    ],
)
def test_predictions_of_each_type_have_labels(
    finished_run: FinishedRun, kind: str, inputs: tuple[str, ...], labels: set[str]
) -> None:
    predictor = load_predictor(finished_run(kind))
    answers = [predictor(*inputs)]
    (found,) = labels_of(predictor.task, answers)
    assert set(found) <= labels
    values = answer_measures(predictor.task, answers, sorted(labels))
    assert values.shape == (1, len(labels) + 3)
    assert values[0, : len(labels)].sum() == len(found)
    assert 0 <= values[0, -2] <= 0.5


def test_unknown_labels_and_numbers_have_places_of_their_own(reviewer: Predictor, finished_run: FinishedRun) -> None:
    answers = [Answer(value="bad", probabilities=(0.9, 0.1))]
    assert answer_measures(reviewer.task, answers, ["good"])[0].tolist() == pytest.approx([0, 1, 0.4, 0])
    numbers = load_predictor(finished_run("regression")).task
    assert answer_measures(numbers, [Answer(value=2.5)], [])[0].tolist() == pytest.approx([0, 0.5, 2.5])
