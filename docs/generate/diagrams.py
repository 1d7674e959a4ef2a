"""The diagrams of the documents in each language: an encoder with its two outputs and the heads, and the life of a run."""

from itertools import pairwise

from drawing import Box, arrow, picture, words

TOKENS = ("[CLS]", "the", "shop", "##keeper", "left", "[SEP]")
WORDS = {
    "en": {
        "encoder": "An encoder turns each token into a vector; the pooled output is one vector, read by heads for labels "
        "and choices, the sequence output a vector a token, read by heads for tags and spans",
        "text": "text in pieces", "embeddings": "Embeddings", "sum": "piece + position + segment, one vector a token",
        "layers": "Layers", "layer": "attention, feed-forward: 6 in MiniLM, 12 in BERT base",
        "sequence": "Sequence output", "each": "a vector a token", "pooled": "Pooled output", "one": "one vector: [CLS] or the mean",
        "labels": "Text or pair", "labels-of": "labels, a number", "choice": "Choices", "choice-of": "a score a choice",
        "tags": "Tags", "tags-of": "a label a word", "span": "Spans", "span-of": "start and end",
        "run": "The life of a run: read and check, split, train and score after each epoch, choose an epoch, predict, "
        "write the record; an interrupted run resumes from its checkpoint, a finished one is shown",
        "file": "Your file or a task", "recipe": "with a recipe: every setting",
        "read": "Read", "read-of": "format, columns, task type", "check": "Check", "check-of": "errors stop here, in one line",
        "split": "Split", "split-of": "equal texts stay together", "encode": "Encode", "encode-of": "rows to tokens",
        "train": "Train an epoch", "train-of": "batch: loss, update", "dev": "Score on dev", "dev-of": "after each epoch",
        "best": "Choose", "best-of": "the best epoch's weights", "predict": "Predict", "predict-of": "dev and test, and baselines",
        "record": "Record, last", "record-of": "scores, settings, versions", "checkpoint": "Checkpoint",
        "checkpoint-of": "every two minutes", "again": "next epoch", "resume": "stopped: the same command resumes",
        "done": "finished: the same command shows it",
    },
    "ko": {
        "encoder": "인코더는 토큰마다 벡터를 하나씩 냅니다. 풀링 출력은 벡터 하나이며 레이블과 보기 헤드가 읽고, 시퀀스 출력은 토큰마다 하나씩인 벡터이며 태그와 스팬 헤드가 읽습니다",
        "text": "조각으로 나눈 텍스트", "embeddings": "임베딩", "sum": "조각 + 위치 + 세그먼트, 토큰마다 벡터 하나",
        "layers": "층", "layer": "어텐션, 피드포워드: MiniLM은 6층, BERT base는 12층",
        "sequence": "시퀀스 출력", "each": "토큰마다 벡터 하나", "pooled": "풀링 출력", "one": "벡터 하나: [CLS] 또는 평균",
        "labels": "문장, 문장 쌍", "labels-of": "레이블, 숫자", "choice": "보기", "choice-of": "보기마다 점수 하나",
        "tags": "태그", "tags-of": "단어마다 레이블 하나", "span": "스팬", "span-of": "시작과 끝",
        "run": "실행 하나의 과정: 읽고 점검하고 나누고, epoch마다 학습한 뒤 평가하고, epoch을 골라 예측하고, 실행 기록을 씁니다. 중단된 실행은 체크포인트에서 재개하고, 끝난 실행은 결과를 보여 줍니다",
        "file": "내 파일 또는 과제", "recipe": "레시피: 모든 설정",
        "read": "읽기", "read-of": "형식, 인코딩, 열, 과제 유형", "check": "점검", "check-of": "오류는 한 줄로, 여기서 멈춤",
        "split": "분할", "split-of": "같은 텍스트는 한쪽에만", "encode": "인코딩", "encode-of": "행을 토큰으로",
        "train": "한 epoch 학습", "train-of": "배치마다 손실, 업데이트", "dev": "dev 평가", "dev-of": "epoch마다",
        "best": "선택", "best-of": "가장 좋은 epoch의 가중치", "predict": "예측", "predict-of": "dev와 test, 베이스라인",
        "record": "마지막에 실행 기록", "record-of": "점수, 설정, 버전", "checkpoint": "체크포인트",
        "checkpoint-of": "2분마다", "again": "다음 epoch", "resume": "중단됨: 같은 명령이 재개",
        "done": "끝남: 같은 명령이 결과를 보여 줌",
    },
}  # fmt: skip


def diagrams() -> dict[str, str]:
    """Files of SVG by name; those of Korean pages end with `.ko.svg`."""
    drawers = {"encoder": encoder, "run-life": run_life}
    ends = {"en": "svg", "ko": "ko.svg"}
    return {f"{name}.{ends[to]}": draw(WORDS[to]) for name, draw in drawers.items() for to in WORDS}


