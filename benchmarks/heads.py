"""What the heads of minilm look at, before training and after, and what a fine-tuned one loses without each of them.

python benchmarks/heads.py --out results/benchmarks/heads.json --seeds 42 43

Attention over TEXTS dev rows of each data set, as in Clark et al. (2019), section 3: of all tokens but the first and
the separators. What is finished is kept, so that the same command goes on. No sentence is written.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import equal_heads
import heads_off
import machine
import numpy as np
import torch
from dated import out_parser
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from finetune.data.source import source_of
from finetune.models.pretrained import resolve
from finetune.task_types.registry import find

TASKS = ("sst2", "mrpc")
TEXTS = 200  # rows of a task
FAR = 5  # from here on an equal token is not a neighbour
MEASURES = ("distance", "entropy", "first", "separator", "itself", "previous", "next", "same")


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What heads `(layers, heads)` do on some texts: means over tokens, and distances `(all heads, all heads)`."""

    measures: dict[str, np.ndarray]
    uniform: dict[str, float]
    apart: np.ndarray


def texts_of(name: str, most: int) -> list[tuple[str, ...]]:
    """Texts or pairs of the dev rows of a task."""
    rows: Any = find(name).load(source_of(None), "dev").rows[:most]
    return [(row.text,) if row.pair is None else (row.text, row.pair) for row in rows]


def looks(weights: np.ndarray, ids: np.ndarray, separator: int) -> dict[str, np.ndarray]:
    """Each measure `(layers, heads, tokens)` of weights `(layers, heads, tokens, tokens)`, of each token that looks.

    `same` is NaN for a token that is not at least FAR tokens away once more.
    """
    places = np.arange(len(ids))
    apart = np.abs(places[:, None] - places[None])
    again = (ids[:, None] == ids[None]) & (apart >= FAR)
    shares = {
        "first": np.broadcast_to(places == 0, apart.shape),
        "separator": np.broadcast_to(ids == separator, apart.shape),
        "itself": apart == 0,
        "previous": places[:, None] - places[None] == 1,
        "next": places[None] - places[:, None] == 1,
        "same": again,
    }
    found = {name: (weights * where).sum(-1) for name, where in shares.items()}
    found["same"] = np.where(again.any(-1), found["same"], np.nan)
    logs = np.log2(np.where(weights > 0, weights, 1))
    return {"distance": (weights * apart).sum(-1), "entropy": -(weights * logs).sum(-1), **found}


def divergence(weights: np.ndarray) -> np.ndarray:
    """The mean Jensen-Shannon divergence in bits of each two heads, of weights `(heads, tokens, all)`."""
    heads = len(weights)
    found = np.zeros((heads, heads))
    entropy = _entropy(weights)
    for one in range(heads):
        found[one] = (_entropy((weights[one] + weights) / 2) - (entropy[one] + entropy) / 2).mean(-1)
    return np.maximum(found, 0)


def _entropy(weights: np.ndarray) -> np.ndarray:
    found: np.ndarray = -(weights * np.log2(np.where(weights > 0, weights, 1))).sum(-1)
    return found


def looked(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[tuple[str, ...]]) -> Looked:
    """What the heads of an encoder look at in texts."""
    kept: dict[str, list[np.ndarray]] = {name: [] for name in MEASURES}
    uniform: dict[str, list[np.ndarray]] = {name: [] for name in MEASURES}
    apart = []
    for text in texts:
        inputs = tokenizer(*text, return_tensors="pt", truncation=True, max_length=128)
        with torch.inference_mode():
            weights = torch.cat(model(**inputs, output_attentions=True).attentions).numpy()
        ids = inputs["input_ids"][0].numpy()
        words = ~np.isin(ids, (tokenizer.cls_token_id, tokenizer.sep_token_id))
        for store, given in ((kept, weights), (uniform, np.full((1, 1, *weights.shape[2:]), 1 / len(ids)))):
            for name, values in looks(given, ids, tokenizer.sep_token_id).items():
                store[name].append(values[..., words])
        apart.append(divergence(weights.reshape(-1, *weights.shape[2:])[:, words]))
    return Looked(
        measures={name: np.nanmean(np.concatenate(values, -1), -1) for name, values in kept.items()},
        uniform={name: float(np.nanmean(np.concatenate(values, -1))) for name, values in uniform.items()},
        apart=np.mean(apart, 0),
    )


def encoder(folder: Path, *, trained: bool) -> PreTrainedModel:
    """minilm, or an encoder of its size whose weights were drawn as BERT's are."""
    model: PreTrainedModel = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    if not trained:
        torch.manual_seed(0)
        model = AutoModel.from_config(model.config, attn_implementation="eager")
    return model.eval()


def attention(texts: int) -> dict[str, Any]:
    """What heads look at, of minilm and of untrained weights, by task."""
    folder = resolve("minilm").folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found: dict[str, Any] = {"texts": texts}
    for kind in ("trained", "untrained"):
        model = encoder(folder, trained=kind == "trained")
        found[kind] = {name: _numbers(looked(model, tokenizer, texts_of(name, texts))) for name in TASKS}
    return found


def _numbers(one: Looked) -> dict[str, Any]:
    return {
        "measures": {name: np.round(values, 4).tolist() for name, values in one.measures.items()},
        "uniform": {name: round(value, 4) for name, value in one.uniform.items()},
        "apart": np.round(one.apart, 4).tolist(),
    }


def main() -> None:
    """Writes the file after each part."""
    parser = out_parser(__doc__)
    parser.add_argument("--work", type=Path, default=Path("build/heads"), help="where runs are kept")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43])
    parser.add_argument("--texts", type=int, default=TEXTS)
    given = parser.parse_args()
    done = json.loads(given.out.read_text()) if given.out.is_file() else {}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "attention": partial(attention, given.texts),
        "equal": equal_heads.measured,
    }
    for seed in given.seeds:
        parts |= {f"off-{name}-{seed}": partial(heads_off.measured, name, seed, given.work) for name in TASKS}
    for name, measure in parts.items():
        if name not in done:
            done |= {name: measure(), "machine": machine.facts()}
            given.out.write_text(json.dumps(done) + "\n")
            print(name, flush=True)


if __name__ == "__main__":
    main()
