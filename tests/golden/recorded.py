"""What a finished run says, as plain data; and its comparison with what is kept.

Only this file knows how results lie on disk: when that changes, change it here, and what is kept stays.
"""

import hashlib
import json
import math
import platform
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from safetensors.torch import load_file

from finetune.gone import without_defaults
from finetune.models.model_folder import OWN

# What differs each time that the same command is typed, or with the machine; and sums over files of the folder.
VOLATILE = (
    "finished", "versions", "git_commit", "device", "seconds", "examples_per_second", "peak_memory_bytes", "cost",
    "rows_per_second", "files", "checksum",
)  # fmt: skip
SHOWN = ("id", "label", "prediction", "probabilities", "score", "no_answer")  # of a row; the hash is over everything
ADDED = ("confidence", "right", "row_score")  # columns that follow from the others, which were not kept
DIGITS = 6  # of probabilities and losses that are kept

# How far a number may be from the kept one on another machine, as it is or as a share of it. With torch's code for
# processors without vectors (ATEN_CPU_CAPABILITY=default), and with MKL's that is alike on all (MKL_CBWR=COMPATIBLE),
# no number of these runs was further off than 0.00002; this leaves fifty times as much for other processors.
NEAR = 0.001
Same = Callable[[str, Any, Any], bool]
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NO_LONGER_NOTED = "too few to tell a good model from a bad one by"
LINE, LONGEST = 120, 100  # characters of a line of kept JSON, and of a value of a difference


def runs_in(folder: Path) -> list[Path]:
    """The folders of finished runs, in the order in which they were finished."""
    records = folder.glob("results/*/*/record.json")
    return [file.parent for file in sorted(records, key=lambda file: file.stat().st_mtime_ns)]


def plain(run: Path) -> dict[str, Any]:
    """A finished run as plain data."""
    text = (run / "record.json").read_text(encoding="utf-8")
    record = json.loads(text, object_hook=lambda table: {k: v for k, v in table.items() if k not in VOLATILE})
    splits = sorted(run.glob("predictions-*.parquet"))
    others = [file for file in sorted(run.glob("*.json")) if file.name != "record.json"]
    return {
        "record": record,
        "losses": losses(run / "events.jsonl"),
        "weights": weights(run / "model"),
        "predictions": {file.stem.removeprefix("predictions-"): predictions(file) for file in splits},
        "sha256": {file.name: sha256(json.loads(file.read_text(encoding="utf-8"))) for file in others},
    }


def losses(events: Path) -> list[float]:
    """The loss of each update."""
    lines = map(json.loads, events.read_text(encoding="utf-8").splitlines())
    return rounded([loss for line in lines if line["event"] == "updates" for loss in line["losses"]])


def weights(model: Path) -> dict[str, Any]:
    """The saved weights: how many, their sum and norm, and a hash of their bits."""
    tensors = {name: tensor for name, tensor in load_file(model / "model.safetensors").items() if tensor.numel()}
    named = not any(name.startswith(OWN) for name in tensors)  # then all names are those of transformers
    parts = [f"{name if named else ''} {list(tensor.shape)} {bits(tensor)}" for name, tensor in tensors.items()]
    every = torch.cat([tensor.double().flatten() for tensor in tensors.values()])
    return {
        "tensors": len(tensors),
        "numbers": len(every),
        "sum": round(every.sum().item(), DIGITS),
        "norm": round(every.norm().item(), DIGITS),
        "sha256": sha256(sorted(parts)),
    }


def predictions(file: Path) -> dict[str, Any]:
    """Every row of a split with its label, prediction and probabilities, and a hash of all that is said of the rows."""
    table = pq.read_table(file)
    rows = table.drop_columns([name for name in ADDED if name in table.column_names]).to_pylist()
    rows = [{"label": row.pop("gold"), **row} for row in rows]
    shown = [{key: row[key] for key in SHOWN if row.get(key) is not None} for row in rows]
    return {"rows": rounded(shown), "sha256": sha256(rows)}


def rounded(value: Any) -> Any:
    """The same with fewer digits."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


def bits(values: torch.Tensor) -> str:
    return hashlib.sha256(values.detach().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


def sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def machine() -> dict[str, str]:
    """What decides the bits of a result: torch, the processor's abilities, and the bits of a few computations."""
    cpu = Path("/proc/cpuinfo")
    found = re.search(r"^flags\s*:(.*)$", cpu.read_text(), re.MULTILINE) if cpu.is_file() else None
    flags = " ".join(sorted(found[1].split())) if found else platform.processor()
    return {"torch": torch.__version__, "processor": sha256(flags), "arithmetic": arithmetic()}


