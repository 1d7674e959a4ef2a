"""The tables of techniques of training: settings compared, in English and Korean, and warm-up against divergence."""

import statistics
from typing import Any

from finetune.analysis.form import Cells, markdown_table

KOREAN = {
    "AdamW, linear": "AdamW, 선형",
    "RAdam, no warm-up": "RAdam, 워밍업 없음",
}
GONE = ("SGD with momentum", "slanted triangular", "gradual unfreezing", "the three of ULMFiT")  # that were measured


def techniques_table(measured: dict[str, Any]) -> str:
    """A line for each method: mean and standard deviation of its score over seeds."""
    head = ["method", "score on dev", "seeds", "training"]
    note = (
        "{task}, {limit:,} rows of each split, {model}; {cpu}, {date}; the machine had other work, so that the seconds "
        "are worth little."
    )
    return _table(measured, head, "{:,.0f} s", note, {})


def techniques_table_ko(measured: dict[str, Any]) -> str:
    """The same in Korean."""
    note = "{task}, 스플릿마다 {limit:,}행, {model}; {cpu}, {date}. 다른 작업과 함께 쟀으므로 시간은 참고만 하세요."
    return _table(measured, ["방법", "dev 점수", "시드", "학습"], "{:,.0f}초", note, KOREAN)


def _table(measured: dict[str, Any], head: list[str], seconds: str, note: str, names: dict[str, str]) -> str:
    settings, parts = measured["settings"], list[str]()
    for task, methods in measured["summary"].items():
        lines = list[Cells]()
        for method, found in methods.items():
            if method in GONE:
                continue
            spread = "" if found["score_sd"] is None else f" ± {100 * found['score_sd']:.1f}"
            score = f"{found['headline']} {100 * found['score']:.1f}{spread}"
            lines.append([names.get(method, method), score, str(found["seeds"]), seconds.format(found["seconds"])])
        limit = settings["limit"] or settings["tasks"][task]["limit"]
        facts = {"task": task, "limit": limit, "model": "minilm", "cpu": measured["cpu"]["name"]}
        parts += [markdown_table(head, lines), note.format(**facts, date=measured["date"][:10])]
    return "\n\n".join(parts)


NORMS = {"post": "post-norm (BERT)", "pre": "pre-norm (`-prenorm`)"}
NEAR = 0.1  # nats; a loss so near to that of the frequencies, or above it, is of a run that learned nothing else


def warmup_table(measured: dict[str, Any]) -> str:
    """A line for each norm and warm-up, a column for each learning rate, and how it was measured."""
    settings, runs = measured["settings"], measured["runs"]
    rates = settings["learning_rates"]
    lines: list[Cells] = []
    for norm in settings["norms"]:
        for warmup in settings["warmups"]:
            chosen = [run for run in runs if (run["norm"], run["warmup"]) == (norm, warmup)]
            cells = [_cell([run for run in chosen if run["learning_rate"] == rate], measured) for rate in rates]
            lines.append([NORMS[norm], f"{warmup:.0%}".replace("%", " %") if warmup else "none", *cells])
    made = (
        f"Loss of a masked token in nats, mean of {len(settings['seeds'])} seeds (lowest to highest), in the last of "
        f"{settings['updates']} updates of {settings['batch_size']} texts; new:{settings['size']}, with gradients "
        f"clipped at 1. Knowing the frequencies alone is {measured['frequencies']:.2f}: a run within {NEAR} of it, or "
        f"above, learned nothing ({measured['cpu']['name']}, {measured['date'][:10]})."
    )
    return "\n".join([markdown_table(["encoder", "warm-up", *(f"rate {rate:g}" for rate in rates)], lines), "", made])


def _cell(runs: list[dict[str, Any]], measured: dict[str, Any]) -> str:
    """`0.52 (0.48 to 0.55)`, and how many runs diverged or learned nothing."""
    losses = [run["loss"] for run in runs if "loss" in run]
    nothing = sum(loss > measured["frequencies"] - NEAR for loss in losses)
    failures = [(len(runs) - len(losses), "diverged"), (nothing, "learned nothing")]
    parts = [f"{count} of {len(runs)} {what}" for count, what in failures if count]
    if losses:
        parts.insert(0, f"{statistics.mean(losses):.2f} ({min(losses):.2f} to {max(losses):.2f})")
    return "; ".join(parts)
