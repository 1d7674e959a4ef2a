"""Heads and the encoder below them."""

from pathlib import Path

from support.new_types import NEW_SHAPES
from transformers import AutoModelForTokenClassification, AutoTokenizer

from finetune.models.building import load_backbone
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import save_checkpoint
from finetune.runs.recipe import Recipe


def test_a_sequence_head_leaves_the_pooler_out(tiny_bert: Path, tmp_path: Path) -> None:
    """Weights that no loss reaches stop training on several processes."""
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    model = EncoderWithHead(backbone, NEW_SHAPES[0].head(backbone))
    assert not any("pooler" in name for name, _ in model.named_parameters())
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    save_checkpoint(model, tmp_path, tokenizer, {})
    _, info = AutoModelForTokenClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
