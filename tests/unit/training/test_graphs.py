"""When graphs are made and what they are given; a graph that records its passes and computes them again replaces one
of a GPU. `tests/gpu` has the real ones.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import PLAIN, Losses, build, unscored

from finetune.training import passes, updates
from finetune.training.passes import DIFFERS, DRAWS, TOO_LARGE, WAITS, GraphedPasses


class Recorded:
    """Computes again what was computed while it was made, with the tensors of then."""

    wrong = False

    def replay(self) -> None:
        self.passed.copy_(self.compute() * (2 if self.wrong else 1))


@pytest.fixture
def graphed(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """Trains on the CPU as on a GPU; the graphs that are made."""
    stream, made = SimpleNamespace(wait_stream=lambda _: None), list[Recorded]()

    @contextmanager
    def graph(recorded: Recorded, **_: Any) -> Iterator[None]:
        made.append(recorded)
        yield

    cuda = SimpleNamespace(
        Stream=lambda: stream, graph_pool_handle=lambda: None, current_stream=lambda: stream,
        stream=lambda _: nullcontext(), CUDAGraph=Recorded, get_sync_debug_mode=lambda: 0, graph=graph,
        set_sync_debug_mode=lambda _: None, get_rng_state=lambda: None, set_rng_state=lambda _: None,
    )  # fmt: skip
    monkeypatch.setattr(passes, "cuda", cuda)
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


def once(error: Exception, when: Callable[[], bool]) -> Callable[..., None]:
    """Raises an error at the first call at which it is time."""
    left = [error]

    def hook(*_: Any) -> None:
        if left and when():
            raise left.pop()

    return hook


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "note", "least", "most"),
    [
        ("", None, 2, 99),
        ("wrong", DIFFERS, 1, 1),
        ("waits", WAITS, 0, 0),
        ("draws", DRAWS, 0, 0),
        ("full", TOO_LARGE, 2, 99),
    ],
)
def test_graphs_train_as_single_launches_or_are_given_up_with_a_note(
    case: str, note: str | None, least: int, most: int, tiny_bert: Path, graphed: list[Recorded],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def draw(*_: Any) -> None:
        torch.rand([])

    hooks = {
        "waits": once(RuntimeError("called a synchronizing CUDA operation"), lambda: True),
        "draws": draw,
        "full": once(torch.OutOfMemoryError(), lambda: len(graphed) > 1),
    }
    monkeypatch.setattr(Recorded, "wrong", case == "wrong")
    losses, notes = [], []
    for has_graphs in (True, False):
        monkeypatch.setattr(updates.Updater, "_has_graphs", lambda _, has=has_graphs: has)
        found = Losses()
        trainer, features = build(cat_task(), tiny_bert, PLAIN.model_copy(update={"epochs": 4}), watch=found)
        trainer.model.head.dropout = torch.nn.Dropout(0.3 if case == "waits" else 0.0)  # torch's own
        if has_graphs and case in hooks:
            trainer.model.head.register_forward_hook(hooks[case])
        progress, _ = trainer.fit(features, unscored)
        losses.append(found.values)
        notes += progress.notes
    assert notes == [note] * bool(note)
    assert least <= len(graphed) <= most
    assert case == "draws" or losses[0] == pytest.approx(losses[1], rel=1e-5)
