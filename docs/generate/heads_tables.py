"""The tables of docs/explanation/heads.md, from results/benchmarks/heads.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from finetune.analysis.table import Cells, markdown_table

LAYERS_OF = 6  # minilm
MOST = 0.5  # from this share on a head looks at one kind of token
SIGNIFICANT = 0.05
MEASURES = {
    "en": {
        "distance": "distance in tokens", "entropy": "entropy in bits", "first": "on [CLS]", "separator": "on [SEP]",
        "itself": "on itself", "previous": "on the previous token", "next": "on the next token",
        "same": "on the same word further away",
    },
    "ko": {
        "distance": "거리(토큰)", "entropy": "엔트로피(비트)", "first": "[CLS]", "separator": "[SEP]",
        "itself": "자기 자신", "previous": "바로 앞 토큰", "next": "바로 뒤 토큰", "same": "떨어져 있는 같은 단어",
    },
}  # fmt: skip
HEADS = {
    "en": (["a token's attention", "even", "untrained", "minilm, MRPC", "SST-2", "most, MRPC"], "layer {0}, head {1}"),
    "ko": (["토큰의 어텐션", "균등", "학습 전", "minilm, MRPC", "SST-2", "최대, MRPC"], "{0}층 헤드 {1}"),
}
STARTS = {
    "en": {
        "random": "random, no dropout", "equal": "equal heads, no dropout",
        "equal, dropout of hidden states": "equal heads, dropout of hidden states",
        "equal, dropout of attention": "equal heads, dropout of attention",
        "equal, other columns": "equal heads, read by different columns, no dropout",
    },
    "ko": {
        "random": "무작위, 드롭아웃 없음", "equal": "같은 헤드, 드롭아웃 없음",
        "equal, dropout of hidden states": "같은 헤드, 은닉 상태에 드롭아웃",
        "equal, dropout of attention": "같은 헤드, 어텐션에 드롭아웃",
        "equal, other columns": "같은 헤드, 출력 행렬의 열은 다름, 드롭아웃 없음",
    },
}  # fmt: skip

FEWER = (24, 48)  # heads that are switched off together
TITLES = {"sst2": "SST-2", "mrpc": "MRPC"}
OFF = {
    "en": [
        "accuracy on dev with all heads", "most frequent label", "change without one head, in points, least to most",
        "heads of 72 whose change is significant", "change without 24 heads, in points", "change without 48",
        "rank correlation of a head's change between seeds",
    ],
    "ko": [
        "헤드를 모두 쓸 때 dev 정확도", "최빈 레이블", "헤드 하나를 끌 때의 변화(%p), 최소~최대",
        "변화가 유의한 헤드(72개 중)",
        "24개를 끌 때의 변화(%p)", "48개를 끌 때", "시드 사이에서 헤드별 변화의 순위 상관",
    ],
}  # fmt: skip


def heads_table(measured: dict[str, Any], language: str) -> str:
    """What all heads look at: from the least to the most, and which head most."""
    head, name_of = HEADS[language]
    attention = measured["attention"]
    lines: list[Cells] = []
    for measure, title in MEASURES[language].items():
        values = np.array(attention["trained"]["mrpc"]["measures"][measure])
        layer, number = np.unravel_index(values.argmax(), values.shape)
        texts = [_range(attention[kind][task]["measures"][measure], measure)
                 for kind, task in (("untrained", "mrpc"), ("trained", "mrpc"), ("trained", "sst2"))]  # fmt: skip
        even = _number(attention["trained"]["mrpc"]["uniform"][measure], measure)
        lines.append([title, even, *texts, name_of.format(layer + 1, number + 1)])
    return markdown_table(head, lines)


def equal_table(measured: dict[str, Any], language: str) -> str:
    """How much heads differ at the end of each start, and accuracy."""
    found = measured["equal"]
    lines: list[Cells] = [
        [
            STARTS[language][name],
            *(_small(mean_curve(runs)[at][1]) for at in (0, 1, -1)),
            _range([run["accuracy"] for run in runs], "share"),
        ]
        for name, runs in found["starts"].items()
    ]
    curve = mean_curve(next(iter(found["starts"].values())))
    head = {
        "en": ["start", "at first", f"after {curve[1][0]} updates", f"after {curve[-1][0]}", "accuracy, three seeds"],
        "ko": ["시작", "처음", f"업데이트 {curve[1][0]}회", f"{curve[-1][0]}회", "정확도, 시드 3개"],
    }[language]
    return markdown_table(head, lines)


def off_table(measured: dict[str, Any], language: str) -> str:
    """What switching heads off does to dev scores."""
    tasks = [task for task in TITLES if runs_of(measured, task)]
    columns = [_off_column(measured, task) for task in tasks]
    lines = zip(OFF[language], zip(*columns, strict=True), strict=True)
    shown = [[title, *cells] for title, cells in lines if any(cells)]  # of one seed there is nothing to compare
    return markdown_table(["", *(TITLES[task] for task in tasks)], shown)


def _off_column(measured: dict[str, Any], task: str) -> list[str]:
    runs = runs_of(measured, task)
    one = 100 * changes(measured, task)
    fewer = [dict(map(tuple, run["fewer"])) for run in runs]
    steps = [[100 * (run[count] - run[0]) for run in fewer] for count in FEWER]
    agree = [np.corrcoef(_ranks(one[a]), _ranks(one[b]))[0, 1] for a in range(len(one)) for b in range(a)]
    return [
        _range([run["accuracy"] for run in runs], "share"),
        _number(runs[0]["most_frequent"], "share"),
        ", ".join(f"{least:+.1f} – {most:+.1f}" for least, most in ((each.min(), each.max()) for each in one)),
        ", ".join(str(sum(p < SIGNIFICANT for p in run["p"])) for run in runs),
        *(", ".join(f"{change:+.1f}" for change in step) for step in steps),
        f"{np.mean(agree):.2f}" if agree else "",
    ]


def heads_facts(measured: dict[str, Any]) -> dict[str, str]:
    """Figures within sentences, by name."""
    trained = {task: measured["attention"]["trained"][task] for task in ("mrpc", "sst2")}
    jobs = [job for row in jobs_of(trained["mrpc"]["measures"]) for job in row]
    flat = {task: {name: np.ravel(v) for name, v in one["measures"].items()} for task, one in trained.items()}
    alike = {name: np.corrcoef(flat["mrpc"][name], flat["sst2"][name])[0, 1] for name in ("previous", "next", "first")}
    return {
        "texts": str(measured["attention"]["texts"]),
        "first": str(jobs.count("first")),
        "other": str(jobs.count("other")),
        "alike": f"{min(alike.values()):.2f}",
        "between-trained": f"{np.mean(same_layer(trained['mrpc'])):.2f}",
        "between-untrained": f"{np.mean(same_layer(measured['attention']['untrained']['mrpc'])):.3f}",
        "off-change": f"{-100 * changes(measured, 'mrpc')[0].min():.1f}",
        "off-p": f"{min(runs_of(measured, 'mrpc')[0]['p']):.2f}",
        "rounding": _small(mean_curve(measured["equal"]["starts"]["equal"])[-1][1]),
        "machine": f"{measured['machine']['cpu']['name']}, {measured['machine']['date'][:10]}",
    }


def jobs_of(measures: dict[str, Any]) -> list[list[str]]:
    """What each head looks at with more than half of its attention: `previous`, `next`, `first`; else `other`."""
    shares = {name: np.array(measures[name]) for name in ("previous", "next", "first")}
    layers, heads = shares["first"].shape
    return [
        [
            next((name for name, all_of in shares.items() if all_of[layer, head] > MOST), "other")
            for head in range(heads)
        ]
        for layer in range(layers)
    ]


def same_layer(found: dict[str, Any]) -> list[float]:
    """The mean divergence of two different heads of each layer."""
    apart, heads = np.array(found["apart"]), len(found["measures"]["distance"][0])
    blocks = [apart[at : at + heads, at : at + heads] for at in range(0, len(apart), heads)]
    return [float(block.sum() / (heads * (heads - 1))) for block in blocks]


def runs_of(measured: dict[str, Any], task: str) -> list[dict[str, Any]]:
    """What was measured without heads, by seed."""
    return [run for name, run in measured.items() if name.startswith(f"off-{task}-")]


def changes(measured: dict[str, Any], task: str) -> np.ndarray:
    """The change of accuracy without each head, `(seeds, layers, heads)`."""
    runs = runs_of(measured, task)
    return np.array([np.array(run["without"]) - run["accuracy"] for run in runs])


def mean_curve(runs: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """How much heads differ by update, a mean of the seeds."""
    return [(at, float(value)) for at, value in zip([at for at, _ in runs[0]["apart"]],
            np.mean([[value for _, value in run["apart"]] for run in runs], 0), strict=True)]  # fmt: skip


def _ranks(values: np.ndarray) -> np.ndarray:
    flat = values.ravel()
    return np.array([((flat < value).sum() + (flat <= value).sum()) / 2 for value in flat])


def _range(values: Any, measure: str) -> str:
    low, high = (_number(float(one), measure) for one in (np.min(values), np.max(values)))
    return low if low == high else f"{low} – {high}"


def _number(value: float, measure: str) -> str:
    return f"{value:.1f}" if measure in ("distance", "entropy") else f"{100 * value:.1f} %"


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}" if value < 1e-3 else f"{value:.2f}"
