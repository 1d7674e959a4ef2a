"""The rows of a split, to search, filter and sort, first the errors, the most confident on top; and their scores by
parts of the data, which are other columns and scripts.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.analysis.label_errors import LEAST_BELIEVED, beliefs, ranks, suspects, suspicion_rule, threshold
from finetune.analysis.temperature import Temperature
from finetune.commands.report.blocks import Block, RowTable, ShownRow, TableBlock
from finetune.commands.report.run_files import SplitView
from finetune.commands.report.text import NAME
from finetune.data.characters import KINDS, SCRIPTS, census
from finetune.data.messages import noun, so_many
from finetune.metrics.row_means import mean_interval
from finetune.runs.verdict import baseline_words
from finetune.task_types.marked_text import TextPart, cut
from finetune.task_types.prediction_lines import SLICE
from finetune.task_types.view import View

FIRST_ROWS = 10  # rows that are shown before the script runs
MOST_NAMES = 2_000  # labels that rows can be filtered by
LEAST_SHARE = 0.02  # share of rows in another script than most, from which scripts are worth showing
FEWEST_ROWS = 10  # rows of a part whose score is worth a line


@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """Facts of each row, `(rows,)` each, and `order`: the indices of the rows as the page shows them.

    `certainty` is the confidence of the worst error, or of the prediction; for numbers the error. `suspected` rows may
    have a wrong label. `doubt` is the rank of the label, 0 for the one that is believed least; None without
    probabilities. `chances` has the probability of the label where it is not the confidence: of errors, and of the
    `least` believed labels; NaN for others.
    """

    wrong: np.ndarray
    certainty: np.ndarray
    suspected: np.ndarray
    doubt: np.ndarray | None
    least: np.ndarray
    chances: np.ndarray
    order: np.ndarray


def row_order(view: View, temperature: Temperature | None = None) -> RowOrder:
    """Errors first, then the labels that are believed least, the most confident on top."""
    count, wrong, found, decided = len(view.lines), view.wrong(), beliefs(view), view.decisions()
    certainty = view.certainty().astype(float)
    if view.bounded and decided is not None and len(decided[0]) == count:
        certainty = np.where(wrong, certainty, decided[0])
    doubt = None if found is None else ranks(found.belief)
    least = np.zeros(count, bool) if doubt is None else doubt < LEAST_BELIEVED
    return RowOrder(
        wrong=wrong,
        certainty=certainty,
        suspected=suspects(view, temperature),
        doubt=doubt,
        least=least,
        chances=np.full(count, np.nan) if found is None else np.where(least | wrong, found.chances, np.nan),
        order=np.lexsort((np.arange(count), -certainty, wrong | ~least, ~wrong)),
    )


def rows_block(split: SplitView) -> Iterator[Block]:
    """The rows; of very many all errors that fit, then others."""
    view, rows, names = split.view, row_order(split.view, split.temperature), names_of(split.view)
    slices = [(name, *np.unique(np.array(given, object), return_inverse=True)) for name, given in _slices(view)]
    kept = _that_fit(_json_rows(split, rows, names, [places for _, _, places in slices]), split.budget)
    pairs = [pair for line in view.lines for pair in view.row_pairs(line)]
    labels, predictions = (
        [(name, names[name]) for name in sorted({pair[side] for pair in pairs} & names.keys(), key=str)]
        for side in (0, 1)
    )
    least = int(rows.least.sum())
    table = RowTable(
        id=split.rows_id,
        data={"rows": kept, "bounded": view.bounded, "total": len(view.lines), "least": least},
        first=[_shown_row(split, index, rows) for index in rows.order[:FIRST_ROWS].tolist()],
        words=view.sorted_by,
        labels=labels,
        predictions=predictions,
        slices=[(name, values.tolist()) for name, values, _ in slices],
        bounded=view.bounded,
        errors=int(rows.wrong.sum()),
        suspects=int(rows.suspected.sum()),
        least=least,
    )
    yield Block(title="Rows", note=_note(split, table, kept=len(kept)), rows=table, wide=True)


def names_of(view: View) -> Mapping[str, int]:
    """The place of each label that rows can be filtered by, the most frequent first."""
    counts = Counter(name for line in view.lines for pair in view.row_pairs(line) for name in pair)
    return {name: place for place, (name, _) in enumerate(counts.most_common(MOST_NAMES))}


def _slices(view: View) -> list[tuple[str, list[str]]]:
    """(name, value of each row) of what groups the rows: other columns of the data, and the script of their text."""
    names = [key for key in view.lines[0] if key.startswith(SLICE)] if view.lines else []
    found = [(cut(key.removeprefix(SLICE)), [str(line.get(key) or "") for line in view.lines]) for key in names]
    texts = ["".join(segment.text for part in view.parts(line) for segment in part.segments) for line in view.lines]
    counts = census(texts)[:, [KINDS.index(script) for script in SCRIPTS]]
    scripts = [SCRIPTS[row.argmax()] if row.any() else "none" for row in counts]
    others = len(scripts) - max(Counter(scripts).values(), default=0)
    return [*found, ("script", scripts)] if others >= LEAST_SHARE * len(scripts) and others else found


def _shown_row(split: SplitView, index: int, rows: RowOrder) -> ShownRow:
    """The row at an index, with the view's own facts or its confidence, and what is doubtful about its label."""
    view, line, certainty, chance = split.view, split.view.lines[index], rows.certainty[index], rows.chances[index]
    label, prediction = view.verdict(line)
    facts = list(view.facts(line))
    if view.bounded and 0 < certainty <= 1:
        facts.append(f"confidence {100 * certainty:.1f} %")
    if rows.wrong[index] and view.bounded and (agreeing := view.agreeing(line)):
        facts.append(f"also predicted by {' and '.join(cut(baseline_words(name)) for name in agreeing)}")
    if not np.isnan(chance):
        facts.append(f"probability of the label {100 * chance:.1f} %")
    if rows.suspected[index]:
        facts.append("possible label error")
    return ShownRow(
        id=cut(str(line["id"]), NAME),
        parts=view.parts(line),
        label=cut(label),
        prediction=cut(prediction),
        facts=facts,
        right=not rows.wrong[index] if view.bounded else None,
        weights=split.weights.get(str(line["id"]), ()),
    )


