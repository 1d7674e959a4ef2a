"""Rankings in a report: whether each passage is in the right order with the others of its query."""

from functools import cached_property

import numpy as np

from finetune.data.characters import same_text
from finetune.task_types.marked_text import TextPart, unmarked
from finetune.task_types.text_inputs.view import RowTextView
from finetune.task_types.view import Line


class RankingView(RowTextView):
    """A row's score is the share of its query's more or less relevant passages that it is in the right order with."""

    measure = "pairs in order"
    sorted_by = "share of pairs out of order"

    @staticmethod
    def shows(line: Line) -> bool:
        return line.get("pair") is not None and isinstance(line["gold"], int | float)

    def scores(self) -> np.ndarray:
        """Equal scores count half."""
        found = np.ones(len(self.lines))
        for some in self._queries.values():
            golds, given = (np.array([self.lines[i][name] for i in some], float) for name in ("gold", "prediction"))
            wanted, got = (np.sign(each[:, None] - each[None]) for each in (golds, given))
            pairs = np.abs(wanted).sum(1)
            in_order = (np.abs(wanted) * (1 + wanted * got) / 2).sum(1)
            found[some] = np.divide(in_order, pairs, out=np.ones(len(some)), where=pairs > 0)
        return found

    def parts(self, line: Line) -> list[TextPart]:
        return [unmarked("query", line["text"]), unmarked("passage", line["pair"])]

    def certainty(self) -> np.ndarray:
        """The share of pairs that are out of order, so that the worst rows are listed first."""
        scores = self.scores()
        return np.where(scores < 1, 1 - scores, -np.inf)

    def facts(self, line: Line) -> list[str]:
        """Its place among the passages of the query."""
        given = [self.lines[index]["prediction"] for index in self._queries[same_text(line["text"])]]
        return [f"rank {1 + sum(one > line['prediction'] for one in given)} of {len(given)}"]

    def says(self, value: object) -> str:
        return f"{value:.4g}"

    @cached_property
    def _queries(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, line in enumerate(self.lines):
            found.setdefault(same_text(line["text"]), []).append(index)
        return found
