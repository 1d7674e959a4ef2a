"""The forward and backward passes of a batch; on a GPU as CUDA graphs: one launch where there would be a thousand.

A small encoder's passes are launched slower than a GPU computes them. A graph holds the launches of one shape of a
batch, so that batches are padded to few shapes. It gives the same gradients, dropout included, since its random numbers
are drawn from the same generator.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, cuda, nn
from torch.nn.utils import get_total_norm

from finetune.inference.engine import Engine
from finetune.models.batch import Batch
from finetune.models.head import as_float

Objective = Callable[[Any, Batch], dict[str, Tensor]]  # of logits, each loss by the name of its labels
Shape = tuple[Any, ...]
WAITS = "no CUDA graphs: this model's passes make the CPU wait for the GPU"
DRAWS = "no CUDA graphs: this model's passes depend on random numbers of the CPU"
DIFFERS = "no CUDA graphs: they do not give this model's loss and gradients"
TOO_LARGE = "no CUDA graphs: memory ran out"
MOST_DIFFERENCE = 1e-2  # of a loss, or of the norm of all gradients
MOST_GRAPHS = 64  # each keeps the launches of its shape


@dataclass(kw_only=True)
class BatchPasses:
    """Adds the gradients of a batch's loss to those of the weights.

    `model` is the one that Accelerate prepared, `objective` gives the losses, by default those of the head. `notes` are
    for the user.
    """

    engine: Engine
    model: Any
    objective: Objective | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """Those of the model, in a list: going through all modules takes a millisecond."""
        return list(self.engine.model.parameters())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The loss of a batch, each loss of it multiplied by its weight `()`."""
        return self.passed(batch, weights)

    def freed(self) -> bool:
        """Gives back what memory it can do without, and returns whether there was any."""
        return False

    def passed(self, batch: Batch, weights: Mapping[str, float | Tensor]) -> Tensor:
        """As a call, with weights that may be tensors."""
        accelerator, head = self.engine.accelerator, self.engine.model.head
        with accelerator.autocast():
            logits = as_float(self.model(*batch.inputs()))
            losses = self.objective(logits, batch) if self.objective else head.losses(logits, batch.labels)
            loss = sum((loss * weights[name] for name, loss in losses.items()), torch.tensor(0.0))
        accelerator.backward(loss * accelerator.num_processes)
        return loss.detach()


