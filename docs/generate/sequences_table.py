"""The tables of docs/how-to/write-text.md and its Korean page, from results/benchmarks/sequences.json."""

from typing import Any

from finetune.commands.table.files import Cells, markdown_table

METRICS = ("rouge-l", "bleu", "chrf", "em")
KOREAN = {
    "method": "방법", "beams": "빔", "seconds": "시간(초)", "this run": "이 실행", "copy": "copy(입력 복사)",
    "nearest": "nearest(가장 비슷한 학습 행)",
}  # fmt: skip


def written_table(measured: dict[str, Any], *, korean: bool = False) -> str:
    """Test scores of the run and its baselines."""
    rows: list[Cells] = [
        [_word(name, korean), *_scores(measured["test"][name])] for name in ("this run", "copy", "nearest")
    ]
    facts, counts, settings = _machine(measured), measured["rows"], measured["settings"]
    text = (
        f"NSMC 영화평, 학습 {counts['train']:,}행, 테스트 {counts['test']:,}행. 새 인코더({settings['model']}), "
        f"{settings['train.epochs']} epoch, {measured['train_seconds']['total'] / 60:.0f}분, {facts}."
        if korean
        else f"NSMC's film reviews, {counts['train']:,} training rows, {counts['test']:,} test rows. A new encoder "
        f"({settings['model']}), {settings['train.epochs']} epochs, {measured['train_seconds']['total'] / 60:.0f} "
        f"minutes on a machine that others used too, {facts}."
    )
    return f"{markdown_table([_word('method', korean), *METRICS], rows)}\n\n{text}"


def beams_table(measured: dict[str, Any], *, korean: bool = False) -> str:
    """Scores and time by the number of beams."""
    rows: list[Cells] = [
        [str(each["beams"]), *_scores(each["scores"]), f"{each['cpu_seconds']:.1f}"] for each in measured["beams"]
    ]
    head = [_word("beams", korean), *METRICS, "CPU 시간(초)" if korean else "CPU seconds"]
    count = measured["beam_rows"]
    text = f"테스트 {count}행, {_machine(measured)}." if korean else f"{count} test rows, {_machine(measured)}."
    return f"{markdown_table(head, rows)}\n\n{text}"


def _scores(scores: dict[str, float]) -> list[str]:
    return [f"{100 * scores[name]:.1f}" for name in METRICS]


def _word(name: str, korean: bool) -> str:
    return KOREAN.get(name, name) if korean else name


def _machine(measured: dict[str, Any]) -> str:
    return f"{measured['cpu']['name']}, {measured['cpu']['threads']} thread, {measured['date'][:10]}"
