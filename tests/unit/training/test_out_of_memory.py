"""Where memory runs out, a batch goes through the model in more parts, and the record says so."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.toys import cat_task
from support.training import PLAIN, Losses, build, fit, unscored

from finetune.models.device import is_out_of_memory
from finetune.runs.events import Event, Note


def with_room_for(trainer: Any, rows: int, error: type[Exception] = torch.OutOfMemoryError) -> None:
    """Makes the encoder fail for batches of more rows, after it has computed them."""

    def fail(module: torch.nn.Module, inputs: Any, given: Any, output: Any) -> None:
        if len(given["input_ids"]) > rows:
            raise error("CUDA out of memory" if error is torch.OutOfMemoryError else "can't allocate memory")

    trainer.model.backbone.encoder.register_forward_hook(fail, with_kwargs=True)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_a_batch_that_is_too_large_goes_in_parts_with_the_same_result(
    error: type[Exception], tiny_bert: Path, tmp_path: Path
) -> None:
    whole, parts, notes = Losses(), Losses(), list[str]()
    settings = PLAIN.model_copy(update={"epochs": 3})
    fit(cat_task(), tiny_bert, settings, watch=whole)

    def watch(event: Event) -> None:
        parts(event)
        notes.extend([event.text] if isinstance(event, Note) else [])

    trainer, features = build(cat_task(), tiny_bert, settings, watch=watch)
    with_room_for(trainer, 5, error)
    progress, _ = trainer.fit(features, unscored)
    assert parts.values == pytest.approx(whole.values, abs=1e-5)
    assert progress.parts == [(1, 2), (1, 4)]
    assert notes == progress.notes
    assert notes[-1] == "out of memory at update 1: batches go through the model in 4 parts"


def test_a_row_that_is_too_large_ends_the_run(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, PLAIN)
    with_room_for(trainer, 0)
    with pytest.raises(torch.OutOfMemoryError):
        trainer.fit(features, unscored)


def test_other_errors_of_torch_are_not_taken_for_it() -> None:
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**15)
    assert is_out_of_memory(raised.value)


def test_prediction_halves_its_batches(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, PLAIN)
    whole = trainer.engine.logits(features)
    with_room_for(trainer, 5)
    parts = trainer.engine.logits(features)
    assert all(ours == pytest.approx(theirs, abs=1e-5) for ours, theirs in zip(parts, whole, strict=True))
