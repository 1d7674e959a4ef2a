"""Every encoder type of transformers' masked language models, tiny and random: exact through our build, or refused.

A type is a row: `CONFIGS` has what its tiny config needs besides `SIZES`.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from transformers import CONFIG_MAPPING, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

from finetune.commands.features.embeddings import EveryPosition
from finetune.errors import UserError
from finetune.models.batch import Batch
from finetune.models.families import FAMILIES, most_tokens, require_encoder
from finetune.models.fast_paths import take_fast_paths
from finetune.models.model import EncoderWithHead
from finetune.models.saving import build_model
from finetune.runs.recipe import Recipe, Train

CPU = torch.device("cpu")
POSITIONS, VOCABULARY = 40, 100
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "dim", "emb_dim"), 32),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "num_key_value_heads"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
    "embedding_size": 16,
    "max_position_embeddings": POSITIONS,
    "vocab_size": VOCABULARY,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "luke": {"entity_vocab_size": 20, "entity_emb_size": 16},
    "mobilebert": {"embedding_size": 32, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    "layoutlm": {"max_2d_position_embeddings": 16},
    "squeezebert": {
        "embedding_size": 32,
        **dict.fromkeys(("q_groups", "k_groups", "v_groups", "post_attention_groups"), 1),
        **dict.fromkeys(("intermediate_groups", "output_groups"), 1),
    },
    "longformer": {"attention_window": 8},
    "xmod": {"languages": ["en"], "default_language": "en"},
    "tapas": {"type_vocab_sizes": [3, 4, 4, 2, 4, 4, 4]},
    "roc_bert": {"pronunciation_vocab_size": 20, "shape_vocab_size": 20},
    "reformer": {"axial_pos_shape": (5, 8), "axial_pos_embds_dim": (16, 16), "attention_head_size": 16},
    "funnel": {"block_sizes": [1, 1], "n_head": 2, "d_head": 16, "d_inner": 64, "architectures": ["FunnelModel"]},
}
FAST = (
    *("bert", "roberta-prelayernorm", "xlm-roberta-xl", "xmod", "mobilebert", "esm", "layoutlm", "squeezebert"),
    *("deberta", "camembert", "mpnet", "longformer", "luke", "ibert", "data2vec-text", "fnet", "perceiver"),
)
TYPES = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in MASKED]


def tiny(kind: str) -> PretrainedConfig:
    """The config of a tiny encoder of a type."""
    declared = CONFIG_MAPPING[kind]
    known = set(declared().to_dict()) | set(declared.attribute_map)
    given = {name: value for name, value in SIZES.items() if name in known}
    return declared(**given | {"pad_token_id": 1} | CONFIGS.get(kind, {}))


def save_random(config: PretrainedConfig, folder: Path) -> None:
    """Saves an encoder with weights of which none is 0 or 1, so that a layer that is left out shows."""
    torch.manual_seed(0)
    encoder: PreTrainedModel = AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    encoder.save_pretrained(folder)


def batch_of(lengths: list[int]) -> dict[str, torch.Tensor]:
    """Tokens of so many rows, padded on the right."""
    torch.manual_seed(1)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
    ids = torch.where(mask > 0, torch.randint(2, VOCABULARY - 1, mask.shape), 1)
    return {"input_ids": ids, "attention_mask": mask}


def built(kind: str, folder: Path, *, pooled: bool, precision: str = "fp32") -> EncoderWithHead:
    head = cat_task().head if pooled else lambda _: EveryPosition(())
    recipe = Recipe(task="any", train=Train(precision=precision))  # type: ignore[arg-type]
    return build_model(folder, head, recipe, device=CPU)[0].eval()


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_exact_or_refused(kind: str, tmp_path: Path) -> None:
    try:
        require_encoder(config := tiny(kind))
        save_random(config, tmp_path)
        sequence, first = (built(kind, tmp_path, pooled=pooled) for pooled in (False, True))
    except UserError as error:
        assert kind not in FAMILIES
        assert f"'{kind}'" in str(error) and "\n" not in str(error)
        return
    batch, theirs = batch_of([9, 5]), AutoModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        output = theirs(**batch)
        expected, mask = output.last_hidden_state, batch["attention_mask"].unsqueeze(-1)
        found, _ = sequence.hidden(Batch(**batch))
        assert (found - expected).mul(mask).abs().max() < 1e-4
        pooled, _ = first.hidden(Batch(**batch))
        wanted = output.pooler_output if first.head.uses_pooler else expected[:, 0]
        assert (pooled - wanted).abs().max() < 1e-4
        most = most_tokens(sequence.backbone.encoder)
        assert most in (POSITIONS, POSITIONS - 2, 512)  # 512: without a table
        longest = batch_of([most])
        assert sequence.hidden(Batch(**longest))[0].isfinite().all()
        assert first.hidden(Batch(**longest))[0].isfinite().all()
    state = torch.get_rng_state()
    take_fast_paths(first, device=CPU, precision="fp32")
    assert torch.equal(state, torch.get_rng_state())
    for precision in ("fp32", "bf16"):
        require_trains_or_is_refused(kind, tmp_path, batch, precision)


def require_trains_or_is_refused(kind: str, folder: Path, batch: dict[str, torch.Tensor], precision: str) -> None:
    try:
        model = built(kind, folder, pooled=True, precision=precision).train()
    except UserError as error:
        assert precision == "bf16"
        assert f"'{kind}' cannot be used in bf16" in str(error)
        return
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        model(**batch).sum().backward()


def test_types_are_counted() -> None:
    assert len(MASKED) >= 45
    assert set(FAST) | set(CONFIGS) <= set(MASKED)