@dataclass(frozen=True, kw_only=True)
class BatchGraph:
    """The launches of one shape of a batch; they read `batch` and `weights`, and write `passed` and `gradients`."""

    graph: Any
    batch: Batch
    weights: Mapping[str, Tensor]
    gradients: Mapping[nn.Parameter, Tensor]
    passed: Tensor

    def replay(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The passes of another batch of this shape."""
        tensors = batch.by_name()
        for name, mine in self.batch.by_name().items():
            mine.copy_(tensors[name], non_blocking=True)
        for name, weight in weights.items():
            self.weights[name].fill_(weight)
        for parameter, gradient in self.gradients.items():
            parameter.grad = gradient
        self.graph.replay()
        return self.passed.clone()


@dataclass(kw_only=True)
class GraphedPasses(BatchPasses):
    """BatchPasses on a GPU by graphs, in one process; the first batches of a shape go without.

    A model whose passes make the CPU wait for the GPU, which a graph cannot hold, goes without for good, with a note,
    and so does one whose first graph does not give the same.
    """

    graphs: dict[Shape, BatchGraph] = field(default_factory=dict)
    reached: dict[Shape, list[nn.Parameter]] = field(default_factory=dict)  # the weights that have gradients
    gradients: dict[nn.Parameter, Tensor] = field(default_factory=dict)  # one of each, for all graphs
    stream: Any = field(default_factory=lambda: cuda.Stream())  # type: ignore[no-untyped-call]
    pool: Any = field(default_factory=lambda: cuda.graph_pool_handle())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        shape = _shape_of(batch, weights)
        if self.notes or self._with_gradients():  # of an earlier part of this update, to which no graph adds
            return self._on_stream(batch, weights)
        if shape not in self.graphs:
            if shape not in self.reached or len(self.graphs) >= MOST_GRAPHS:
                return self._first(batch, weights, shape)
            self.graphs[shape] = self._captured(batch, weights, shape)
            if len(self.graphs) == 1 and not self._proven(batch, weights, shape):
                self._stop(DIFFERS)
                return self._on_stream(batch, weights)
        return self.graphs[shape].replay(batch, weights)

    def freed(self) -> bool:
        if not self.graphs:
            return False
        self._stop(TOO_LARGE)
        return True

    def _stop(self, note: str) -> None:
        """Goes without graphs from here on, and gives their memory back."""
        self.notes.append(note)
        self.engine.model.zero_grad(set_to_none=True)
        self.graphs.clear()
        self.gradients.clear()
        self.reached.clear()

    def _proven(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> bool:
        """Whether a graph gives the loss and the norm of the gradients that passes without it give."""
        state = cuda.get_rng_state()
        self.engine.model.zero_grad(set_to_none=True)
        plain = torch.stack([self._on_stream(batch, weights), self._norm()])
        cuda.set_rng_state(state)
        graphed = torch.stack([self.graphs[shape].replay(batch, weights), self._norm()])
        cuda.set_rng_state(state)
        return torch.allclose(graphed, plain, rtol=MOST_DIFFERENCE, atol=MOST_DIFFERENCE)

    def _norm(self) -> Tensor:
        return get_total_norm([parameter.grad for parameter in self.parameters if parameter.grad is not None])

    def _with_gradients(self) -> list[nn.Parameter]:
        return [parameter for parameter in self.parameters if parameter.grad is not None]

    def _first(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> Tensor:
        """The passes of a shape's first batch. Those that make the CPU wait for the GPU are refused, and so are those
        that draw random numbers on the CPU, such as which layers to skip: a graph would keep what was drawn.
        """
        states = torch.get_rng_state(), cuda.get_rng_state()
        try:
            with _no_waiting():
                passed = self._on_stream(batch, weights)
        except RuntimeError as error:
            if "synchroniz" not in str(error):
                raise
            self._stop(WAITS)
            torch.set_rng_state(states[0])
            cuda.set_rng_state(states[1])
            return self._on_stream(batch, weights)
        if torch.equal(torch.get_rng_state(), states[0]):
            self.reached[shape] = self._with_gradients()
        else:
            self.notes.append(DRAWS)
        return passed

    def _on_stream(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The passes on the stream on which graphs are made: libraries have their buffers there, autograd its nodes."""
        before = cuda.current_stream()
        self.stream.wait_stream(before)
        with cuda.stream(self.stream):
            passed = self.passed(batch, weights)
        before.wait_stream(self.stream)
        return passed

    def _captured(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> BatchGraph:
        """The graph of a batch's shape; nothing is computed."""
        batch = batch.mapped(torch.clone)
        scales = {name: batch.attention_mask.new_tensor(value, dtype=torch.float) for name, value in weights.items()}
        gradients = {
            parameter: self.gradients.setdefault(parameter, torch.zeros_like(parameter))
            for parameter in self.reached[shape]
        }
        for parameter, gradient in gradients.items():
            parameter.grad = gradient
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, pool=self.pool, stream=self.stream):
            torch._foreach_zero_(list(gradients.values()))
            passed = self.passed(batch, scales)
        return BatchGraph(graph=graph, batch=batch, weights=scales, gradients=gradients, passed=passed)


@contextmanager
def _no_waiting() -> Iterator[None]:
    """Makes torch raise RuntimeError where the CPU would wait for the GPU."""
    before = cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may miss some
        cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        cuda.set_sync_debug_mode(before)


def _shape_of(batch: Batch, weights: Mapping[str, float]) -> Shape:
    """What a graph depends on: which tensors a batch has, of what shapes and types, and which losses."""
    tensors = [(name, tuple(tensor.shape), tensor.dtype) for name, tensor in batch.by_name().items()]
    return (*tensors, *weights)
