"""A run that fails ends with one line, and the next ones go on."""

from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.runs.events import unwatched
from finetune.training import run_many
from finetune.training.run_many import run_all
from finetune.training.run_options import RunOptions
from finetune.training.targets import expand_targets


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Diverged("the loss is nan", "Lower it"), "the loss is nan. Lower it"),
        (OSError(28, "No space left on device"), "No space left on device. Free space"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out of memory. Set train.gradient_checkpointing=true"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            "out of memory. Set train.gradient_checkpointing=true",
        ),
        (RuntimeError("put_ does not have a deterministic implementation"), "Leave deterministic = true out"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_an_error_ends_one_run_of_several(
    error: Exception, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def fail(resolved: Any, *_: Any, **__: Any) -> Any:
        tried.append(resolved.recipe.seed)
        raise error

    monkeypatch.setattr(run_many, "run", fail)
    planned = expand_targets(["glue-rte"], {}, seeds=2)
    options = RunOptions(source=Source(), out=tmp_path)
    records, failures = run_all(planned, options, watch=unwatched)
    assert (records, tried) == ([], [42, 43])
    assert [type(failure) for failure in failures] == 2 * [type(error) if isinstance(error, Diverged) else UserError]
    assert expected in str(failures[0])
    assert str(failures[0]).startswith("glue-rte")


def test_a_fault_of_the_code_is_not_taken_for_a_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(run_many, "run", fail)
    with pytest.raises(RuntimeError, match="mat1"):
        run_all(
            expand_targets(["glue-rte"], {}), RunOptions(source=Source(), out=tmp_path), watch=unwatched
        )  # fmt: skip
