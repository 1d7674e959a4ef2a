"""The part of each word in a row's prediction: integrated gradients (Sundararajan et al. 2017), by captum.

The path leads, in the space of word embeddings, from the row with every word masked to the row itself. The parts add up
to the difference of the two values, except for the error of the numerical integral: it falls with the number of steps.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any

import torch
from torch import Tensor

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.explanation import (
    LEAST_DIFFERENCE,
    TOLERANCE,
    ExplainedRow,
    Explanation,
    WordPart,
    require_captum,
)
from finetune.inference.predictor import Predictor
from finetune.models.batch import Batch
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
from finetune.models.tokenizers.encoding import character_offsets
from finetune.runs import process
from finetune.task_types.explained import Asked, CannotExplain, ExplainTarget, NamedText, Pick, Target

MOST_TOKENS = 8_192  # of a row's windows or choices, with padding
FIRST_STEPS, MOST_STEPS = 32, 1_024
TOKENS_AT_ONCE = 4_096  # of all sequences that are computed together, with padding
NEW_WORD = ("▁", "Ġ")  # the marks of SentencePiece and byte-level BPE for a token after a space


def explain_row(predictor: Predictor, row: Row, asked: Asked) -> ExplainedRow:
    """The parts of a row's words in its prediction, or in the label that was `asked` for.

    Raises CannotExplain for an empty text and a row that is too long. Raises UserError for an unknown label or word, a
    task whose predictions cannot be explained, and without captum.
    """
    require_captum()
    task = predictor.task
    explain_target = getattr(task, "explain_target", None)
    if explain_target is None:
        raise UserError(f"predictions of {task.name} cannot be explained", "Name a run of another task type")
    features = predictor.encoded([row])
    tokens = sum(map(len, features))
    if tokens > MOST_TOKENS:
        raise CannotExplain(
            f"the row is too long: {tokens:,} tokens in {len(features)} windows", f"Give at most {MOST_TOKENS:,}"
        )
    (answer,) = predictor.answers([row])
    wanted: ExplainTarget = explain_target(row, answer, features, asked)
    texts = {text.name: text.text for text in chain.from_iterable(wanted.texts)}
    if empty := [name for name, text in texts.items() if not text.strip()]:
        raise CannotExplain(f"the {empty[0]} is empty", "Give it at least one word")
    lost = any(feature.truncated for feature in features)
    return ExplainedRow(
        id=str(row.id),
        prediction=wanted.prediction,
        confidence=wanted.confidence,
        texts=texts,
        explanations=[_explanation(predictor, target, features, wanted.texts) for target in wanted.targets],
        gold=gold if isinstance(gold := task.labels_of([row])[0].value, str) else "",
        note=f"the row is longer than max_length {predictor.max_length}: its end was not read" if lost else "",
    )


def _explanation(
    predictor: Predictor, target: Target, features: Sequence[Feature], texts: Sequence[Sequence[NamedText]]
) -> Explanation:
    engine, tokenizer = predictor.torch_engine, predictor.tokenizer
    used = sorted({pick.feature for pick in target.picks})
    batch = engine.batch([replace(features[number], label=None) for number in used])
    picks = [replace(pick, feature=used.index(pick.feature)) for pick in target.picks]
    value = PickedLogits(model=engine.model, batch=batch, picks=picks)
    sequences = [sequence for number in used for sequence in features[number].choices or (features[number],)]
    words = find_words([list(sequence.input_ids) for sequence in sequences], texts, tokenizer)
    masked = value.ids.clone()  # in pre-training [MASK] meant an unknown word
    mask_ids = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id)
    for position in chain.from_iterable(word.positions for word in words):
        masked[position] = next(number for number in mask_ids if number is not None)
    parts, steps, start, end = integrated_gradients(value, masked)
    return Explanation(
        label=target.label,
        confidence=target.confidence,
        value=end,
        masked=start,
        steps=steps,
        masked_confidence=1 / (1 + math.exp(-start)) if target.is_log_odds else None,
        words=[
            WordPart(
                word=word.text.text[word.start : word.end],
                text_name=word.text.name,
                start=word.start,
                end=word.end,
                added=float(sum(parts[position] for position in word.positions)),
            )
            for word in words
        ],
    )


@dataclass(frozen=True, kw_only=True)
class PickedLogits:
    """The sum of picked logits; the sequences of their features are the rows of `batch`."""

    model: EncoderWithHead
    batch: Batch
    picks: Sequence[Pick]

    @property
    def ids(self) -> Tensor:
        """The token ids `(sequences, length)`."""
        assert self.batch.input_ids is not None
        return self.batch.input_ids

    def __call__(self, ids: Tensor) -> Tensor:
        """The values `(n,)` of n versions of the token ids, each flat: `(n, sequences * length)`."""
        count = len(ids)
        _, *others = self.batch.repeated(count).inputs()
        logits = self.model(ids.reshape(-1, self.ids.shape[1]), *others).float().unflatten(0, (count, -1))
        return torch.stack([pick.weight * _picked(logits[:, pick.feature], pick) for pick in self.picks]).sum(0)


def _picked(logits: Tensor, pick: Pick) -> Tensor:
    """A logit `(n,)` of `logits` `(n, ...)`, or its log-odds against the others along the axis `pick.against`."""
    axis = pick.against or 0
    row = logits.movedim(1 + axis, -1)
    for position in (*pick.place[:axis], *pick.place[axis + 1 :]):
        row = row[:, position]
    index = pick.place[axis]
    if pick.against is None:
        return row[:, index]
    return row[:, index] - torch.cat([row[:, :index], row[:, index + 1 :]], dim=1).logsumexp(1)


def integrated_gradients(value: PickedLogits, masked: Tensor) -> tuple[Tensor, int, float, float]:
    """The parts of tokens `(sequences, length)`, the number of steps, and the values at the start and end of the path.

    It starts at the ids `masked` `(sequences, length)`. Steps are doubled until the parts add up to the difference
    within TOLERANCE, or up to MOST_STEPS.
    """
    from captum.attr import LayerIntegratedGradients

    sequences = len(masked)
    paths = masked.reshape(1, -1), value.ids.reshape(1, -1)
    with torch.no_grad():
        start, end = (float(value(ids).double()) for ids in paths)
    method = LayerIntegratedGradients(value, value.model.backbone.encoder.get_input_embeddings())
    allowed, steps = TOLERANCE * max(abs(end - start), LEAST_DIFFERENCE), FIRST_STEPS
    at_once = sequences * max(1, TOKENS_AT_ONCE // masked.numel())
    while True:
        process.stop_if_asked()
        with torch.backends.cudnn.flags(enabled=False):  # its LSTM has no gradients in evaluation mode
            added = method.attribute(paths[1], baselines=paths[0], n_steps=steps, internal_batch_size=at_once)
        parts: Tensor = added.detach().double().sum(-1).cpu()
        if abs(float(parts.sum()) - (end - start)) <= allowed or steps >= MOST_STEPS:
            return parts, steps, start, end
        steps *= 2


@dataclass(frozen=True, kw_only=True)
class ExplainedWord:
    """A word at characters `start` to `end` of a text, and (sequence, position) of its tokens, in all windows."""

    text: NamedText
    start: int
    end: int
    positions: list[tuple[int, int]] = field(default_factory=list)


def find_words(
    sequences: Sequence[Sequence[int]], texts: Sequence[Sequence[NamedText]], tokenizer: Any
) -> list[ExplainedWord]:
    """The words of the texts, in order, with the positions of their tokens in the sequences of token ids.

    `texts` has a list for all sequences, or a list for each. Truncated words, which no sequence has, are left out.
    """
    tokens_by_name = {text.name: tokens_of_text(text, tokenizer) for group in texts for text in group}
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id, tokenizer.mask_token_id}
    per_sequence, cursors = len(texts) > 1, dict.fromkeys(tokens_by_name, 0)
    for number, ids in enumerate(sequences):
        names = [text.name for text in texts[number if per_sequence else 0]]
        cursors = dict.fromkeys(tokens_by_name, 0) if per_sequence else cursors
        runs = list(_runs(ids, special))
        regular = len(runs) == len(names)  # else a text has the characters of a special token
        for order, (position, run) in enumerate(runs):
            for name in names[order : order + 1] if regular else names:
                whole, words = tokens_by_name[name]
                if (start := _find(run, whole, cursors[name])) is not None:
                    cursors[name] = start + (1 if regular else len(run))  # the next window begins later
                    for index in range(len(run)):
                        words[start + index].positions.append((number, position + index))
                    break
    unique = {id(word): word for _, words in tokens_by_name.values() for word in words if word.positions}
    return list(unique.values())


def tokens_of_text(text: NamedText, tokenizer: Any) -> tuple[list[int], list[ExplainedWord]]:
    """The tokens of a text without special tokens, and the word of each: the text's words, or else the tokenizer's.

    Some tokenizers count a whole text as one word, and a space as a part of a token.
    """
    encoded = tokenizer(text.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans = list[tuple[int, int]]()
    for start, end in character_offsets(text.text, encoded["offset_mapping"]).tolist():
        inner = text.text[start:end].strip()
        first = text.text.index(inner, start) if inner else start
        spans.append((first, first + len(inner)))
    if text.words is None:
        edges, owners, last = list[tuple[int, int]](), list[int](), None
        tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
        for (start, end), number, token in zip(spans, encoded.word_ids(), tokens, strict=True):
            if not edges or number != last or token.startswith(NEW_WORD):
                edges.append((start, end))
            edges[-1] = min(edges[-1][0], start), max(edges[-1][1], end)
            owners, last = [*owners, len(edges) - 1], number
    else:
        edges = list(text.words)
        owners = [bisect_right([start for start, _ in edges], start) - 1 for start, _ in spans]
    words = [ExplainedWord(text=text, start=start, end=end) for start, end in edges]
    return encoded["input_ids"], [words[owner] for owner in owners]


def _runs(ids: Sequence[int], special: set[int]) -> Iterator[tuple[int, list[int]]]:
    """(position, ids) of the tokens between special tokens."""
    for is_text, group in groupby(enumerate(map(int, ids)), lambda item: item[1] not in special):
        if is_text:
            positions, run = zip(*group, strict=True)
            yield positions[0], list(run)


def _find(part: list[int], whole: list[int], begin: int) -> int | None:
    """The index of `part` in a text's tokens, searched from `begin` on, then from the start."""
    last = len(whole) - len(part) + 1
    order = chain(range(begin, last), range(min(begin, last)))
    return next((start for start in order if whole[start : start + len(part)] == part), None)
