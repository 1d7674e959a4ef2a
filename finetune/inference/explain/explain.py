"""Explains a row's prediction: read this file first."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.explain.explanation import ExplainedRow, Explanation, WordPart
from finetune.inference.explain.gradients import PickedLogits, integrated_gradients, require_captum
from finetune.inference.explain.words import find_words
from finetune.inference.predictor import Predictor
from finetune.models.feature import Feature
from finetune.task_types.explained import Asked, CannotExplain, ExplainTarget, NamedText, Target
from finetune.task_types.prepare import encode_rows

MOST_TOKENS = 8_192  # of a row's windows or choices, with padding


def explain_row(predictor: Predictor, row: Row, asked: Asked) -> ExplainedRow:
    """What each word of a row adds to its prediction, or to what was asked for.

    Raises CannotExplain for an empty text and a row that is too long, and UserError for a label or word that is not
    there, a task whose predictions cannot be explained, and without captum.
    """
    require_captum()
    explain_target = getattr(predictor.task, "explain_target", None)
    if explain_target is None:
        raise UserError(f"predictions of {predictor.task.name} cannot be explained", "Name a run of another task type")
    features = encode_rows(
        predictor.task, [row], predictor.tokenizer, predictor.max_length, predictor.engine.most_tokens
    )
    _require_few(features)
    (answer,) = predictor.answers([row])
    wanted: ExplainTarget = explain_target(row, answer, features, asked)
    texts = wanted.texts
    if empty := [one.name for one in chain.from_iterable(texts) if not one.text.strip()]:
        raise CannotExplain(f"the {empty[0]} is empty", "Give it at least one word")
    lost = any(feature.truncated for feature in features)
    return ExplainedRow(
        id=str(row.id),
        prediction=wanted.prediction,
        confidence=wanted.confidence,
        texts={one.name: one.text for one in chain.from_iterable(texts)},
        explanations=[_explanation(predictor, target, features, texts) for target in wanted.targets],
        gold=gold if isinstance(gold := predictor.task.labels_of([row])[0].value, str) else "",
        note=f"the row is longer than max_length {predictor.max_length}: its end was not read" if lost else "",
    )


def _explanation(
    predictor: Predictor, target: Target, features: Sequence[Feature], texts: Sequence[Sequence[NamedText]]
) -> Explanation:
    engine = predictor.torch_engine
    model = engine.model.to(engine.accelerator.device).eval()
    used = sorted({pick.feature for pick in target.picks})
    batch = engine.batch([replace(features[number], label=None) for number in used])
    picks = [replace(pick, feature=used.index(pick.feature)) for pick in target.picks]
    value = PickedLogits(model=model, batch=batch, picks=picks)
    sequences = [one for number in used for one in features[number].choices or (features[number],)]
    words = find_words([list(one.input_ids) for one in sequences], texts, predictor.tokenizer)
    mask_id = _mask_id(predictor)
    masked = value.ids.clone()
    for place in chain.from_iterable(word.places for word in words):
        masked[place] = mask_id
    found = integrated_gradients(value, masked)
    added = [float(sum(found.parts[place] for place in word.places)) for word in words]
    return Explanation(
        label=target.label,
        confidence=target.confidence,
        value=found.value,
        masked=found.masked,
        steps=found.steps,
        masked_confidence=1 / (1 + math.exp(-found.masked)) if target.is_log_odds else None,
        words=[
            WordPart(word=w.surface, text_name=w.text.name, start=w.start, end=w.end, added=part)
            for w, part in zip(words, added, strict=True)
        ],
    )


def _mask_id(predictor: Predictor) -> int:
    """The token in the place of a masked word: encoders know [MASK] from pre-training as a word that is not given."""
    tokenizer = predictor.tokenizer
    known = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id)
    return next(int(number) for number in known if number is not None)


def _require_few(features: Sequence[Feature]) -> None:
    """Raises CannotExplain for a row of more tokens than can be explained in seconds."""
    tokens = sum(map(len, features))
    if tokens > MOST_TOKENS:
        raise CannotExplain(
            f"the row is too long: {tokens:,} tokens in {len(features)} windows", f"Give at most {MOST_TOKENS:,}"
        )
