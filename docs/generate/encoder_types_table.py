"""The tables of docs/how-to/encoders.md and its Korean page, from results/benchmarks/encoder_types.json."""

from collections.abc import Sequence
from typing import Any

from finetune.analysis.form import Cells, markdown_table

HEAD = ("type", "first-class", "differs by", "longest text", "LoRA adapts", "bf16", "examples/s", "note")
HEAD_KO = ("유형", "일급", "차이", "가장 긴 텍스트", "LoRA를 더하는 층", "bf16", "샘플/초", "참고")
LENGTHS, LENGTHS_KO = "reads padding: each length alone", "패딩도 읽으므로 길이가 같은 텍스트끼리만 인코딩"
LONG, LONG_KO = "long texts: each length alone", "긴 텍스트는 길이가 같은 것끼리만 인코딩"
UNREAD, UNREAD_KO = "not read: ", "읽지 않는 가중치: "


def encoder_types_table(measured: dict[str, Any]) -> str:
    """What is true of each accepted type, then why the others are refused."""
    refused = {kind: found["refused"] for kind, found in measured["types"].items() if found["refused"]}
    reasons: list[Cells] = [[f"`{kind}`", _reason(what)] for kind, what in refused.items()]
    accepted = [found for found in measured["types"].values() if not found["refused"]]
    versions, machine = measured["versions"], measured["cpu"]["name"]
    notes = [
        f"{len(accepted)} types, each tiny and random. First-class: saved as an ordinary transformers model.",
        "Differs by: how far logits of texts, several labels, choices, words and spans, with padding id 0 and 1, are "
        f"from those of transformers {versions['transformers']}, a row at a time, as a share of the largest.",
        "Longest text: in tokens, with transformers' default config.",
        "Examples/s: of training 2 layers of width 32 on a core, which shows the cost of the type's code "
        f"({machine}, {measured['date'][:10]}).",
    ]
    table = _table(measured, HEAD, (LENGTHS, LONG, UNREAD))
    return "\n\n".join([table, " ".join(notes), "Refused:", markdown_table(["type", "why"], reasons)])


def encoder_types_table_ko(measured: dict[str, Any]) -> str:
    """The same in Korean, with the names of those that are refused."""
    refused = ", ".join(f"`{kind}`" for kind, found in measured["types"].items() if found["refused"])
    return f"{_table(measured, HEAD_KO, (LENGTHS_KO, LONG_KO, UNREAD_KO))}\n\n거부하는 유형: {refused}"


def _table(measured: dict[str, Any], head: Sequence[str], words: tuple[str, str, str]) -> str:
    """A line for each accepted type, those that are first-class at the top."""
    types = [(kind, found) for kind, found in measured["types"].items() if not found["refused"]]
    lines = list[Cells]()
    for kind, found in sorted(types, key=lambda each: not each[1]["own_class"]):
        above, (lengths, long, unread) = found["padded_up_to"], words
        notes = [] if above is None else [long if above else lengths]
        notes += [unread + ", ".join(f"`{part}`" for part in found["unread"])] if found["unread"] else []
        layers = ", ".join(f"`{name}`" for name in found["lora_targets"])
        cells: Cells = [
            f"`{kind}`",
            "✓" if found["own_class"] else "",
            f"{max(found['differences'].values()):.0e}",
            f"{found['longest']:,}",
            layers or "–",
            "–" if found["bf16"] else "✓",
            f"{found['examples_per_second']:,.0f}",
            "; ".join(notes),
        ]
        lines.append(cells)
    return markdown_table(list(head), lines)


def _reason(what: str) -> str:
    """A refusal without the words that all have."""
    return what.partition("are not supported: ")[2] or what.partition("cannot be used: ")[2]
