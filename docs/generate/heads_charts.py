"""The charts of docs/explanation/heads.md in each language, from results/benchmarks/heads.json."""

from importlib.resources import files
from typing import Any

import numpy as np
from heads_tables import LAYERS_OF, TITLES, changes, jobs_of, mean_curve, runs_of, same_layer

from finetune.analysis.pages.svg import Axis, Mark, chart, dots, level, line

TASK = "mrpc"
SPREAD = 0.055  # units of a layer between its heads
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "distance": "mean distance of what is looked at, in tokens", "entropy": "entropy in bits",
        "previous": "the previous token", "next": "the next token", "first": "[CLS]", "other": "several tokens",
        "untrained": "all heads of untrained weights", "layer": "layer", "updates": "update",
        "apart": "mean divergence of two heads of a layer, in bits", "trained": "minilm", "fewer": "heads switched off",
        "untrained-short": "untrained", "change": "change of accuracy in points without one head",
        "accuracy": "accuracy on the other half of dev", "majority": "most frequent label, {0}",
        "differ": "how much heads differ, relative to their mean", "random": "random start",
        "equal": "equal, no dropout", "equal, dropout of hidden states": "equal, dropout of hidden states",
        "equal, dropout of attention": "equal, dropout of attention",
        "equal, other columns": "equal, but read differently",
    },
    "ko": {
        "distance": "보는 토큰까지의 평균 거리(토큰)", "entropy": "엔트로피(비트)",
        "previous": "바로 앞 토큰", "next": "바로 뒤 토큰", "first": "[CLS]", "other": "여러 토큰",
        "untrained": "학습 전 가중치의 모든 헤드", "layer": "층", "updates": "업데이트",
        "apart": "같은 층 두 헤드의 평균 발산(비트)", "trained": "minilm", "fewer": "끈 헤드 수",
        "untrained-short": "학습 전", "change": "헤드 하나를 끌 때 정확도의 변화(%p)",
        "accuracy": "dev의 나머지 절반에서의 정확도", "majority": "최빈 레이블, {0}",
        "differ": "헤드가 서로 다른 정도(평균 헤드 대비)", "random": "무작위 시작",
        "equal": "같은 시작, 드롭아웃 없음", "equal, dropout of hidden states": "같은 시작, 은닉 상태 드롭아웃",
        "equal, dropout of attention": "같은 시작, 어텐션 드롭아웃",
        "equal, other columns": "같은 시작, 읽는 행렬만 다름",
    },
}  # fmt: skip
COLOURS = """
:root {
  color: #1c1c1a; background: #fff; --quiet: #5c5c58; --grid: #dededa; --surface: #fff; --ink: #1c1c1a;
  --series1: #0067a5; --series2: #c04e00; --series3: #00795a; --series4: #8a3f9e; --series5: #8a6a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    color: #ecece8; background: #1e1e1c; --quiet: #adada6; --grid: #383835; --surface: #1e1e1c; --ink: #ecece8;
    --series1: #6cb6ee; --series2: #f39a54; --series3: #4cc9a3; --series4: #d49be3; --series5: #d9bd55;
  }
}
"""


def heads_charts(measured: dict[str, Any], language: str) -> dict[str, str]:
    """Files of SVG by their names."""
    words = WORDS[language]
    made = {
        "heads-look": look_chart(measured, words),
        "heads-apart": apart_chart(measured, words),
        "heads-equal": equal_chart(measured, words),
        "heads-off": off_chart(measured, words),
        "heads-fewer": fewer_chart(measured, words),
    }
    return {f"{name}.svg": text for name, text in made.items()}


def look_chart(measured: dict[str, Any], words: dict[str, str]) -> str:
    """Distance and entropy of each head, by what it looks at most."""
    found = measured["attention"]["trained"][TASK]["measures"]
    places = np.stack([np.array(found[name]).ravel() for name in ("distance", "entropy")], 1)
    jobs = np.array([job for row in jobs_of(found) for job in row])
    kinds = (
        ("previous", "s1", "square"),
        ("next", "s2", "diamond"),
        ("first", "s3", "circle"),
        ("other", "s4", "right"),
    )
    marks = [
        dots([tuple(one) for one in places[jobs == name]], colour=colour, shape=shape, name=words[name])
        for name, colour, shape in kinds
    ]
    before = measured["attention"]["untrained"][TASK]["measures"]
    random = list(zip(np.ravel(before["distance"]), np.ravel(before["entropy"]), strict=True))
    marks.append(dots(random, colour="ink", shape="cross", name=words["untrained"]))
    return _file(
        marks, x=Axis(label=words["distance"], low=0.0), y=Axis(label=words["entropy"], low=0.0), height=260.0,
        says=f"{words['distance']}; {words['entropy']}",
    )  # fmt: skip


