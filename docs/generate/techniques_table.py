"""The tables of techniques of training: settings compared, in English and Korean."""

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
