"""Libraries are imported without the garbage collector, which collects again afterwards."""

import gc
import sys

import pytest

from finetune.cli.libraries import load_libraries


def test_the_collector_is_on_again_after_an_import_that_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    load_libraries()
    assert gc.isenabled() and gc.get_freeze_count() > 0
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError):
        load_libraries()
    assert gc.isenabled()
