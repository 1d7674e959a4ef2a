"""A dictionary of the spans of training: the baseline that needs no encoder."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finetune.task_types.tagging.overlapping.row import LabelledSpan, OverlapRow, in_order
from finetune.task_types.tagging.segments import segmented

OFTEN = 0.5  # the least share of a text's occurrences that are spans of a label


@dataclass(frozen=True, kw_only=True)
class SpanDictionary:
    """The labels of each text, and the numbers of words that its texts have."""

    labels: dict[str, tuple[str, ...]]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, rows: Sequence[OverlapRow]) -> "SpanDictionary":
        """What was a span of a label in these rows at least every second time that it occurs."""
        seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            for start, end, label in row.gold or ():
                seen[row.text[start:end]][label] += 1
        lengths = tuple(sorted({len(segmented(text)[0]) for text in seen}))
        every = cls(labels={text: tuple(counts) for text, counts in seen.items()}, lengths=lengths)
        occurs = Counter(row.text[start:end] for row in rows for start, end in every.places(row.text))
        often = {
            text: tuple(sorted(label for label, count in counts.items() if count >= OFTEN * occurs[text]))
            for text, counts in seen.items()
        }
        return cls(labels={text: labels for text, labels in often.items() if labels}, lengths=lengths)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where known texts occur, as (first character, character after the last); they begin and end with words."""
        words, starts = segmented(text)
        for length in self.lengths:
            for first in range(len(words) - length + 1):
                start, end = starts[first], starts[first + length - 1] + len(words[first + length - 1])
                if text[start:end] in self.labels:
                    yield start, end

    def spans_in(self, text: str) -> list[LabelledSpan]:
        """The known spans of a text, in their order."""
        found = [(start, end, label) for start, end in self.places(text) for label in self.labels[text[start:end]]]
        return sorted(found, key=in_order)
