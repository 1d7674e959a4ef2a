"""The weights of a model that training changes: alone in its checkpoints, and alone sent to other processes.

The others are those of the pretrained encoder's files, which every process reads.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


class TrainedWeights:
    """A model's state without its frozen weights; what several of its modules share is there once."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        every = dict(model.named_parameters(remove_duplicate=False))
        self.frozen = {name for name, p in every.items() if not p.requires_grad}
        self.left_out = self.frozen | (every.keys() - dict(model.named_parameters()).keys())  # shared: once is enough

    def state_dict(self) -> dict[str, Tensor]:
        """Trained weights and buffers by name."""
        return {name: tensor for name, tensor in self.model.state_dict().items() if name not in self.left_out}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads them. Raises RuntimeError for the state of another model."""
        missing, unknown = self.model.load_state_dict(state, strict=False)
        if wrong := [*unknown, *sorted(set(missing) - self.left_out)]:
            raise RuntimeError(f"weights of another model: {wrong[0]}")

    def leave_out_of_ddp(self) -> None:
        """Keeps DistributedDataParallel, which is given the model later, from sending frozen weights at its start."""
        ignore = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model  # there is no public way
        ignore(self.model, sorted(self.frozen))  # type: ignore[no-untyped-call]
