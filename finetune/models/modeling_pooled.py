"""One linear layer on a vector of a text that no class of transformers reads. This file lies next to such a model.

It needs torch and transformers alone. In config.json `pooling` of `finetune` names the vector: the mean of the tokens'
vectors (`mean`), the same at length 1 (`unit`), or the first token's (`cls`).
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class PooledModel(PreTrainedModel):  # type: ignore[misc]
    """Logits `(batch, labels)` of `input_ids` `(batch, length)`; of choices `(batch, choices, length)` a logit each,
    `(batch, choices)`.
    """

    _keys_to_ignore_on_load_unexpected = (r"^classifier\b",)  # an empty weight, at which transformers' classes stop

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        encoder = AutoModel.from_config(config)
        encoder.pooler = None  # is not read, and has no weights here
        self.base_model_prefix = encoder.base_model_prefix  # as in the names of the weights
        self.add_module(self.base_model_prefix, encoder)
        output = nn.Linear(config.hidden_size, config.num_labels)
        self.finetune = nn.ModuleDict({"head": nn.ModuleDict({"output": output})})
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Any:
        """The logits; segments are for encoders that know them."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        inputs = {"input_ids": input_ids, "attention_mask": mask, "token_type_ids": token_type_ids}
        flat = {name: value.flatten(0, -2) for name, value in inputs.items() if value is not None}
        states = self.base_model(**flat)[0]
        vector, weights = states[:, 0], flat["attention_mask"].unsqueeze(-1).to(states.dtype)
        if self.config.finetune["pooling"] != "cls":
            vector = (states * weights).sum(1) / weights.sum(1)
        if self.config.finetune["pooling"] == "unit":
            vector = functional.normalize(vector, dim=-1)
        logits = self.get_submodule("finetune.head.output")(vector)
        return SequenceClassifierOutput(logits=logits.view(input_ids.shape[:-1]) if input_ids.ndim == 3 else logits)
