"""What an encoder-decoder writes from a text: the beams of its search, and where its decoder looks.

Beam search keeps the most probable beginnings of a text (Sutskever et al. 2014, section 3.2): at each token each of
them is extended by every token of the vocabulary, and only the best of all these go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import EncoderDecoderModel, GenerationConfig, LogitsProcessor, LogitsProcessorList, PretrainedConfig

from finetune.commands.view.parts import Beam, WrittenText
from finetune.commands.view.recording import EAGER
from finetune.models.weight_files import from_pretrained

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FEWEST_BEAMS, MOST_BEAMS = 4, 8  # on a page, also where the run writes with one
MOST_WRITTEN = 24  # tokens


def load_pair(folder: Path, config: PretrainedConfig) -> tuple[EncoderDecoderModel, list[str]]:
    """An encoder-decoder whose attention returns its weights, and the names of the encoder's weights that it lacks."""
    model, info = from_pretrained(EncoderDecoderModel, folder, config=config)
    model.set_attn_implementation(EAGER)
    return model.eval(), sorted(name.removeprefix("encoder.") for name in info["missing_keys"])


@dataclass(frozen=True, kw_only=True)
class Recorder(LogitsProcessor):  # type: ignore[misc]
    """Keeps the beams of each step, ids `(beams, n)`, and the log-probabilities of their next tokens."""

    steps: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        self.steps.append((input_ids.clone(), scores.clone()))
        return scores


def written_text(
    model: EncoderDecoderModel, tokenizer: "PreTrainedTokenizerBase", inputs: dict[str, Tensor], tokens_of: Any
) -> WrittenText:
    """What a model writes from one source, and how it came to that; `tokens_of` makes tokens of ids."""
    recorder, how = Recorder(), search_settings(model)
    asked = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        found = model.generate(**asked, generation_config=how, logits_processor=LogitsProcessorList([recorder]))
        greedy = model.generate(**asked, generation_config=greedy_settings(how))[0]
        best = found.sequences[:1, : _length(found.sequences[0], how)]
        looked = model(**asked, decoder_input_ids=best[:, :-1], output_attentions=True, use_cache=False)
    ends = [tuple(row[: _length(row, how)].tolist()) for row in found.sequences]
    return WrittenText(
        target=tokens_of(best[0].tolist()),
        texts=[tokenizer.decode(row, skip_special_tokens=True) for row in ends],
        scores=found.sequences_scores.tolist(),
        greedy=tokenizer.decode(greedy, skip_special_tokens=True),
        beams=how.num_beams,
        length_penalty=float(how.length_penalty),
        steps=[
            [_shown(one, tokens_of, status) for one, status in step] for step in candidates(recorder.steps, ends, how)
        ],
        cross=torch.cat(looked.cross_attentions).mean(1).numpy(),
        causal=torch.cat(looked.decoder_attentions).mean(1).numpy(),
    )


def search_settings(model: EncoderDecoderModel) -> GenerationConfig:
    """The model's own settings, with enough beams to see some dropped, and a text that a page can hold."""
    own = model.generation_config
    how = GenerationConfig.from_dict(own.to_dict())
    how.num_beams = min(MOST_BEAMS, max(FEWEST_BEAMS, own.num_beams or 1))
    how.num_return_sequences = how.num_beams
    how.max_new_tokens = min(MOST_WRITTEN, own.max_new_tokens or MOST_WRITTEN)
    how.length_penalty = 1.0 if own.length_penalty is None else own.length_penalty
    how.early_stopping = False
    how.do_sample = False
    how.return_dict_in_generate = how.output_scores = True
    return how


def greedy_settings(how: GenerationConfig) -> GenerationConfig:
    """The same search with one beam: the most probable token each time."""
    return GenerationConfig(
        max_new_tokens=how.max_new_tokens,
        do_sample=False,
        decoder_start_token_id=how.decoder_start_token_id,
        eos_token_id=how.eos_token_id,
        pad_token_id=how.pad_token_id,
    )


def candidates(
    steps: Sequence[tuple[Tensor, Tensor]], ends: Sequence[tuple[int, ...]], how: GenerationConfig
) -> list[list[tuple[tuple[tuple[int, ...], float], str]]]:
    """For each step the best extensions of all beams with their log-probabilities, and what became of each.

    `kept` goes on, `finished` is one of the texts of the end, all others are `dropped`.
    """
    totals: dict[tuple[int, ...], float] = {tuple(steps[0][0][0].tolist()): 0.0}
    found = []
    for number, (beams, log_probabilities) in enumerate(steps):
        grown: dict[tuple[int, ...], float] = {}
        for beam, following in zip(beams.tolist(), log_probabilities, strict=True):
            best = following.topk(2 * how.num_beams)
            for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                grown[(*beam, token)] = totals[tuple(beam)] + value
        onward = {tuple(beam) for beam in steps[number + 1][0].tolist()} if number + 1 < len(steps) else set()
        ranked = sorted(grown.items(), key=lambda one: -one[1])[: 2 * how.num_beams]
        found.append([(one, _status(one[0], onward, ends)) for one in ranked])
        totals = grown
    return found


def _status(ids: tuple[int, ...], onward: set[tuple[int, ...]], ends: Sequence[tuple[int, ...]]) -> str:
    if ids in onward:
        return "kept"
    return "finished" if ids in ends else "dropped"


def _shown(one: tuple[tuple[int, ...], float], tokens_of: Any, status: str) -> Beam:
    ids, total = one
    *before, token = tokens_of(list(ids))
    return Beam(before=before[1:], token=token, log_probability=total, status=status)


def _length(ids: Tensor, how: GenerationConfig) -> int:
    """The tokens of a text with the one that begins it and the one that ends it, without padding."""
    ends = (ids[1:] == _end(how)).nonzero()
    return int(ends[0, 0]) + 2 if len(ends) else len(ids)


def _end(how: GenerationConfig) -> int:
    end = how.eos_token_id
    return end[0] if isinstance(end, list) else int(end)