def _json_rows(
    split: SplitView, rows: RowOrder, names: Mapping[str, int], places: Sequence[np.ndarray]
) -> Iterator[list[Any]]:
    """The rows in their order as the script reads them; what they are sorted by is None where a row has none, and a
    name that cannot be filtered by is -1. `places` has the value of each row in each slice.
    """
    view, lengths = split.view, split.view.lengths()
    for index in rows.order.tolist():
        row, sort = _shown_row(split, index, rows), float(rows.certainty[index])
        pairs = sorted({(names.get(a, -1), names.get(b, -1)) for a, b in view.row_pairs(view.lines[index])})
        yield [
            index, row.id, row.label, row.prediction, -1 if row.right is None else int(row.right),
            round(sort, 4) if np.isfinite(sort) else None, int(lengths[index]), list(row.facts),
            [_part(part) for part in row.parts], [*map(list, pairs)],
            [int(some[index]) for some in places], int(rows.suspected[index]),
            [[one.text, round(one.weight, 3)] for one in row.weights],
            None if rows.doubt is None else int(rows.doubt[index]),
        ]  # fmt: skip


def _that_fit(rows: Iterator[list[Any]], most: int) -> list[list[Any]]:
    """The first rows whose JSON takes at most so many bytes."""
    kept, size = [], 0
    for row in rows:
        size += len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1
        if size > most:
            break
        kept.append(row)
    return kept


def _part(part: TextPart) -> list[Any]:
    return [part.name, *([one.text, one.mark, one.label] if one.mark else one.text for one in part.segments)]


def _note(split: SplitView, table: RowTable, *, kept: int) -> str:
    view, count, limit = split.view, len(split.view.lines), threshold(split.view, split.temperature)
    text = f"{so_many(count)}. "
    if view.bounded:
        text = f"{table.errors:,} of {so_many(count)} {noun(table.errors, 'has', 'have')} an error. "
    text += f"{view.legend} " * bool(view.legend)
    if table.suspects:
        text += (
            f"{table.suspects:,} of them may have a wrong label, which is only a suggestion, since the model may be "
            f"wrong: {suspicion_rule(view, split.temperature)}. "
        )
    elif table.least and np.isfinite(limit):
        text += (
            f"None is a possible label error: the model contradicts no label with a confidence of "
            f"{100 * limit:.1f} % or more. "
        )
    if table.least:
        which = "with the largest errors, compared with those of rows with similar predictions"
        if view.bounded:
            which = "to whose label the model gives the lowest probability, compared with the mean of that class "
            which += "(Northcutt et al. 2021)"
        text += f"“labels believed least” are the {table.least:,} rows {which}: look for label errors there first. "
    if kept < count:
        first = "the errors, then those that the model is most sure of"
        first = first if view.bounded else f"those with the highest {view.sorted_by}"
        text += f"The page has room for {kept:,} rows: {first}. "
    return text


def parts_block(split: SplitView) -> Iterator[Block]:
    """A line per part with enough rows: its score with 95 % interval, next to that of all other rows."""
    view = split.view
    rows = [row for name, values in _slices(view) for row in _part_rows(view, name, values)]
    if rows:
        yield Block(
            title="Parts of the data",
            note=f"{view.measure[0].upper()}{view.measure[1:]} of parts with {FEWEST_ROWS} rows or more. Differences "
            "are not tested: of many parts some differ by chance.",
            table=TableBlock(columns=["part", "rows", "score", "95 % interval", "other rows"], rows=rows, sorts=True),
        )


def _part_rows(view: View, name: str, values: Sequence[str]) -> Iterator[list[str]]:
    """The cells of the parts with enough rows, the largest first; none where only one has."""
    counts, found, scores = Counter(values).most_common(), np.array(values, object), view.scores()
    if len(counts) < 2 or counts[1][1] < FEWEST_ROWS:
        return

    def shown(score: float) -> str:
        return f"{100 * score:.1f}" if view.bounded else f"{score:.3f}"

    for value, count in counts:
        inside = found == value
        if count >= FEWEST_ROWS and (~inside).sum() >= 2:
            interval = mean_interval(scores[inside], bounded=view.bounded)
            mean, others = scores[inside].mean(), scores[~inside].mean()
            part = f"{name} {cut(value or '(empty)', NAME)}"
            yield [part, f"{count:,}", shown(mean), "–".join(map(shown, interval or ())), shown(others)]
