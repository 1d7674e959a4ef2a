"""The forward and backward passes of a batch; on a GPU as CUDA graphs: one launch in place of a thousand.

A GPU computes a small encoder's passes faster than a CPU launches them. A graph holds the launches of one shape of a
batch, so batches are padded to few shapes. Its random numbers come from the same generator, so gradients and dropout
are the same.
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

Objective = Callable[[Any, Batch], dict[str, Tensor]]  # from logits and batch to each loss, by the name of its labels
Shape = tuple[Any, ...]
WAITS = "no CUDA graphs: this model's passes make the CPU wait for the GPU"
DRAWS = "no CUDA graphs: this model's passes depend on random numbers of the CPU"
DIFFERS = "no CUDA graphs: they do not give this model's loss and gradients"
TOO_LARGE = "no CUDA graphs: memory ran out"
MOST_DIFFERENCE = 1e-2  # of a loss, or of the norm of all gradients, absolute and relative
MOST_GRAPHS = 64  # each takes memory for the launches of its shape


@dataclass(kw_only=True)
class BatchPasses:
    """Adds the gradients of a batch's loss to the gradients of the weights.

    Accelerate prepared `model`. `objective` gives the losses, by default the head's. `notes` are for the user.
    """

    engine: Engine
    model: Any
    objective: Objective | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def parameters(self) -> list[nn.Parameter]:
        """The model's parameters, listed once: going through all modules takes a millisecond."""
        return list(self.engine.model.parameters())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The loss `()` of a batch: the sum of its losses, each multiplied by its weight."""
        return self.passed(batch, weights)

    def freed(self) -> bool:
        """Frees memory that it can do without; returns whether there was any."""
        return False

    def passed(self, batch: Batch, weights: Mapping[str, float | Tensor]) -> Tensor:
        """As `__call__`, without graphs; `weights` may be tensors `()`."""
        accelerator, head = self.engine.accelerator, self.engine.model.head
        with accelerator.autocast():
            logits = as_float(self.model(*batch.inputs()))
            losses = self.objective(logits, batch) if self.objective else head.losses(logits, batch.labels)
            loss = sum((loss * weights[name] for name, loss in losses.items()), torch.tensor(0.0))
        accelerator.backward(loss * accelerator.num_processes)
        return loss.detach()


@dataclass(frozen=True, kw_only=True)
class BatchGraph:
    """The launches for one shape of a batch: they read `batch` and `weights`, and write `passed` and `gradients`."""

    graph: Any
    batch: Batch
    weights: Mapping[str, Tensor]
    gradients: Mapping[nn.Parameter, Tensor]
    passed: Tensor

    def replay(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The loss `()` of another batch of this shape."""
        tensors = batch.by_name()
        for name, tensor in self.batch.by_name().items():
            tensor.copy_(tensors[name], non_blocking=True)
        for name, weight in weights.items():
            self.weights[name].fill_(weight)
        for parameter, gradient in self.gradients.items():
            parameter.grad = gradient
        self.graph.replay()
        return self.passed.clone()


@dataclass(kw_only=True)
class GraphedPasses(BatchPasses):
    """BatchPasses on a GPU by graphs, in one process. The first batch of a shape is computed without.

    All batches are, with a note, where the passes make the CPU wait for the GPU or draw random numbers on the CPU,
    where the first graph gives another result, and once memory runs out.
    """

    graphs: dict[Shape, BatchGraph] = field(default_factory=dict)
    reached: dict[Shape, list[nn.Parameter]] = field(default_factory=dict)  # the weights that have gradients
    gradients: dict[nn.Parameter, Tensor] = field(default_factory=dict)  # one of each, for all graphs
    stream: Any = field(default_factory=lambda: cuda.Stream())  # type: ignore[no-untyped-call]
    pool: Any = field(default_factory=lambda: cuda.graph_pool_handle())

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        shape = (*((name, tensor.shape, tensor.dtype) for name, tensor in batch.by_name().items()), *weights)
        if self.notes or self._with_gradients():  # a graph replaces gradients, and a part of this update left some
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
        self.notes.append(note)
        self.engine.model.zero_grad(set_to_none=True)
        self.graphs.clear()
        self.gradients.clear()
        self.reached.clear()

    def _proven(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> bool:
        """Whether a graph gives the same loss and norm of the gradients as the passes without it."""
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
        """The passes of a shape's first batch, which show whether a graph can hold them."""
        cpu_state, cuda_state = torch.get_rng_state(), cuda.get_rng_state()
        try:
            with _no_waiting():
                passed = self._on_stream(batch, weights)
        except RuntimeError as error:
            if "synchroniz" not in str(error):
                raise
            self._stop(WAITS)
            torch.set_rng_state(cpu_state)
            cuda.set_rng_state(cuda_state)
            return self._on_stream(batch, weights)
        if torch.equal(torch.get_rng_state(), cpu_state):
            self.reached[shape] = self._with_gradients()
        else:  # such as which layers to skip: a graph would repeat the first choice
            self.notes.append(DRAWS)
        return passed

    def _on_stream(self, batch: Batch, weights: Mapping[str, float]) -> Tensor:
        """The passes on the stream of the graphs: buffers of libraries and nodes of autograd belong to a stream."""
        current = cuda.current_stream()
        self.stream.wait_stream(current)
        with cuda.stream(self.stream):
            passed = self.passed(batch, weights)
        current.wait_stream(self.stream)
        return passed

    def _captured(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> BatchGraph:
        """The graph of a batch's shape; capturing computes nothing."""
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
    mode = cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that it may miss some
        cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        cuda.set_sync_debug_mode(mode)
