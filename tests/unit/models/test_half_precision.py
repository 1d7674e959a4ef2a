"""In half precision each family computes nearly what it computes in fp32, and its gradients are finite."""

import pytest
import torch
from support.encoders import NAMES
from support.toys import cat_task, sentences
from support.training import CPU
from transformers import AutoTokenizer

from finetune.models.batch import Batch
from finetune.models.building import build_model
from finetune.runs.recipe import Recipe, Train

OF_ITS_OWN = ("bert", "modernbert", "deberta_v2", "deberta", "longformer")  # the others have BERT's attention


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in OF_ITS_OWN else pytest.mark.slow) for name in NAMES]
)
def test_half_precision_is_stable(name: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(f"tiny_{name}")
    recipe = Recipe(task="any", train=Train(dropout=0.0, precision="bf16"))
    model, _ = build_model(folder, cat_task().head, recipe, device=CPU)
    model.eval()
    encoded = AutoTokenizer.from_pretrained(folder)(sentences(5), padding=True, return_tensors="pt")
    with torch.no_grad():
        expected, _ = model.hidden(Batch(**encoded))
    for precision in (torch.bfloat16, torch.float16):
        model.zero_grad()
        with torch.autocast("cpu", precision):
            found, _ = model.hidden(Batch(**encoded))
            model(**encoded).float().pow(2).sum().backward()
        assert torch.allclose(found.float(), expected, atol=0.1)
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
