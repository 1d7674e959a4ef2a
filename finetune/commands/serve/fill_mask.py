"""The words that a model which was pre-trained on text would put in the place of a mask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from finetune.commands.serve.pipelines import PipelineRequest
from finetune.commands.serve.refused import Refused
from finetune.commands.serve.served_model import ServedModel
from finetune.models.feature import LOGITS, Feature
from finetune.task_types.pretraining.objectives import WORDS

MOST_WORDS = 5  # for each mask, by default
MOST_MASKS = 64  # of a text, each with a logit for every token of the vocabulary
MOST_CHOSEN = 100  # words for a mask, or targets: each is written into its text


@dataclass(frozen=True, kw_only=True)
class MaskedText:
    """A text with a mask or several, how many words are asked for, and which, if not all."""

    text: str
    top_k: int = MOST_WORDS
    targets: tuple[str, ...] = ()


def fills_masks(model: ServedModel) -> bool:
    """Whether the model predicts masked words, and its tokenizer writes tokens as text, unlike those of exports."""
    task, tokenizer = cast(Any, model.predictor.task), model.predictor.tokenizer
    return model.predictor.engine.pretrains and bool(task.objective_type.masked) and hasattr(tokenizer, "decode")


def masked_texts(asked: PipelineRequest) -> list[MaskedText]:
    """The texts of a request. Raises Refused for inputs that are not texts, and for parameters of another kind."""
    asked.takes("top_k", "targets")
    top_k, targets = asked.count("top_k", MOST_WORDS) or MOST_WORDS, asked.parameters.get("targets") or []
    listed = [targets] if isinstance(targets, str) else targets
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise Refused(400, "`targets` is not a list of words", 'Send "targets": ["word", ...]')
    if max(top_k, len(listed)) > MOST_CHOSEN:
        raise Refused(413, f"{max(top_k, len(listed)):,} words are asked for", f"Ask for at most {MOST_CHOSEN}")
    if not all(isinstance(text, str) for text in asked.inputs):
        raise Refused(400, "an input is not a text", 'Send {"inputs": "a text"}')
    return [MaskedText(text=text, top_k=top_k, targets=tuple(listed)) for text in asked.inputs]


def fill_masks(model: ServedModel, texts: Sequence[MaskedText]) -> list[Any]:
    """For each text its words, the most probable first; for a text of several masks a list for each of them.

    Raises Refused for a text without a mask within the length that the model reads.
    """
    return [_filled(model, one) for one in texts]


def _filled(model: ServedModel, asked: MaskedText) -> list[Any]:
    tokenizer = model.predictor.tokenizer
    encoded = tokenizer(asked.text, truncation=True, max_length=model.predictor.max_length)
    ids = encoded["input_ids"]
    places = [place for place, token in enumerate(ids) if token == tokenizer.mask_token_id]
    if not 0 < len(places) <= MOST_MASKS:
        way_out = f"Write {tokenizer.mask_token} in the place of a word, at most {MOST_MASKS} times"
        raise Refused(400, f"the text has {len(places)} masks where the model reads it", way_out)
    chances = _chances(model, ids, encoded.get("token_type_ids"), places)
    found = [
        [_word(tokenizer, ids, place, token, each[token]) for token in _chosen(tokenizer, each, asked)]
        for place, each in zip(places, chances, strict=True)
    ]
    return found if len(found) > 1 else found[0]


def _chances(model: ServedModel, ids: list[int], segments: list[int] | None, places: list[int]) -> np.ndarray:
    """The probability of every token at the places: `(places, vocabulary)`."""
    from scipy.special import softmax

    feature = Feature(row=0, input_ids=ids, token_type_ids=segments, reads=places)
    exported = model.predictor.exported
    logits = _logits_of_torch(model, feature) if exported is None else _logits_of_export(model, feature)
    chances: np.ndarray = softmax(logits.astype(np.float64), axis=-1)
    return chances


def _logits_of_torch(model: ServedModel, feature: Feature) -> np.ndarray:
    import torch

    from finetune.models.model import as_float

    engine = model.predictor.torch_engine
    batch = engine.batch([feature])
    with torch.inference_mode(), engine.accelerator.autocast():
        logits = engine.model.eval()(*batch.inputs())
        found = as_float(logits[WORDS] if isinstance(logits, dict) else logits)
    logits_of_reads: np.ndarray = found[0, : len(feature.reads or ())].cpu().numpy()
    return logits_of_reads


def _logits_of_export(model: ServedModel, feature: Feature) -> np.ndarray:
    """Those of the graph, of which its engine keeps less for the scores of a text."""
    engine: Any = model.predictor.engine
    (logits,) = replace(engine, reduce=lambda outputs, _: outputs[LOGITS]).logits([feature])
    found: np.ndarray = logits
    return found


def _chosen(tokenizer: Any, chances: np.ndarray, asked: MaskedText) -> list[int]:
    """The most probable tokens, of the targets where there are any, each of which is its first token."""
    if not asked.targets:
        return [int(token) for token in np.argsort(-chances, kind="stable")[: asked.top_k]]
    firsts = (tokenizer(target, add_special_tokens=False)["input_ids"][:1] for target in asked.targets)
    tokens = list(dict.fromkeys(token for first in firsts for token in first))
    return sorted(tokens, key=lambda token: -chances[token])[: asked.top_k]


def _word(tokenizer: Any, ids: list[int], place: int, token: int, chance: float) -> dict[str, Any]:
    filled = [*ids[:place], token, *ids[place + 1 :]]
    around = {*tokenizer.all_special_ids} - {tokenizer.mask_token_id, tokenizer.unk_token_id}
    text = tokenizer.decode([one for one in filled if one not in around])
    return {"score": float(chance), "token": token, "token_str": tokenizer.decode([token]), "sequence": text}
