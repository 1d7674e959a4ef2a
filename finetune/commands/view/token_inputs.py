"""What each token is before the first layer: its word, its id, and the vectors that are added for it.

BERT adds the embeddings of token, segment and position (Devlin et al. 2019, figure 2); other families add fewer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from finetune.commands.view.parts import TokenInputs
from finetune.models.families import POSITIONS, positions_before

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ADDED: tuple[str, ...] = ("token", "segment", "position")
SEGMENTS = ("token_type_embeddings",)
CLOSE = 1e-4  # of the largest number: what a sum is computed to


def token_inputs(
    model: PreTrainedModel, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], inputs: dict[str, Any]
) -> TokenInputs:
    """The words and the added vectors of a text or a pair, whose tensors are `inputs`."""
    ids = inputs["input_ids"][0]
    with looked_up(model) as found, torch.inference_mode():
        given = model(**inputs, output_hidden_states=True).hidden_states[0][0, : len(ids)]
    parts = added(found, len(ids), given)
    rows = found.get("position", (None, None))[0] if "position" in parts else None
    before = positions_before(embedding_table(model, POSITIONS))
    numbers, words = words_of_tokens(tokenizer, texts)
    return TokenInputs(
        ids=ids.tolist(),
        numbers=numbers,
        words=words,
        unknown=[number == tokenizer.unk_token_id for number in ids.tolist()],
        positions=None if rows is None else (rows.flatten()[: len(ids)] - before).tolist(),
        parts=list(parts),
        vectors=torch.stack(list(parts.values())).numpy() if parts else given.new_zeros(0, len(ids), 1).numpy(),
        given=given.numpy(),
    )


def words_of_tokens(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """For each token the number of its word, from 0 and -1 for a token of the model's own; and the words."""
    encoded = tokenizer(*texts, verbose=False)
    places: dict[tuple[int, int], list[int]] = {}
    for token, (text, word) in enumerate(zip(encoded.sequence_ids(), encoded.word_ids(), strict=True)):
        if text is not None and word is not None:
            places.setdefault((text, word), []).append(token)
    numbers, words = [-1] * len(encoded["input_ids"]), []
    for number, ((text, _), tokens) in enumerate(places.items()):
        spans = [span for token in tokens if (span := encoded.token_to_chars(token)) is not None]
        start, end = min((span.start for span in spans), default=0), max((span.end for span in spans), default=0)
        words.append(texts[text][start:end].strip())
        for token in tokens:
            numbers[token] = number
    return numbers, words


@contextmanager
def looked_up(model: PreTrainedModel) -> Iterator[dict[str, tuple[Any, Tensor]]]:
    """Within it, a forward pass of one sequence writes down, by name, which rows of a table were asked for and what
    it gave; and as `sum` what the first LayerNorm gets.
    """
    found: dict[str, tuple[Any, Tensor]] = {}

    def keep(name: str) -> Any:
        def hook(_module: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
            found.setdefault(name, (given[0], output if output.ndim == 2 else output[0]))

        return hook

    def norm(_module: nn.Module, given: tuple[Any, ...], _output: Tensor) -> None:
        found.setdefault("sum", (None, given[0][0]))

    tables = {"token": model.get_input_embeddings(), "segment": embedding_table(model, SEGMENTS),
              "position": embedding_table(model, POSITIONS)}  # fmt: skip
    hooks = [table.register_forward_hook(keep(name)) for name, table in tables.items() if table is not None]
    hooks += [part.register_forward_hook(norm) for part in model.modules() if type(part).__name__.endswith("Norm")]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def added(found: dict[str, tuple[Any, Tensor]], tokens: int, given: Tensor) -> dict[str, Tensor]:
    """Those of the vectors `(tokens, width)` of each table whose sum is what the encoder reads; none if none is."""
    vectors: dict[str, Tensor] = {name: found[name][1][:tokens] for name in ADDED if name in found}
    sums = [given, *(one[:tokens] for _, one in [found["sum"]] if one.ndim == 2)] if "sum" in found else [given]
    for count in range(len(vectors), 0, -1):
        for names in combinations(vectors, count):
            parts = {name: vectors[name].expand(tokens, -1) for name in names}
            total = torch.stack(list(parts.values())).sum(0)
            if any(_is_close(total, one) for one in sums):
                return parts
    return {}


def _is_close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and float((one - other).abs().max()) <= CLOSE * float(other.abs().max())


def embedding_table(model: PreTrainedModel, names: Sequence[str]) -> nn.Embedding | None:
    """The first table of this name outside the layers."""
    for name, part in model.named_modules():
        if name.rpartition(".")[2] in names and isinstance(part, nn.Embedding):
            return part
    return None
