"""What becomes of every type of encoder: whether it is accepted and equals transformers, its lengths, LoRA and speed.

python benchmarks/encoder_types.py --out results/benchmarks/encoder_types.json

A type is built tiny and random, and goes through our own build and through transformers on the same weights, a row at a
time and without padding; `tests/contract/test_encoder_types.py` asserts what is recorded here.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
import transformers
from dated import out_parser, write_json
from tiny_encoders import TYPES, VOCABULARY, batch_of, save_random, tiny, tokenizer
from torch import Tensor
from transformers import CONFIG_MAPPING, AutoModel, PretrainedConfig

from finetune.errors import UserError
from finetune.models.backbone import attending
from finetune.models.batch import Batch
from finetune.models.building import build_model
from finetune.models.families import FAMILIES, most_tokens, require_encoder
from finetune.models.fast_paths import take_fast_paths
from finetune.models.head import EncoderWithHead, HeadFor
from finetune.models.lora import lora_targets
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.task_types.choice.head import ChoiceHead
from finetune.task_types.classification.head import LabelHead
from finetune.task_types.span.head import SpanHead
from finetune.task_types.tagging.head import TaggingHead

ABOUT = "Every type of encoder in transformers' mapping of masked language models, tiny and random, through our build"
CPU = torch.device("cpu")
PADDINGS = (0, 1)  # ids of the padding token
TEXTS, UPDATES = 32, 20  # of a batch that is timed; the fastest counts, since other processes may run
LENGTHS, COUNTS = (9, 5, 7), (2, 1)  # tokens of the sequences; of choices, how many a row has
HEADS: dict[str, HeadFor] = {
    "pooled": lambda backbone: LabelHead(backbone, ("no", "yes")),
    "several labels": lambda backbone: LabelHead(backbone, ("a", "b", "c"), kind="flags"),
    "choices": ChoiceHead,
    "sequence": lambda backbone: TaggingHead(backbone, ("O", "B", "I")),
    "spans": SpanHead,
}


@dataclass(kw_only=True)
class Found:
    """What became of a type: why it is refused, or what was measured of it.

    `differences` are from transformers, by head; `reloaded` and `lora` from what is saved, with LoRA merged; `lost` are
    trained weights without a gradient, `unread` the weights that no head reads.
    """

    refused: str = ""
    own_class: bool = False
    longest: int = 0
    padded_up_to: int | None = None
    differences: dict[str, float] = field(default_factory=dict)
    reloaded: dict[str, float] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    lora_targets: list[str] = field(default_factory=list)
    lora: float = 0.0
    no_lora: str = ""
    bf16: str = ""


def found_of(kind: str, folder: Path, *, padding: int) -> Found:
    """Builds a type in a folder and measures it."""
    return found_of_config(tiny(kind, padding=padding), folder)


def found_of_config(config: PretrainedConfig, folder: Path) -> Found:
    """Builds an encoder of this config in a folder and measures it."""
    try:
        require_encoder(config)
        save_random(config, folder)
        build(folder, "pooled")
    except UserError as error:
        return Found(refused=error.what)
    found = Found(own_class=config.model_type in FAMILIES)
    for name in HEADS:
        _compare(found, name, folder, config)
    _try_lora(found, folder, config)
    _try_bf16(found, folder, config)
    return found


def build(folder: Path, head: str, *, precision: str = "fp32", **settings: Any) -> EncoderWithHead:
    """Our model of an encoder without dropout, and with a head that is not small, so that differences show."""
    recipe = Recipe(task="any", train=Train(precision=precision, dropout=0.0), **settings)  # type: ignore[arg-type]
    model = build_model(folder, HEADS[head], recipe, device=CPU)[0].eval()
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def _compare(found: Found, name: str, folder: Path, config: PretrainedConfig) -> None:
    """Logits of a head here and in transformers, saved and loaded; gradients; and the longest text."""
    model, batch = build(folder, name), a_batch(name, config)
    save_checkpoint(model, folder / name, tokenizer(), {})
    again = load_trained(folder / name, HEADS[name]).eval()
    found.longest = most_tokens(model.backbone.encoder)
    found.padded_up_to = model.backbone.padded_up_to
    long = batch_of(config, [found.longest, 5], counts=[2] if name == "choices" else None)
    take_fast_paths(again, device=CPU, precision="fp32")
    with torch.no_grad():
        found.reloaded[name] = apart(logits_of_rows(again, batch), logits_of_rows(model, batch))
        found.differences[name] = max(
            apart(logits_of_rows(model, each), reference(model, folder, folder / name, each)) for each in (batch, long)
        )
    sum(logits.square().sum() for logits in logits_of_rows(model, batch)).backward()  # type: ignore[union-attr]
    encoder = dict(model.backbone.encoder.named_parameters())
    found.lost += [f"{name}: {each}" for each, p in model.named_parameters() if p.requires_grad and p.grad is None]
    unread = {each for each, parameter in encoder.items() if not parameter.requires_grad}
    found.unread = sorted(unread & set(found.unread) if len(found.differences) > 1 else unread)


def a_batch(head: str, config: PretrainedConfig) -> Batch:
    """A batch of texts of several lengths for a head."""
    return batch_of(config, LENGTHS, counts=COUNTS if head == "choices" else None)


def logits_of_rows(model: EncoderWithHead, batch: Batch) -> list[Tensor]:
    """The logits of each sequence, without padding."""
    logits: Tensor = model(*batch.inputs())
    if batch.choices is not None:
        logits = torch.cat(
            [row[:count] for row, count in zip(logits, (batch.choices >= 0).sum(1).tolist(), strict=True)]
        ).unsqueeze(1)
    if model.pooled:
        return list(logits)
    return [row[:length] for row, length in zip(logits, batch.attention_mask.sum(1).tolist(), strict=True)]


def reference(model: EncoderWithHead, folder: Path, saved: Path, batch: Batch) -> list[Tensor]:
    """The same by transformers, a sequence at a time: by the class that we save, else by our head on its encoder."""
    own = (saved / "model.safetensors").is_file()
    kind = getattr(transformers, model.head.auto_class) if own else AutoModel
    theirs = kind.from_pretrained(saved if own else folder, dtype=torch.float32).eval()
    rows = [one_row(batch, row) for row in range(len(batch.attention_mask))]
    if (tokens := model.backbone.attends_to_all) != "none":  # random tokens are not separated as theirs must be
        for inputs in rows:
            inputs["global_attention_mask"] = attending(tokens, inputs["input_ids"], sep=theirs.config.sep_token_id)
    if not own:
        return [_through_head(model, theirs(**inputs)) for inputs in rows]
    if batch.choices is not None:
        rows = [{name: tensor.unsqueeze(1) for name, tensor in inputs.items()} for inputs in rows]
    return [_logits(theirs(**inputs)) for inputs in rows]


def one_row(batch: Batch, row: int) -> dict[str, Tensor]:
    """The inputs of one sequence without padding."""
    given = {name: tensor for name, tensor in batch.for_encoder().items() if tensor is not None}
    return {name: tensor[row : row + 1, : int(batch.attention_mask[row].sum())] for name, tensor in given.items()}


def _through_head(model: EncoderWithHead, output: Any) -> Tensor:
    states = output.last_hidden_state
    read = (output.pooler_output if model.head.uses_pooler else states[:, 0]) if model.pooled else states
    logits: Tensor = model.head(read, torch.ones(states.shape[:2], dtype=torch.long))
    return logits[0]


def _logits(output: Any) -> Tensor:
    if "start_logits" in output:
        return torch.stack([output.start_logits, output.end_logits], -1)[0]
    return output.logits[0]  # type: ignore[no-any-return]


def apart(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference, as a share of the largest number or of 1."""
    size = max(1.0, max(float(each.detach().abs().max()) for each in expected))
    return max(float((a - b).detach().abs().max()) for a, b in zip(found, expected, strict=True)) / size


