"""Reads a pool once, and keeps the rows that may be chosen: the least sure ones, and some at random. Little memory."""

import heapq
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from finetune.data.characters import same_text
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.inference.answer_rows import answered_rows, windows
from finetune.inference.predictor import Predictor
from finetune.runs.events import RowsPredicted, Watcher
from finetune.task_types.columns import Layout
from finetune.task_types.parts import Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolCandidate:
    """A row of the pool with its prediction, its confidence (None where the type has none), and a hash of its text."""

    record: Record
    row: Row
    answer: Answer
    confidence: float | None
    key: int

    @property
    def doubt(self) -> float:
        """0 to 1; the same for all where there is no confidence."""
        return 1.0 if self.confidence is None else 1.0 - self.confidence


@dataclass(kw_only=True)
class FewBest:
    """The `most` candidates with the highest rank among those given, one for each text."""

    most: int
    heap: list[tuple[tuple[float, int], PoolCandidate]] = field(default_factory=list)
    keys: set[int] = field(default_factory=set)

    def add(self, rank: tuple[float, int], one: PoolCandidate) -> None:
        """Keeps it if it is among the best; ranks of different texts differ."""
        if one.key in self.keys or self.most == 0:
            return
        if len(self.heap) < self.most:
            heapq.heappush(self.heap, (rank, one))
        elif rank > self.heap[0][0]:
            _, out = heapq.heapreplace(self.heap, (rank, one))
            self.keys.discard(out.key)
        else:
            return
        self.keys.add(one.key)

    def best_first(self) -> list[PoolCandidate]:
        """All that are kept, the highest rank first."""
        return [one for _, one in sorted(self.heap, key=lambda item: item[0], reverse=True)]


@dataclass(frozen=True, kw_only=True)
class PoolRows:
    """What was kept of a pool, best first, and its counts; `unusable`: why the first row without a prediction has none.

    Random rows are a sample of the different texts: those with the smallest hashes.
    """

    least_sure: list[PoolCandidate]
    at_random: list[PoolCandidate]
    rows: int
    labelled: int
    failed: int
    unusable: str


def pool_key(text: str, seed: int = 0) -> int:
    """A hash of a text that ignores case and spaces, as a random number that depends on it and the seed alone."""
    digest = blake2b(same_text(text).encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "big"))
    return int.from_bytes(digest.digest(), "big")


def read_pool(
    predictor: Predictor,
    layout: Layout,
    coming: Iterable[Record],
    *,
    labelled: Collection[int],
    keep: tuple[int, int],
    total: int,
    seed: int,
    watch: Watcher,
) -> PoolRows:
    """Predicts a pool, and keeps so many rows (least sure, at random). Those with `labelled` keys are left out."""
    least, at_random = (FewBest(most=most) for most in keep)
    started = time.perf_counter()
    rows = left_out = failed = 0
    unusable = ""
    for window in windows(coming):
        for record, row, answer in answered_rows(predictor, layout, window):
            rows += 1
            if row is None or isinstance(answer, str):
                failed += 1
                unusable = unusable or f"row {record.row} {answer}"
            elif (key := pool_key(row.input)) in labelled:
                left_out += 1
            else:
                sure = predictor.task.codec.confidence(answer, row)
                one = PoolCandidate(record=record, row=row, answer=answer, confidence=sure, key=key)
                chance = pool_key(row.input, seed + 1)
                least.add((one.doubt, chance), one)
                at_random.add((0.0, chance), one)
        watch(RowsPredicted(done=rows, total=max(rows, total), rate=rows / (time.perf_counter() - started)))
    return PoolRows(
        least_sure=least.best_first(),
        at_random=at_random.best_first(),
        rows=rows,
        labelled=left_out,
        failed=failed,
        unusable=unusable,
    )