def encoder(says: dict[str, str]) -> str:
    """From tokens up to the two outputs and the four heads that read them."""
    places = [185 + 106 * at for at in range(len(TOKENS))]
    pooled = Box(x=240, y=122, width=280, lines=(says["pooled"], says["one"]), kind="s1")
    sequence = Box(x=450, y=216, width=700, lines=(says["sequence"], says["each"]), kind="s2")
    layers = Box(x=450, y=308, width=700, lines=(says["layers"], says["layer"]))
    embeddings = Box(x=450, y=400, width=700, lines=(says["embeddings"], says["sum"]))
    heads = [
        Box(x=x, y=28, width=160, lines=(says[name], says[f"{name}-of"]), kind=kind)
        for name, x, kind in (("labels", 180, "s1"), ("choice", 355, "s1"), ("tags", 545, "s2"), ("span", 720, "s2"))
    ]
    read = [(heads[0], pooled), (heads[1], pooled), (heads[2], sequence), (heads[3], sequence)]
    arrows = [arrow((head.x, box.y), (head.x, head.bottom), kind=box.kind) for head, box in read]
    arrows.append(arrow((places[0], sequence.y), (places[0], pooled.bottom), kind="s1"))
    for x in places:
        arrows += [arrow((x, a), (x, b)) for a, b in _upwards(486, embeddings, layers, sequence)]
    tokens = [
        f'<rect x="{x - 47:g}" y="486" width="94" height="30" rx="4"/>' + words(token, x=x, y=506, kind="token")
        for x, token in zip(places, TOKENS, strict=True)
    ]
    boxes = [box.drawn() for box in (*heads, pooled, sequence, layers, embeddings)]
    below = words(says["text"], x=450, y=540, kind="quiet")
    return picture([*arrows, *boxes, *tokens, below], width=900, height=560, says=says["encoder"])


def _upwards(start: float, *boxes: Box) -> list[tuple[float, float]]:
    """Where arrows begin and end that go up from `start` through boxes."""
    return [(below, box.bottom) for below, box in zip((start, *(box.y for box in boxes)), boxes, strict=False)]


def run_life(says: dict[str, str]) -> str:
    """A row before training, the loop over epochs with its checkpoint, and a row after it, from right to left."""
    source = Box(x=120, y=20, width=204, lines=(says["file"], says["recipe"]))
    before = _row(says, ("read", "check", "split", "encode"), places=(120, 340, 560, 780), y=112)
    train, dev = _row(says, ("train", "dev"), places=(780, 560), y=226, kind="s1")
    (checkpoint,) = _row(says, ("checkpoint",), places=(225,), y=226)
    after = _row(says, ("best", "predict", "record"), places=(560, 340, 120), y=352, kind="s3")
    middle, below = dev.y + dev.high / 2, dev.bottom + 24
    arrows = [
        arrow((source.x, source.bottom), (source.x, before[0].y)),
        arrow((train.x, before[-1].bottom), (train.x, train.y)),
        *_between(before, by=1), *_between([train, dev], by=-1), *_between(after, by=-1),
        arrow((600, dev.bottom), (600, below), (train.x, below), (train.x, train.bottom), kind="s1"),
        arrow((520, dev.bottom), (520, after[0].y)),
        arrow((dev.x - dev.width / 2, middle - 9), (checkpoint.x + 102, middle - 9)),
        arrow((checkpoint.x + 102, middle + 9), (dev.x - dev.width / 2, middle + 9), kind="back"),
    ]  # fmt: skip
    notes = [
        words(says["again"], x=690, y=below + 18, kind="quiet"),
        words(says["resume"], x=checkpoint.x, y=checkpoint.bottom + 20, kind="quiet"),
        words(says["done"], x=140, y=after[-1].bottom + 22, kind="quiet"),
    ]
    boxes = [box.drawn() for box in (source, *before, train, dev, checkpoint, *after)]
    return picture([*arrows, *boxes, *notes], width=900, height=440, says=says["run"])


def _row(
    says: dict[str, str], names: tuple[str, ...], *, places: tuple[int, ...], y: float, kind: str = ""
) -> list[Box]:
    return [
        Box(x=x, y=y, width=204, lines=(says[name], says[f"{name}-of"]), kind=kind)
        for name, x in zip(names, places, strict=True)
    ]


def _between(row: list[Box], *, by: int) -> list[str]:
    """Arrows from each box to the next one of a row, which goes to the right (1) or to the left (-1)."""
    return [
        arrow((one.x + by * one.width / 2, one.y + one.high / 2), (two.x - by * two.width / 2, two.y + two.high / 2))
        for one, two in pairwise(row)
    ]
