"""One split of a run as its blocks see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import WordWeight
from finetune.commands.report.run_files import RunFiles
from finetune.task_types.view import View


@dataclass(frozen=True, kw_only=True)
class SplitView:
    """The predictions of a split, the run, and the id of the split's section on the page.

    `budget` is how many bytes of the page its rows may take. `weights` has, by a row's id, what each of its words adds
    to the prediction, where that was computed.
    """

    view: View
    run: RunFiles
    name: str
    section: str
    budget: int
    temperature: Temperature | None = None
    weights: Mapping[str, Sequence[WordWeight]] = field(default_factory=dict)

    @property
    def rows_id(self) -> str:
        """The id of the element with the split's rows, which other blocks link to."""
        return f"{self.section}-rows"
