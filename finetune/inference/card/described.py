"""DescribedRun: all that a card tells of, read from a run's folder: its record, predictions, seeds and exports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from finetune.inference.card.calls import architecture, example_inputs
from finetune.inference.card.known_exports import KnownExport
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import read_lines
from finetune.runs.record import RunRecord
from finetune.runs.without_folders import without_folders
from finetune.task_types.run_view import saved_config, split_view_of
from finetune.task_types.view import Line, View

TEST = "test"  # the split that chose nothing


@dataclass(frozen=True, kw_only=True)
class DescribedRun:
    """A finished run, or one that is about to be saved in `folder`, and what is known of its model from elsewhere.

    `name` is what finetune loads the model by: the run's folder, from that of all runs, or a name on the Hub; `weights`
    is what transformers loads it by. `seeds` are runs that differ from it in their seeds alone.
    """

    folder: RunFolder
    record: RunRecord
    name: str
    weights: str
    seeds: Sequence[RunRecord] = ()
    exports: Sequence[KnownExport] = ()
    with_examples: bool = False

    @property
    def on_hub(self) -> bool:
        """Whether the model is called by a name on the Hub."""
        return self.name == self.weights

    @cached_property
    def told(self) -> RunRecord:
        """The record without folders of this machine."""
        return without_folders(self.record)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The config of the model, with what finetune saved in it under `finetune`."""
        return saved_config(self.folder.model)

    @property
    def use(self) -> Mapping[str, Any]:
        """The settings that the model is used with, such as `max_length` and the layout of its data."""
        found: Mapping[str, Any] = self.config.get("finetune") or {}
        return found

    @property
    def columns(self) -> list[str]:
        """The columns of a user's data that the model reads; empty for another task."""
        layout = self.use.get("layout")
        return list(map(str, layout.get("text", ()))) if isinstance(layout, dict) else []

    @cached_property
    def architecture(self) -> str:
        """As `calls.architecture`."""
        return architecture(self.folder.model)

    @property
    def split(self) -> str:
        """The split whose predictions are told of: test where there is one."""
        return TEST if TEST in self.record.scores else self.record.first_split

    @cached_property
    def lines(self) -> Sequence[Line]:
        """The predictions of `split`; empty where they were deleted."""
        there = self.folder.predictions(self.split).is_file()
        return read_lines(self.folder, self.split) if there else []

    @cached_property
    def view(self) -> View | None:
        """Their view; None where there are none, or nobody gave the labels."""
        found = split_view_of(self.record, self.folder, self.split, self.lines)
        return found if found is not None and found.annotated else None

    @property
    def inputs(self) -> str:
        """What a row is for `model(...)`."""
        return example_inputs(next(iter(self.lines), {}))

    @property
    def every_seed(self) -> list[RunRecord]:
        """The run and those of other seeds."""
        return [self.record, *self.seeds]


def name_of_run(folder: Path) -> str:
    """The folder of a run from the folder that has all runs: `results/reviews.csv/0a1b2c3d4e`."""
    return "/".join(folder.resolve().parts[-3:])