def arithmetic() -> str:
    """A hash of the bits of products, gelu, layer norm, softmax and steps of Adam, at the sizes of the golden runs."""
    draw = torch.Generator().manual_seed(0)
    found = []
    for width in (64, 384):
        states = torch.randn(8 * 32, width, generator=draw)
        layer = torch.nn.Parameter(torch.randn(width, width, generator=draw) / width**0.5)
        steps = torch.optim.AdamW([layer], lr=1e-3)
        for _ in range(2):
            mixed = torch.nn.functional.layer_norm(torch.nn.functional.gelu(states @ layer), (width,))
            heads = mixed.view(8, 32, 2, -1).transpose(1, 2)
            read = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
            loss = -(read.flatten(1).log_softmax(-1)[:, 0]).mean()
            loss.backward()
            steps.step()
        found += [bits(layer), bits(read), sha256(np.dot(states.numpy(), states.numpy().T).tolist())]
    return sha256(found)


def differences(kept: Sequence[Any], found: Sequence[Any], *, exact: bool) -> list[str]:
    """Where runs differ from the kept ones, a line each: in any bit, or by more than other machines may."""
    kept = [_without_what_went(run) for run in kept]
    if exact:
        return list(_differing("", kept, found, _equal))
    one, other = _on_any_machine(kept), _on_any_machine(found)
    for mine, yours in zip(one, other, strict=False):
        _forgive(mine, yours)
    return list(_differing("", one, other, _near))


def _without_what_went(run: dict[str, Any]) -> dict[str, Any]:
    """A kept run without settings that are gone and nobody had set, and without the note that is no longer made."""
    record = run["record"]
    notes = [note for note in record["notes"] if NO_LONGER_NOTED not in note]
    return {**run, "record": {**record, "recipe": without_defaults(record["recipe"]), "notes": notes}}


def _on_any_machine(runs: Sequence[Any]) -> list[Any]:
    """Without hashes of computed bits, also where these are part of an id: it becomes the place of its run. Of epochs
    the losses are left, since a row between two labels moves their scores without a trace in the predictions.
    """
    text = json.dumps(runs)
    for place, run in enumerate(runs):
        text = text.replace(run["record"]["id"], f"run {place}")
    hashes = ("sha256", "sketch", "difference_sketch")
    found: list[Any] = json.loads(text, object_hook=lambda table: {k: v for k, v in table.items() if k not in hashes})
    for record in (run["record"] for run in found):
        record["epochs"] = [{name: epoch[name] for name in epoch if "loss" in name} for epoch in record["epochs"]]
        if record["lineage"]:  # its encoder was computed here
            del record["weights"]
    return found


def _forgive(kept: dict[str, Any], found: dict[str, Any]) -> None:
    """Where a row's two best labels are as likely, either may be predicted: then its split has no scores to compare."""
    for split, one in kept["predictions"].items():
        for row, other in zip(one["rows"], found["predictions"].get(split, one)["rows"], strict=False):
            best = sorted(row.get("probabilities", []))[-2:] if isinstance(row["prediction"], str | int) else []
            if row["prediction"] != other["prediction"] and len(best) == 2 and best[1] - best[0] < 2 * NEAR:
                other["prediction"] = row["prediction"]
                for record in (kept["record"], found["record"]):
                    record["scores"].pop(split, None), record["margins"].pop(split, None)


def _equal(path: str, kept: Any, found: Any) -> bool:
    """Whether two values are equal, or for notes say the same numbers: how they are worded is not kept."""
    if "/notes/" in path:
        return NUMBER.findall(kept) == NUMBER.findall(found)
    return bool(kept == found or (kept != kept and found != found))  # both not a number


def _near(path: str, kept: Any, found: Any) -> bool:
    """Whether two numbers may be from different machines; all else must be equal, but for numbers in notes."""
    if not (isinstance(kept, float) and isinstance(found, float)):
        return "/notes/" in path or _equal(path, kept, found)
    return math.isclose(kept, found, rel_tol=NEAR, abs_tol=NEAR)


def _differing(path: str, kept: Any, found: Any, same: Same) -> Iterator[str]:
    """Each value that is not the `same`, with its path."""
    if isinstance(kept, dict) and isinstance(found, dict):
        for key in [*kept, *(key for key in found if key not in kept)]:
            if key in kept and key in found:
                yield from _differing(f"{path}/{key}", kept[key], found[key], same)
            else:
                yield f"{path}/{key}: {'is new' if key in found else 'is missing'}"
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for place, (one, other) in enumerate(zip(kept, found, strict=True)):
            name = f" ({one['id']})" if isinstance(one, dict) and "id" in one else ""
            yield from _differing(f"{path}/{place}{name}", one, other, same)
    elif isinstance(kept, list) and isinstance(found, list):
        yield f"{path}: kept {len(kept)}, found {len(found)}"
    elif not same(path, kept, found):
        yield f"{path}: kept {short(kept)}, found {short(found)}"


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def as_text(value: Any, indent: str = "") -> str:
    """JSON whose short parts are a line each."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent + line) <= LINE or not isinstance(value, list | dict) or not value:
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {as_text(each, inner)}" for key, each in value.items()]
    else:
        parts = [as_text(each, inner) for each in value]
    if isinstance(value, list) and all(isinstance(each, float) for each in value):
        lines = textwrap.fill(line[1:-1], LINE, initial_indent=inner, subsequent_indent=inner)
        return f"[\n{lines}\n{indent}]"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}{closing}"
