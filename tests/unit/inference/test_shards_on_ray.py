"""Tasks of Ray that predict: what is refused before a cluster is looked for."""

import pytest

from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.shards.on_ray import ShardsOnRay


def test_tasks_without_gpus_take_no_model_on_a_gpu() -> None:
    with pytest.raises(UserError, match="`gpus_each` is 0, and the model is on cuda"):
        ShardsOnRay(model=ModelSource(model="reviews", device="cuda"), gpus_each=0)
    for device in (None, "cpu"):
        assert ShardsOnRay(model=ModelSource(model="reviews", device=device), gpus_each=0).gpus_each == 0