def _try_lora(found: Found, folder: Path, config: PretrainedConfig) -> None:
    """LoRA with weights as after training: every one has a gradient, and merged it gives the same logits."""
    try:
        model = build(folder, "pooled", lora=2)
    except UserError as error:
        found.no_lora = error.what
        return
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora_B." in name:
                parameter.normal_(std=0.1)
    logits = logits_of_rows(model, batch := a_batch("pooled", config))
    sum(each.square().sum() for each in logits).backward()  # type: ignore[union-attr]
    found.lost += [f"LoRA: {name}" for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    save_checkpoint(model, folder / "lora", tokenizer(), {})
    again = load_trained(folder / "lora", HEADS["pooled"]).eval()
    take_fast_paths(again, device=CPU, precision="fp32")
    found.lora = apart(logits_of_rows(again, batch), logits)
    plain = build(folder, "pooled")
    targets = lora_targets(plain.backbone.encoder, Recipe(task="any", lora=2))
    found.lora_targets = list(dict.fromkeys(target.rpartition(".")[2] for target in targets))


def _try_bf16(found: Found, folder: Path, config: PretrainedConfig) -> None:
    """An update in half precision."""
    try:
        model = build(folder, "pooled", precision="bf16").train()
    except UserError as error:
        found.bf16 = error.what
        return
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(*a_batch("pooled", config).inputs()).float().square().sum()
    loss.backward()
    if not loss.isfinite():
        found.bf16 = "its logits are not numbers"


def examples_per_second(folder: Path, config: PretrainedConfig) -> float:
    """Texts of several lengths in a second of training without the optimizer, in the fastest of some updates."""
    model = build(folder, "pooled").train()
    batch = batch_of(config, [5 + length % 28 for length in range(0, 7 * TEXTS, 7)])
    seconds = list[float]()
    for _ in range(UPDATES):
        started = time.process_time()  # of this thread alone, whatever else runs
        model(*batch.inputs()).square().sum().backward()
        seconds.append(time.process_time() - started)
    return TEXTS / min(seconds)


def longest_by_default(kind: str) -> int:
    """The longest text of an encoder with transformers' default config of a type."""
    config = CONFIG_MAPPING[kind]()
    for name, value in (("vocab_size", VOCABULARY), ("pad_token_id", 1), ("architectures", [])):  # what files have
        if getattr(config, name, None) is None:
            setattr(config, name, value)
    with torch.device("meta"):
        return most_tokens(AutoModel.from_config(config))


def record_of(kind: str) -> dict[str, Any]:
    """What became of a type with each padding id; the largest differences of both."""
    both, speed = list[Found](), 0.0
    for padding in PADDINGS:
        with TemporaryDirectory() as folder:
            both.append(found_of(kind, Path(folder), padding=padding))
            if not both[0].refused:
                speed = examples_per_second(Path(folder), tiny(kind, padding=padding))
    for one, other in pairwise(both):
        if (one.refused, one.lora_targets, one.bf16) != (other.refused, other.lora_targets, other.bf16):
            raise ValueError(f"{kind}: differs with the id of the padding token: {one}, {other}")
    if both[0].refused:
        return {"refused": both[0].refused}
    return asdict(both[-1]) | {
        "differences": _largest([each.differences for each in both]),
        "reloaded": _largest([each.reloaded for each in both]),
        "longest": longest_by_default(kind),
        "unread": sorted({_part(name) for name in both[-1].unread}),
        "examples_per_second": float(f"{speed:.3g}"),
    }


def _largest(several: list[dict[str, float]]) -> Mapping[str, float]:
    return {name: float(f"{max(each[name] for each in several):.2g}") for name in several[0]}


def _part(name: str) -> str:
    """A weight's part of an encoder: its name without what all encoders have."""
    return next(part for part in name.split(".") if not re.fullmatch(r"encoder|layer|\d+|attention|self", part))


def main() -> None:
    """Measures every type and writes the record."""
    parser = out_parser(__doc__)
    parser.add_argument("--only", nargs="+", default=TYPES, help="types, to try the script")
    given = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    measured = {kind: record_of(kind) for kind in given.only}
    record = {"about": ABOUT, **machine.facts(), "types": measured}
    write_json(given.out, record)


if __name__ == "__main__":
    main()
