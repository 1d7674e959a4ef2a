"""Damaged folders of encoders and of finished models, through everything that loads them."""

import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from finetune.errors import UserError
from finetune.inference.predictor import load_predictor
from finetune.models.building import build_model
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer
from finetune.runs.recipe import Recipe
from support.fuzzing import LONGEST, Fuzzed, damaged
from support.toys import cat_task
from support.training import CPU

CHECKSUMS = "checksums.json"
MEMORY = 2 << 30  # bytes of resident memory that all of them may add
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 3, 17, 10**6, 10**12, 10**40, 0.5, -0.5, float("nan"), float("inf"), "", "x", "evil/x:y"),
    *("../../x", "/dev/zero", "x" * 100_000, "\x1b[31m", [], [1], ["x"], {}, {"x": 1}, {"0": "a", "1": "a"}, [[[]]]),
)


def fuzz_model_folders(count: int, seed: int, *, folder: Path, encoder: Path, model: Path) -> Fuzzed:
    """Damages `count` copies of an encoder's folder and of a finished model's in an empty folder.

    Without checksums a changed value of a config may get through; changed weights may too, and are `undetected`.
    """
    random, fuzzed = Random(seed), Fuzzed(longest=LONGEST)
    with fuzzed.within(MEMORY):
        for number in range(count):
            finished = random.random() < 0.5
            copy = shutil.copytree(model if finished else encoder, folder / str(number))
            if random.random() < 0.8:
                (copy / CHECKSUMS).unlink(missing_ok=True)
            before = _weights(copy)
            for _ in range(random.choice((1, 1, 2))):
                _damage(copy, random, fuzzed)
            if (
                fuzzed.add(str(copy), partial(_use_model if finished else _use_encoder, copy))
                and _weights(copy) != before
            ):
                assert not (copy / CHECKSUMS).is_file()
                fuzzed.accepted -= 1
                fuzzed.undetected += 1
            shutil.rmtree(copy)
    assert fuzzed.faults == []
    return fuzzed


def _use_encoder(folder: Path) -> None:
    """Everything that loads an encoder, the tokenizer too where the one before it was refused."""
    refused = []
    for use in (
        lambda: resolve(str(folder)),
        lambda: load_fast_tokenizer(folder),
        lambda: load_tokenizer(folder),
        lambda: build_model(folder, cat_task().head, Recipe(task="any", seed=0), device=CPU),
    ):
        try:
            use()
        except UserError as error:
            assert "\n" not in str(error), error
            refused.append(error)
    if refused:
        raise refused[0]


def _use_model(folder: Path) -> None:
    load_predictor(folder, device="cpu")("the cat sat")


def _weights(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(folder.glob("*.safetensors"))]


def _damage(folder: Path, random: Random, fuzzed: Fuzzed) -> None:
    """Changes a value of a JSON file, damages a file, removes one, or puts one in another's place."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    tables = [file for file in files if file.suffix == ".json" and file.stat().st_size < 1 << 20]
    kind = random.choice(("value", "value", "value", "damage", "damage", "remove", "swap", "file"))
    fuzzed.kinds[kind] += 1
    file = random.choice(files)
    if kind == "value" and tables:
        _change_value(random.choice(tables), random)
    elif kind == "damage":
        file.write_bytes(damaged(file.read_bytes(), random, fuzzed))
    elif kind == "remove":
        file.unlink()
    elif kind == "swap":
        shutil.copyfile(random.choice(files), folder / "swapped")
        (folder / "swapped").replace(file)
    elif kind == "file":
        name = random.choice(
            ("tokenizer.json", "added_tokens.json", "special_tokens_map.json", "model.safetensors.index.json")
        )
        (folder / name).write_text(json.dumps(random.choice(ODD)))


def _change_value(file: Path, random: Random) -> None:
    """Sets one value of a JSON file, at any depth, to an odd one, or leaves it out."""
    try:
        table = json.loads(file.read_text())
    except (ValueError, RecursionError):  # damaged before
        return
    place, depth = table, 0
    while isinstance(place, Mapping | list) and place:
        key: Any = random.choice(list(place) if isinstance(place, Mapping) else range(len(place)))
        inner = place[key]
        if (depth >= 1 and random.random() < 0.5) or not isinstance(inner, Mapping | list) or not inner:
            if random.random() < 0.1:
                del place[key]  # type: ignore[attr-defined]
            else:
                place[key] = random.choice(ODD)  # type: ignore[index]
            break
        place, depth = inner, depth + 1
    file.write_text(json.dumps(table))
