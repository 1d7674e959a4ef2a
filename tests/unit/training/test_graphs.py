"""When graphs are made and what they are given; a graph that records its passes and computes them again replaces one
of a GPU. `tests/gpu` has the real ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import PLAIN, Losses, build, unscored

from finetune.training import passes, updates
from finetune.training.passes import DIFFERS, DRAWS, TOO_LARGE, WAITS, GraphedPasses

SETTINGS = PLAIN.model_copy(update={"epochs": 4})


class Recorded:
    """Computes again what was computed while it was made, with the tensors of then."""

    wrong = False

    def replay(self) -> None:
        self.passed.copy_(self.compute() * (2 if self.wrong else 1))


@pytest.fixture
def graphed(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """Trains on the CPU as on a GPU; the graphs that are made."""
    stream = SimpleNamespace(wait_stream=lambda _: None)
    cuda = SimpleNamespace(
        Stream=lambda: stream, graph_pool_handle=lambda: None, current_stream=lambda: stream,
        stream=lambda _: nullcontext(), CUDAGraph=Recorded, get_sync_debug_mode=lambda: 0,
        set_sync_debug_mode=lambda _: None, get_rng_state=lambda: None, set_rng_state=lambda _: None,
    )  # fmt: skip
    made = list[Recorded]()

    @contextmanager
    def graph(recorded: Recorded, **_: Any) -> Iterator[None]:
        made.append(recorded)
        yield

    cuda.graph = graph
    monkeypatch.setattr(passes, "cuda", cuda)
    monkeypatch.setattr(updates.Updater, "_has_graphs", lambda _: True)
    before = GraphedPasses._captured

    def captured(self: GraphedPasses, batch: Any, weights: Any, shape: Any) -> Any:
        found = before(self, batch, weights, shape)

        def compute() -> Any:
            torch._foreach_zero_(list(found.gradients.values()))
            return self.passed(found.batch, found.weights)

        found.graph.compute, found.graph.passed = compute, found.passed
        return found

    monkeypatch.setattr(GraphedPasses, "_captured", captured)
    return made


def losses(folder: Path, spoil: Any = lambda _: None) -> tuple[list[float], list[str]]:
    found = Losses()
    trainer, features = build(cat_task(), folder, SETTINGS, watch=found)
    spoil(trainer.model)
    progress, _ = trainer.fit(features, unscored)
    return found.values, progress.notes


def test_graphs_train_as_single_launches(
    tiny_bert: Path, graphed: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, notes = losses(tiny_bert)
    assert (len(graphed) > 1, notes) == (True, [])
    monkeypatch.setattr(updates.Updater, "_has_graphs", lambda _: False)
    assert found == pytest.approx(losses(tiny_bert)[0], rel=1e-5)


def test_a_first_graph_that_computes_something_else_is_the_last(
    tiny_bert: Path, graphed: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = losses(tiny_bert)
    graphed.clear()
    monkeypatch.setattr(Recorded, "wrong", True)
    found, notes = losses(tiny_bert)
    assert (len(graphed), notes) == (1, [DIFFERS])
    assert found == pytest.approx(plain, rel=1e-5)


def test_passes_that_wait_are_computed_without_graphs_and_with_the_same_dropout(
    tiny_bert: Path, graphed: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dropout is torch's own: on a CPU ours has a generator of its own."""
    waited = list[int]()

    def wait(*_: Any) -> None:
        if not waited:
            waited.append(1)
            raise RuntimeError("called a synchronizing CUDA operation")

    def spoil(model: Any, *, waits: bool = True) -> None:
        model.head.dropout = torch.nn.Dropout(0.3)
        if waits:
            model.head.register_forward_hook(wait)

    found, notes = losses(tiny_bert, spoil)
    assert (graphed, notes) == ([], [WAITS])
    monkeypatch.setattr(updates.Updater, "_has_graphs", lambda _: False)
    assert found == losses(tiny_bert, partial(spoil, waits=False))[0]


def test_passes_that_draw_on_the_cpu_go_without_graphs(tiny_bert: Path, graphed: list[Recorded]) -> None:
    def skip(*_: Any) -> None:
        torch.rand([])

    assert losses(tiny_bert, lambda model: model.head.register_forward_hook(skip))[1] == [DRAWS]
    assert graphed == []


def test_where_memory_runs_out_graphs_are_given_up_before_batches_are_divided(
    tiny_bert: Path, graphed: list[Recorded]
) -> None:
    failed = list[int]()

    def fail(*_: Any) -> None:
        if len(graphed) > 1 and not failed:
            failed.append(1)
            raise torch.OutOfMemoryError

    _, notes = losses(tiny_bert, lambda model: model.head.register_forward_hook(fail))
    assert notes == [TOO_LARGE]