def apart_chart(measured: dict[str, Any], words: dict[str, str]) -> str:
    """The divergence of heads of one layer, trained and not."""
    marks = [
        line(
            [(layer + 1, value) for layer, value in enumerate(same_layer(measured["attention"][kind][TASK]))],
            colour=colour, marker=marker, name=words[name],
        )
        for kind, name, colour, marker in (
            ("trained", "trained", "s1", "circle"), ("untrained", "untrained-short", "s2", "square"),
        )
    ]  # fmt: skip
    return _file(marks, x=_layers(words), y=Axis(label=words["apart"], low=0.0), height=150.0, says=words["apart"])


def equal_chart(measured: dict[str, Any], words: dict[str, str]) -> str:
    """How much heads differ by update, of each start; a mean of the seeds."""
    colours = zip(measured["equal"]["starts"].items(), ("ink", "s1", "s3", "s2", "s4"), strict=True)
    markers = iter(("cross", "circle", "square", "diamond", "right"))
    marks = [
        line(mean_curve(runs)[1:], colour=colour, marker=next(markers), name=words[name])
        for (name, runs), colour in colours
    ]
    y = Axis(label=words["differ"], logarithmic=True)
    return _file(marks, x=Axis(label=words["updates"]), y=y, height=220.0, says=words["differ"])


def off_chart(measured: dict[str, Any], words: dict[str, str]) -> str:
    """What accuracy loses or wins without each head; a mean of the seeds."""
    marks: list[Mark] = []
    for task, colour, shape, shift in (("sst2", "s1", "circle", -1), ("mrpc", "s2", "square", 1)):
        if not runs_of(measured, task):
            continue
        found = 100 * changes(measured, task).mean(0)
        points = [
            (layer + 1 + SPREAD * (head - found.shape[1] / 2) + shift * SPREAD / 4, float(found[layer, head]))
            for layer in range(found.shape[0])
            for head in range(found.shape[1])
        ]
        marks.append(dots(points, colour=colour, shape=shape, name=TITLES[task], radius=2.6))
    marks.append(level(0.0, (0.6, LAYERS_OF + 0.4)))
    return _file(marks, x=_layers(words), y=Axis(label=words["change"]), height=200.0, says=words["change"])


def fewer_chart(measured: dict[str, Any], words: dict[str, str]) -> str:
    """Accuracy without more and more heads; a mean of the seeds, and the level of the most frequent label."""
    marks: list[Mark] = []
    for task, colour, shape in (("sst2", "s1", "circle"), ("mrpc", "s2", "square")):
        runs = runs_of(measured, task)
        if not runs:
            continue
        curve = np.mean([run["fewer"] for run in runs], 0)
        marks.append(line([tuple(one) for one in curve], colour=colour, marker=shape, name=TITLES[task]))
        most = float(runs[0]["most_frequent"])
        marks.append(
            line(
                [(0, most), (float(curve[-1, 0]), most)],
                colour=colour,
                dash="3 3",
                name=words["majority"].format(TITLES[task]),
            )
        )
    return _file(
        marks, x=Axis(label=words["fewer"]), y=Axis(label=words["accuracy"]), height=200.0, says=words["accuracy"]
    )


def _layers(words: dict[str, str]) -> Axis:
    ticks = [(float(layer), str(layer)) for layer in range(1, LAYERS_OF + 1)]
    return Axis(label=words["layer"], ticks=ticks, low=0.5, high=LAYERS_OF + 0.5)


def _file(marks: list[Mark], *, x: Axis, y: Axis, height: float, says: str) -> str:
    return chart_file(chart(marks, x=x, y=y, says=says, height=height))


def chart_file(drawn: object) -> str:
    """A chart as a file of its own, with the colours of a page."""
    style = files("finetune.analysis.pages").joinpath("chart.css").read_text(encoding="utf-8")
    text = str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return text.replace("</title>", f"</title><style>{COLOURS}{style}</style>", 1) + "\n"
