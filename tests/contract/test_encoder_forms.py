"""Each form of new encoders is a type that transformers has: exact through our build, saved and loaded."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from encoder_types import found_of_config
from safetensors.torch import load_file
from support.cli import InProcess, assert_error
from support.corpora import sentence
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

from finetune.errors import UserError
from finetune.models.encoder_forms import FORMS, TOGETHER, fix_positions, forms_of, sinusoids
from finetune.models.encoder_sizes import size_of
from finetune.models.freezing import reinitialise
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.record_files import all_records

ACCEPTED = [*FORMS, *("-".join(sorted(forms)) for forms in TOGETHER)]
TYPES = {
    "prenorm": "roberta-prelayernorm",
    "sinusoidal": "bert",
    "rotary": "roformer",
    "electra": "electra",
    "prenorm-sinusoidal": "roberta-prelayernorm",
}


@pytest.mark.parametrize("form", ACCEPTED)
def test_each_form_is_exact(form: str, tiny_bert: Path, tmp_path: Path) -> None:
    found = found_of_config(size_of(f"new:2x32x2-{form}").config(load_tokenizer(tiny_bert)), tmp_path)
    assert not found.refused and found.own_class
    assert max(found.differences.values()) < 1e-5, found.differences
    assert max(*found.reloaded.values(), found.lora) < 1e-5
    assert found.lost == []
    assert all("position" in name for name in found.unread) and bool(found.unread) == (
        "sinusoidal" in form or form == "rotary"
    )


def test_every_other_pair_is_refused() -> None:
    assert set(TYPES) == set(ACCEPTED)
    for pair in permutations(FORMS, 2):
        if set(pair) in TOGETHER:
            assert forms_of("new:tiny", "-".join(pair)) == tuple(sorted(pair))
            continue
        with pytest.raises(UserError, match=f"is {' and '.join(sorted(pair))} in this way"):
            forms_of("new:tiny", "-".join(pair))


def test_sinusoids_are_those_of_the_paper() -> None:
    """Vaswani et al. 2017, section 3.5, number by number."""
    found, width = sinusoids(9, 6), 6
    for place in range(9):
        for index in range(width):
            angle = place / 10_000 ** (2 * (index // 2) / width)
            expected = np.cos(angle) if index % 2 else np.sin(angle)
            assert float(found[place, index]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("form", ["sinusoidal", "prenorm-sinusoidal", "rotary"])
def test_new_positions_are_written_and_never_trained(form: str, tiny_bert: Path) -> None:
    config = size_of(f"new:1x32x2-{form}").config(load_tokenizer(tiny_bert))
    encoder = AutoModel.from_config(config)
    reinitialise(encoder, spread=config.initializer_range)
    fix_positions(encoder, new=True)
    if form == "rotary":
        table = encoder.encoder.embed_positions.weight
        expected = torch.cat([sinusoids(len(table), 16)[:, 0::2], sinusoids(len(table), 16)[:, 1::2]], dim=1)
        assert torch.allclose(table, expected, atol=1e-4)
    else:
        table = encoder.embeddings.position_embeddings.weight
        first = config.pad_token_id + 1 if "prenorm" in form else 0
        assert torch.allclose(table[first:], config.initializer_range * sinusoids(512, 32), atol=1e-4)
    assert not table.requires_grad


@pytest.mark.nightly
@pytest.mark.parametrize("form", ACCEPTED)
def test_each_form_is_pre_trained_and_then_fine_tuned_and_loads_in_transformers(
    form: str, tmp_path: Path, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "corpus.txt").write_text("".join(f"{sentence(n)}\n{sentence(n + 1000)}\n\n" for n in range(240)))
    rows = "".join(f"{sentence(n)},{'yes' if n % 2 else 'no'}\n" for n in range(80))
    (tmp_path / "rows.csv").write_text("text,label\n" + rows)
    settings = (f"model=new:1x32x2-{form}", "train.updates=2", "max_length=32", "train.precision=fp32")
    code, _, err = in_process("run", "corpus.txt", *settings, data="")
    assert code == 0, err
    (record,) = all_records(tmp_path / "results")
    model = tmp_path / "results" / record.task / record.id / "model"
    _, info = AutoModelForMaskedLM.from_pretrained(model, output_loading_info=True)
    assert info["missing_keys"] == set() or not info["missing_keys"]
    code, _, err = in_process(
        "run", "rows.csv", f"model={record.id}", "pooling=family", "train.updates=2", "max_length=32", data=""
    )
    assert code == 0, err
    tuned = next(one for one in all_records(tmp_path / "results") if one.id != record.id)
    saved = tmp_path / "results" / tuned.task / tuned.id / "model"
    theirs, info = AutoModelForSequenceClassification.from_pretrained(saved, output_loading_info=True)
    assert not info["missing_keys"] and theirs.config.model_type == TYPES[form]
    if "sinusoidal" in form:
        (name,) = (name for name in load_file(saved / "model.safetensors") if "position_embeddings" in name)
        before, after = (load_file(folder / "model.safetensors")[name] for folder in (model, saved))
        assert torch.equal(before, after)


def test_an_unknown_form_is_one_line(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "corpus.txt").write_text("a line\n\nanother\n")
    code, _, err = in_process("run", str(tmp_path / "corpus.txt"), "model=new:mini-prenrom", data="")
    assert code == 2
    assert_error(err, "new:mini-prenrom", "no form 'prenrom'", "prenorm")
