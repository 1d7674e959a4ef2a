"""The passes of a batch as CUDA graphs: the GPU gets one launch where it would get a thousand.

A small encoder's passes are launched slower than a GPU computes them. A graph holds the launches of one shape of a
batch, so that batches are padded to few shapes. It gives the same gradients, dropout included, since its random numbers
are drawn from the same generator.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from finetune.models.batch import Batch
from finetune.training.passes import Passed, Passes

Shape = tuple[Any, ...]
SEEN_BEFORE = 1  # batches of a shape before a graph is made of the next: making one takes as long as some of them
MOST_GRAPHS = 64  # each keeps the launches of its shape


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The launches of one shape of a batch; they read `batch` and `weights`, and write `passed` and `gradients`."""

    graph: Any
    batch: Batch
    weights: Mapping[str, Tensor]
    gradients: Mapping[nn.Parameter, Tensor]
    passed: Passed

    def replay(self, batch: Batch, weights: Mapping[str, float]) -> Passed:
        """The passes of another batch of this shape."""
        given = batch.by_name()
        for name, mine in self.batch.by_name().items():
            mine.copy_(given[name], non_blocking=True)
        for name, weight in weights.items():
            self.weights[name].fill_(weight)
        for parameter, gradient in self.gradients.items():
            parameter.grad = gradient
        self.graph.replay()
        loss, chances = self.passed
        return loss.clone(), None if chances is None else chances.clone()


@dataclass(kw_only=True)
class GraphedPasses(Passes):
    """Passes on a GPU by graphs, in one process; the first batches of a shape go without.

    A model whose passes make the CPU wait for the GPU, which a graph cannot hold, goes without for good, with a note.
    """

    seen: Counter[Shape] = field(default_factory=Counter)
    graphs: dict[Shape, Graph] = field(default_factory=dict)
    reached: dict[Shape, list[nn.Parameter]] = field(default_factory=dict)  # the weights that have gradients
    gradients: dict[nn.Parameter, Tensor] = field(default_factory=dict)  # one of each, for all graphs
    stream: Any = field(default_factory=torch.cuda.Stream)
    pool: Any = field(default_factory=torch.cuda.graph_pool_handle)

    def __call__(self, batch: Batch, weights: Mapping[str, float]) -> Passed:
        shape = _shape_of(batch, weights)
        if self.notes or self._with_gradients():  # of an earlier part of this update, to which no graph adds
            return self._on_stream(batch, weights)
        if shape not in self.graphs:
            self.seen[shape] += 1
            if self.seen[shape] <= SEEN_BEFORE or len(self.graphs) >= MOST_GRAPHS:
                return self._first(batch, weights, shape)
            self.graphs[shape] = self._captured(batch, weights, shape)
        return self.graphs[shape].replay(batch, weights)

    def _with_gradients(self) -> list[nn.Parameter]:
        return [each for each in self.parameters if each.grad is not None]

    def _first(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> Passed:
        """The passes of one of a shape's first batches; those that make the CPU wait for the GPU are refused."""
        try:
            with _no_waiting():
                passed = self._on_stream(batch, weights)
        except RuntimeError as error:
            if "synchroniz" not in str(error):
                raise
            self.notes.append("no CUDA graphs: this model's passes make the CPU wait for the GPU")
            self.engine.model.zero_grad(set_to_none=True)
            return self._on_stream(batch, weights)
        self.reached[shape] = self._with_gradients()
        return passed

    def _on_stream(self, batch: Batch, weights: Mapping[str, float]) -> Passed:
        """The passes on the stream on which graphs are made: libraries have their buffers there, autograd its nodes."""
        before = torch.cuda.current_stream()
        self.stream.wait_stream(before)
        with torch.cuda.stream(self.stream):
            passed = self.passed(batch, weights)
        before.wait_stream(self.stream)
        return passed

    def _captured(self, batch: Batch, weights: Mapping[str, float], shape: Shape) -> Graph:
        """The graph of a batch's shape; nothing is computed."""
        batch = batch.mapped(torch.clone)
        scales = {name: batch.attention_mask.new_tensor(value, dtype=torch.float) for name, value in weights.items()}
        for each in self.reached[shape]:
            each.grad = self.gradients.setdefault(each, torch.zeros_like(each))
        gradients = {each: self.gradients[each] for each in self.reached[shape]}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            torch._foreach_zero_(list(gradients.values()))
            passed = self.passed(batch, scales)
        return Graph(graph=graph, batch=batch, weights=scales, gradients=gradients, passed=passed)


@contextmanager
def _no_waiting() -> Iterator[None]:
    """Makes torch raise RuntimeError where the CPU would wait for the GPU."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _shape_of(batch: Batch, weights: Mapping[str, float]) -> Shape:
    """What a graph depends on: which tensors a batch has, of what shapes and types, and which losses."""
    tensors = [(name, tuple(each.shape), each.dtype) for name, each in batch.by_name().items()]
    return (batch.task, *tensors, *weights)
