"""Spans that may overlap or nest, with any number of labels each: pairs of a first and a last word, scored one by one.

Words are those of `segmented`: runs of letters, or single characters in scripts without spaces and in Korean.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data import Finding, Issue, Table, as_text, is_missing, percent, shown, spans
from finetune.errors import UserError
from finetune.metrics import Counted, Metric, part_counted, set_counts
from finetune.models.feature import IGNORED, Feature
from finetune.task_types import (
    MISSING_TEXT,
    Answer,
    DecisionRow,
    Decisions,
    Evidence,
    Layout,
    NoRow,
    OwnType,
    Predictions,
    SplitRows,
    Task,
    character_offsets,
    marks_of_both,
    option,
    owning_windows,
    paired_spans,
    segmented,
    span_layout,
    with_chosen,
)
from finetune.task_types.plugins.overlapping_pairs import IS_WORD, pair_logits

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.plugins.overlapping_head import OverlapHead

LabelledSpan = tuple[int, int, str]  # first character, character after the last, label
Answers = Sequence[Answer]
ROWS_LOOKED_AT = 1_000  # of a file, to tell its type
OFTEN = 0.01  # share of the spans that must overlap a longer one, else they are taken for mistakes of a flat file
SHORT = 8  # words of the longest span, where no row has one
EVEN = 0.5  # the threshold before it is chosen
FLOOR = 0.05  # the least probability of a candidate, and the least threshold
CANDIDATES = 4  # most candidates for each word that is read
USUAL = 0.5  # share of a text's occurrences that must be spans of a label, for the baseline
BEGIN, END, OWNED = range(3)  # columns of a feature's note
PARTS = ("f1", "precision", "recall")  # of the scores over all spans, and of each label
NONE = "no span"
CUT = "begin or end inside a word or token, are longer than longest_span, or are cut by a window of max_length"
TWICE = "given more than once: read once"
LEFT_OUT = (spans.OUTSIDE, spans.ELSEWHERE)
SPAN_KEYS = ("start", "end", "label")
READ_SPAN = Issue(
    code="read-span",
    severity="note",
    worst="warning",
    meaning="character spans that may overlap, and were trimmed, read once or left out",
    remedy="Correct their start, end and label; an end is the position after the last character",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRow:
    """A text and its spans, in the order of their first characters, of these the longest first; None if unknown.

    Spans may be mappings too, as predictions are saved.
    """

    id: str
    text: str
    gold: tuple[LabelledSpan, ...] | None = None

    def __post_init__(self) -> None:
        if self.gold is not None:
            object.__setattr__(self, "gold", tuple(triples(self.gold)))

    @property
    def input(self) -> str:
        """The text."""
        return self.text


@dataclass(frozen=True, kw_only=True)
class SpansAnswer(Answer):
    """Spans with their `probabilities`.

    `candidates` are all spans that some threshold may choose, each with its `probability`. Of a row with spans,
    `label_probabilities` are those of its own, 0 for one that is `out_of_reach`, which says for each such why.
    """

    candidates: Sequence[Mapping[str, Any]] = ()
    label_probabilities: Sequence[float] | None = None
    out_of_reach: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class OverlapTask(Task):
    """Spans of `types` in a text, which may overlap, nest, and have several labels.

    Each pair of a first and a last word, of up to `longest_span` words, has a logit of each type. A span is predicted
    if its probability reaches the `threshold`, which dev chooses for F1 unless it is given; dev itself is scored with
    thresholds that other rows of it chose.
    """

    types: tuple[str, ...]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = option(
        None, "the probability from which a span is predicted; chosen on dev if not given"
    )
    longest_span: Annotated[int, Field(ge=1)] | None = option(
        None, "words of the longest span that is looked for; by default those of the longest in the training rows"
    )
    metrics: tuple[Metric, ...] = ()
    row_type = OverlapRow
    pooled = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(map(Metric, self.sums([], []))))
        super().__post_init__()

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of spans."""
        return self.types

    def fit(self, train: Sequence[OverlapRow]) -> "OverlapTask":
        """The task with the length of the longest span."""
        lengths = (len(segmented(row.text[start:end])[0]) for row in train for start, end, _ in row.gold or ())
        return replace(self, longest_span=self.longest_span or max(lengths, default=SHORT))

    def fault(self, row: OverlapRow) -> str:
        if not row.text.strip():
            return "has no text"
        wrong = f"has a span outside its text, or with a label that is not one of {', '.join(self.types)}"
        return "" if self.fits(as_values(row.gold or ()), row) else wrong

    def fits(self, value: Any, row: OverlapRow) -> bool:
        return isinstance(value, list) and all(
            isinstance(one, dict)
            and one.keys() >= {*SPAN_KEYS}
            and one["label"] in self.types
            and one["start"] in range(len(row.text))
            and one["end"] in range(one["start"] + 1, len(row.text) + 1)
            for one in value
        )

    def row(self, text: str) -> OverlapRow:
        """A row of a text."""
        return OverlapRow(id="", text=text)

    def head(self, backbone: "Backbone") -> "OverlapHead":
        """The head that scores pairs."""
        from finetune.task_types.plugins.overlapping_head import OverlapHead

        return OverlapHead(backbone, self.types, self.longest_span or SHORT)

    def encode(
        self, rows: Sequence[OverlapRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """Windows over texts. A span belongs to the one window that owns its first word, as in tagging, and is read
        there if its last word is in that window too.

        A feature reads the words that it owns and, of those behind them, as many as the longest span has words. Its
        `note` `(words, 3)` has their first characters, the characters after their last, and whether they are owned; its
        `label` `(words + spans, 3)` for each word (0, or IGNORED if it is not owned, IS_WORD, 0), and for each span
        (IGNORED, first word, code), where the code is the number of words behind that, times the types, plus its type.
        """
        encoded = tokenizer(
            [row.text for row in rows], add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        has_segments = "token_type_ids" in tokenizer.model_input_names
        features = []
        for number, (row, ids) in enumerate(zip(rows, encoded["input_ids"], strict=True)):
            tokens, begins, ends = words_with_tokens(row.text, encoded["offset_mapping"][number]).T
            coded = []  # (first word, code) of each span
            for start, end, kind in row.gold or ():
                first, last = max(0, bisect_right(begins, start) - 1), max(0, bisect_left(begins, end) - 1)
                coded.append((first, (last - first) * len(self.types) + self.types.index(kind)))
            for start, end, owned in owning_windows(tokens, len(ids), max_length - 2):
                after = int(np.searchsorted(tokens, end))
                read = np.arange(owned[0], min(after, owned[-1] + (self.longest_span or after)))
                label = [(0 if word <= owned[-1] else IGNORED, IS_WORD, 0) for word in read]
                label += [(IGNORED, word - read[0], code) for word, code in coded if owned[0] <= word <= owned[-1]]
                features.append(
                    Feature(
                        row=number,
                        input_ids=[tokenizer.cls_token_id, *ids[start:end], tokenizer.sep_token_id],
                        token_type_ids=[0] * (end - start + 2) if has_segments else None,
                        label=None if row.gold is None else np.array(label, dtype=np.int64),
                        reads=(tokens[read] - start + 1).tolist(),
                        note=np.column_stack([begins[read], ends[read], read <= owned[-1]]),
                    )
                )
        return features

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[OverlapRow]
    ) -> list[Answer]:
        """The spans of each text, and how a row's own were scored."""
        from scipy.special import expit

        likely = [dict[LabelledSpan, float]() for _ in rows]
        own = [dict[LabelledSpan, float]() for _ in rows]
        for scores, feature in zip(logits, features, strict=True):
            note, row = feature.note, feature.row
            chances = expit(pair_logits(scores, len(self.types), min(self.longest_span or SHORT, len(scores))))
            chances[note[:, OWNED] == 0] = 0  # another window has the spans that begin there
            likely[row] |= self._likely(chances, note)
            begins = {begin: word for word, (begin, _, owned) in enumerate(note.tolist()) if owned}
            ends = {end: word for word, end in enumerate(note[:, END].tolist())}
            for start, end, kind in rows[row].gold or ():
                first = begins.get(start, len(note))
                if 0 <= (behind := ends.get(end, -1) - first) < chances.shape[1]:
                    chance = float(chances[first, behind, self.types.index(kind)])
                    own[row][start, end, kind] = round(chance, 6)
        answers = [
            SpansAnswer(
                value=[],
                candidates=[span_value(span, probability=chances[span]) for span in sorted(chances, key=in_order)],
                label_probabilities=None if row.gold is None else [mine.get(span, 0.0) for span in row.gold],
                out_of_reach=[CUT] * (len(row.gold or ()) - len(mine)),
            )
            for row, chances, mine in zip(rows, likely, own, strict=True)
        ]
        return self.decide(answers)

    def _likely(self, chances: np.ndarray, note: np.ndarray) -> dict[LabelledSpan, float]:
        """The most probable spans of a feature, from the probabilities of its pairs `(words, longest, types)`."""
        flat = chances.ravel()
        places = np.flatnonzero(flat >= FLOOR)
        places = places[np.argsort(-flat[places], kind="stable")[: CANDIDATES * len(note)]]
        words, behind, kinds = np.unravel_index(places, chances.shape)
        columns = note[words, BEGIN], note[words + behind, END], kinds, flat[places]
        cells = zip(*(column.tolist() for column in columns), strict=True)
        return {(start, end, self.types[kind]): round(chance, 6) for start, end, kind, chance in cells}

    def decide(self, answers: Answers) -> list[Answer]:
        """The candidates that reach the current threshold; a prediction without candidates is unchanged."""
        least = EVEN if self.threshold is None else self.threshold
        decided = []
        for answer in answers:
            chosen = {span: chance for span, chance in chances_of(answer).items() if chance >= least}
            new = replace(answer, value=as_values(chosen), probabilities=[*chosen.values()])
            decided.append(new if isinstance(answer, SpansAnswer) else answer)
        return decided

    def tune(self, answers: Answers, rows: Sequence[OverlapRow]) -> dict[str, Any]:
        """The threshold with the best F1 over all spans of these rows, where the predictions have candidates; of
        several that are as good the one nearest to 0.5. It is 0.5, or midway between two probabilities of candidates.
        """
        if self.threshold is not None or not any(isinstance(answer, SpansAnswer) for answer in answers):
            return {}
        pairs = [
            (chance, span in (row.gold or ()))
            for answer, row in zip(answers, rows, strict=True)
            for span, chance in chances_of(answer).items()
        ]
        ranked, hits = np.array(sorted(pairs), float).reshape(-1, 2).T
        edges = np.unique([FLOOR, *ranked, 1.0])
        thresholds = np.append((edges[1:] + edges[:-1]) / 2, EVEN)
        below = np.searchsorted(ranked, thresholds)
        hit = hits.sum() - np.append(0, np.cumsum(hits))[below]
        f1 = 2 * hit / np.maximum(1, len(ranked) - below + sum(len(row.gold or ()) for row in rows))
        best = thresholds[f1 >= f1.max() - 1e-12]
        return {"threshold": float(best[np.abs(best - EVEN).argmin()])}

    def labels_of(self, rows: Sequence[OverlapRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else as_values(row.gold)) for row in rows]

    def sums(self, answers: Answers, rows: Sequence[OverlapRow]) -> dict[str, Counted]:
        """All metrics, from the numbers of right, predicted and true spans of each row."""
        sides = [row.gold or () for row in rows], [triples(answer.value) for answer in answers]
        metrics: dict[str, Counted] = {}
        for kind in ("", *self.types):
            labels, predicted = ([{span for span in row if kind in ("", span[2])} for row in side] for side in sides)
            counts, prefix = set_counts(labels, predicted), f"{kind}/" if kind else ""
            metrics |= {f"{prefix}{part}": part_counted(part, *counts) for part in PARTS}
        return metrics

    def baselines(self, train: Sequence[OverlapRow], rows: Sequence[OverlapRow]) -> dict[str, list[Answer]]:
        """Each text that was a span of a label in training at least every second time, wherever it occurs."""
        counts = Counter((row.text[start:end], kind) for row in train for start, end, kind in row.gold or ())
        labels: dict[str, list[str]] = {text: [] for text, _ in counts}
        longest = max((len(segmented(text)[0]) for text in labels), default=0)

        def places(text: str) -> Iterator[tuple[int, int]]:
            words, starts = segmented(text)
            ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
            for first, start in enumerate(starts):
                yield from ((start, end) for end in ends[first : first + longest] if text[start:end] in labels)

        occurs = Counter(row.text[start:end] for row in train for start, end in places(row.text))
        for (text, kind), count in counts.items():
            labels[text] += [kind] * (count >= USUAL * occurs[text])
        listed = ([(*at, kind) for at in places(row.text) for kind in labels[row.text[slice(*at)]]] for row in rows)
        return {"span-dictionary": [Answer(value=as_values(sorted(spans_in, key=in_order))) for spans_in in listed]}


class OverlappingSpans(OwnType):
    """A text, and its spans by their characters, of which several may have a character in common."""

    name = "overlapping-spans"
    task_class = OverlapTask
    issues = (READ_SPAN,)
    label_is = (list, tuple, dict)
    closed_labels = True
    max_length = 256

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds a text with character spans, of which some overlap unless the user named this type.

        Raises UserError where the user did, and no column holds spans that are within a text.
        """
        label = evidence.chosen.get("label") or []
        layout = span_layout(evidence) if len(label) < 2 else None
        if layout is None and evidence.shape is None:
            return None
        if layout is None:
            raise UserError(
                f"{evidence.file}: {' '.join(label) or 'it'} has no character spans within a text",
                "Write [[start, end, label]], counted from 0, the end after the last; or name text=COLUMN label=COLUMN",
            )
        columns = [evidence.columns[name][:ROWS_LOOKED_AT] for name in (*layout.text, *layout.label)]
        rows = [read_once(cell, layout, text)[0] for text, cell in zip(*columns, strict=True)]
        every, overlapping = sum(map(len, rows)), sum(map(overlaps, rows))
        if evidence.shape is None and overlapping < max(1, OFTEN * every):
            return None
        share = f"{overlapping:,} of {every:,} ({percent(overlapping / max(1, every))})"
        why = f"{layout.label[0]} holds character spans in {layout.text[0]}, of which {share} overlap a longer one"
        found = replace(layout, shape=self.name, reasons={"shape": f"{why}; shape=tagging leaves those out"})
        return with_chosen(self, evidence, found)

    def labels_in(self, gold: Iterable[Any] | None) -> Sequence[str]:
        """The labels of the spans, of a label or a prediction."""
        return [kind for _, _, kind in triples(gold or ())]

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed, read once or left out."""
        rows = defaultdict[str, list[int]](list)
        columns = [table.columns.get(name, ()) for name in (*layout.text, *layout.label)]
        for index, (text, *cells) in enumerate(zip(*columns, strict=False)):
            for what in read_once(cells[0], layout, text)[1] if cells else ():
                rows[f"spans {what}"].append(index)
        return dict(rows)

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The spans that were changed."""
        for what, indexes in self.changes(rows.layout, rows.table).items():
            yield Finding(issue=READ_SPAN, indexes=indexes, what=what, worst=what.endswith(LEFT_OUT))

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OverlapRow:
        """The text with its spans. Raises NoRow for a missing text, and for a cell that has no list of spans."""
        text, cell = layout.text_of(values, layout.text[0]), layout.label_in(values)
        if not text.strip():
            raise NoRow(f"has no text in the column '{layout.text[0]}'", MISSING_TEXT)
        if is_missing(cell):
            return OverlapRow(id=name, text=text)
        if spans.items_in(cell) is None:
            raise NoRow(f"has {shown(as_text(cell))} in the column '{layout.label[0]}'; expected a list of spans")
        return OverlapRow(id=name, text=text, gold=tuple(read_once(cell, layout, text)[0]))

    def label_words(self, row: OverlapRow) -> str:
        """Each span with its label."""
        return "none" if row.gold is None else shown(spans_in_words({"text": row.text}, row.gold), 100)[1:-1]

    def task(self, layout: Layout, *, name: str, read: Any = None) -> OverlapTask:
        """The task with the labels of the file."""
        return OverlapTask(name=name, read=read, types=layout.labels)

    def cells(self, task: Task, layout: Layout, answer: Answer, row: OverlapRow) -> dict[str, Any]:
        """The spans in the form of the training file, and each with type, text, place and probability."""
        chances, entities = chances_of(answer), []
        for start, end, kind in triples(answer.value):
            chance = {"probability": chances[start, end, kind]} if (start, end, kind) in chances else {}
            entities.append({"type": kind, "text": row.text[start:end], "start": start, "end": end} | chance)
        return {"prediction": spans.in_form(triples(answer.value), layout.spans, row.text), "entities": entities}

    def value(self, task: Task, layout: Layout, cell: Any, row: OverlapRow) -> Any:
        return as_values(read_once(cell, layout, row.text)[0])

    def predictions(self, lines: Sequence[dict[str, Any]], names: Sequence[str], task: Task | None) -> Predictions:
        """A decision for each span of either side and each other candidate; a row's score is the F1 of its spans."""
        decisions, score, sides = list[DecisionRow](), list[float](), list[list[list[LabelledSpan]]]()
        for row, line in enumerate(lines):
            label, predicted = both = [triples(line["gold"]), triples(line["prediction"])]
            own = dict(zip(label, line.get("label_probabilities") or (), strict=False))
            sure = dict(zip(predicted, line.get("probabilities") or (), strict=False))
            for place, kind, chosen in paired_spans(label, predicted, NONE):
                span, chance = (*place, chosen), own.get((*place, kind))
                confidence = sure.get(span, None if chance is None else 1 - chance)
                at = predicted.index(span) if span in predicted else 0
                of = line["text"][slice(*place)]
                decisions.append(DecisionRow(row, kind, chosen, kind == chosen, confidence, chance, of, at, at + 1))
            for one in line.get("candidates") or ():
                if {*triples([one])}.isdisjoint((*label, *predicted)):
                    decisions.append(DecisionRow(row, NONE, NONE, True, 1 - one["probability"]))
            every = len(label) + len(predicted)
            score.append(2 * len({*label} & {*predicted}) / every if every else 1.0)
            sides.append(both)
        return Predictions(
            lines=lines, texts=[{"label": line["text"], "prediction": line["text"]} for line in lines],
            score=np.array(score, float), right=np.array(score) == 1, decisions=Decisions.made(decisions),
            nothing=(NONE,), marks=lambda row: marks_of_both(*sides[row]), says=spans_in_words, filler=(),
            unit="candidate spans", claimed="entities",
        )  # fmt: skip


def span_value(span: LabelledSpan, **more: float) -> dict[str, Any]:
    """A span in the form of predictions."""
    return {**dict(zip(SPAN_KEYS, span, strict=True)), **more}


def as_values(labelled: Iterable[LabelledSpan]) -> list[dict[str, Any]]:
    """Spans in the form of predictions, `{"start": 0, "end": 3, "label": "PER"}`."""
    return list(map(span_value, labelled))


def triples(values: Iterable[Any]) -> list[LabelledSpan]:
    """The reverse of `as_values`; triples stay as they are."""
    return [tuple(one[key] for key in SPAN_KEYS) if isinstance(one, Mapping) else tuple(one) for one in values]


def in_order(span: LabelledSpan) -> tuple[int, int, str]:
    """The key that sorts spans: by the first character, of these the longest first."""
    return span[0], -span[1], span[2]


def spans_in_words(line: Mapping[str, Any], values: Iterable[Any]) -> str:
    """Spans of a line's text, in words."""
    return ", ".join(f"{line['text'][start:end]} ({kind})" for start, end, kind in triples(values)) or NONE


def chances_of(answer: Answer) -> dict[LabelledSpan, float]:
    """The probabilities of a prediction's candidates; empty without candidates."""
    candidates = getattr(answer, "candidates", ())
    return {span: one["probability"] for span, one in zip(triples(candidates), candidates, strict=True)}


def read_once(cell: Any, layout: Layout, text: Any) -> tuple[list[LabelledSpan], Counter[str]]:
    """The usable spans in a cell, each once and in order, and what was changed; none in a missing text."""
    labelled, changes = spans.read_spans(() if is_missing(text) else cell, layout.spans, as_text(text))
    once = sorted({*labelled}, key=in_order)
    return once, +(changes + Counter({TWICE: len(labelled) - len(once)}))


def overlaps(labelled: Sequence[LabelledSpan]) -> int:
    """How many spans overlap a longer one, or are the same with another label."""
    free: list[LabelledSpan] = []
    for span in sorted(labelled, key=lambda span: span[0] - span[1]):
        if all(span[1] <= start or end <= span[0] for start, end, _ in free):
            free.append(span)
    return len(labelled) - len(free)


def words_with_tokens(text: str, offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """The words of a text in which a token begins `(words, 3)`: the index of that token, the word's first character,
    and the character after the last that its tokens have.

    Of words that share a token (characters, mostly) only the first counts, and ends where the last of them does: no
    span begins or ends between them.
    """
    words, starts = segmented(text)
    owner = np.full(len(text) + 1, -1)
    for number, (start, word) in enumerate(zip(starts, words, strict=True)):
        owner[start : start + len(word)] = number
    rows: list[list[int]] = []
    last = -1
    for token, (start, end) in enumerate(character_offsets(text, offsets).tolist()):
        if not (inside := [number for number in owner[start:end].tolist() if number >= 0]):
            continue
        if inside[0] > last:
            last = inside[0]
            rows.append([token, starts[last], 0])
        rows[-1][2] = max(rows[-1][2], starts[inside[-1]] + len(words[inside[-1]]))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
