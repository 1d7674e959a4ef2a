"""Every encoder type of transformers' masked language models, tiny and random: exact through our build, or refused.

What is measured of a type is in benchmarks/encoder_types.py, which records it for the documents.
"""

import json
from pathlib import Path

import pytest
import torch
from encoder_types import CPU, Found, build, found_of
from support.paths import ROOT
from tiny_encoders import CONFIGS, TYPES, save_random, tiny, tokenizer

from finetune.errors import UserError
from finetune.models.families import FAMILIES, most_tokens
from finetune.models.fast_paths import take_fast_paths
from finetune.task_types.prepare import require_positions

FAST = ("bert", "roberta-prelayernorm", "squeezebert", "esm", "fnet", "big_bird", "mra", "perceiver")


CASES = [
    pytest.param(kind, padding, marks=() if kind in FAST and padding == 1 else pytest.mark.nightly)
    for kind in TYPES
    for padding in (0, 1)
]
REFUSED = {
    **dict.fromkeys(("bart", "mbart", "mvp"), "they have an encoder and a decoder"),
    **dict.fromkeys(
        ("modernvbert", "ultravbert"), "their config has no vocab_size or hidden_size or num_hidden_layers"
    ),
    "perceiver": "their config has no hidden_size or num_hidden_layers",
    "mra": "without it no token reads another",
    "reformer": "their vectors are 64 wide, not 32 as in their config",
}
LENGTHS_APART = {"big_bird", "convbert", "fnet", "funnel", "mobilebert", "nystromformer", "yoso"}
UNREAD = {  # parts of names of weights that no head reads
    "esm": ("contact_head.",),
    "luke": ("entity_embeddings.", "e2e_query.", "e2w_query.", "w2e_query."),
    "neomme": ("patch_embeddings.",),
    "roformer": ("embed_positions.",),
}
NO_LORA = {"ibert", "squeezebert"}  # their layers are of classes of their own, and convolutions
NO_BF16 = {"xmod"}


@pytest.mark.parametrize(("kind", "padding"), CASES)
def test_each_type_is_exact_or_refused(kind: str, padding: int, tmp_path: Path) -> None:
    found = found_of(kind, tmp_path, padding=padding)
    if kind in REFUSED:
        assert kind not in FAMILIES
        assert f"'{kind}'" in found.refused
        assert REFUSED[kind] in found.refused
        return
    assert not found.refused
    require_equal(kind, found)
    require_positions(tokenizer(), found.longest, most := most_tokens(build(tmp_path, "sequence").backbone.encoder))
    with pytest.raises(UserError, match=f"has positions for {found.longest} tokens"):
        require_positions(tokenizer(), found.longest + 1, most)


def require_equal(kind: str, found: Found) -> None:
    """Asserts that a type equals transformers, saved and with LoRA too, and that nothing is trained in vain."""
    assert max(found.differences.values()) < 1e-5, found.differences
    assert max(*found.reloaded.values(), found.lora) < 1e-5
    assert found.lost == []
    assert {name for name in found.unread if not any(part in name for part in UNREAD.get(kind, ()))} == set()
    assert bool(found.unread) == (kind in UNREAD)
    assert (found.padded_up_to is not None) == (kind in LENGTHS_APART)
    assert (found.lora_targets == []) == bool(found.no_lora) == (kind in NO_LORA)
    assert bool(found.bf16) == (kind in NO_BF16)
    assert all(f"'{kind}'" in reason for reason in (found.no_lora, found.bf16) if reason)


def test_a_trial_changes_no_random_state(tmp_path: Path) -> None:
    save_random(tiny("big_bird", padding=0), tmp_path)
    model = build(tmp_path, "sequence")
    state = torch.get_rng_state()
    take_fast_paths(model, device=CPU, precision="fp32")
    assert torch.equal(state, torch.get_rng_state())


def test_the_record_of_the_documents_is_of_these_types_and_families() -> None:
    """`python benchmarks/encoder_types.py --out results/benchmarks/encoder_types.json` renews it."""
    recorded = json.loads((ROOT / "results" / "benchmarks" / "encoder_types.json").read_text())["types"]
    assert set(recorded) == set(TYPES)
    assert {kind for kind, found in recorded.items() if found["refused"]} == set(REFUSED)
    assert {kind for kind, found in recorded.items() if found.get("own_class")} == set(FAMILIES)


def test_types_are_counted() -> None:
    assert len(TYPES) >= 45
    assert {*FAST, *CONFIGS, *REFUSED, *LENGTHS_APART, *UNREAD} <= set(TYPES)
