"""Multiple choice as public sets have it: choices in lists, in objects and in columns, with passages before them."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from .files import COMMAS, Columns, Dialect, cells_of, lines, put_table
from .layout import Chosen, Layout, Written
from .words import NAMES, PARTS, one_of, opinions

COUNT = 120
BARE = Dialect(header=False)


def layouts() -> Iterator[Layout]:
    """Lists, columns that continue a text, columns that answer a question."""
    yield from _listed()
    yield from _continued()
    yield from _answered()
    yield from _distractors()


def _questions(seed: int) -> list[str]:
    return [f"What follows from this: {text}?" for text in opinions("en", COUNT, seed)]


def _short(number: int, seed: int) -> list[list[str]]:
    """Of each row so many different names and things."""
    draw = random.Random(f"short {seed}")
    names = [name for some in NAMES["en"] for name in some] + PARTS["en"][0]
    some = names + [f"{one} and {other}" for one, other in permutations(names, 2)]
    return [draw.sample(some, number) for _ in range(COUNT)]


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _choice(
    name: str,
    columns: Columns,
    contexts: Sequence[str],
    choices: Sequence[str],
    label: str,
    *,
    letters: str = "0123456789",
    file: str = "train.csv",
    dialect: Dialect = COMMAS,
) -> Layout:
    """A table of choices, whose context is all of `contexts`, one under the other; the label is one of `letters`."""
    names = list(columns)
    spelled = {n: n if dialect.header else f"column {place}" for place, n in enumerate(names, start=1)}

    def rows(cells: Sequence[Sequence[str]]) -> list[Chosen]:
        objects = [dict(zip(names, row, strict=True)) for row in cells]
        return [
            Chosen("\n".join(o[n] for n in contexts), tuple(o[n] for n in choices), letters.index(o[label]))
            for o in objects
        ]

    def write(folder: Path) -> Written:
        path = put_table(folder / file, columns, dialect)
        cells = list(zip(*columns.values(), strict=True))
        return Written(path=path, rows=rows(cells), reread=rows(cells_of(path, dialect)))

    text = ",".join(spelled[n] for n in (*contexts, *choices))
    answers = {"shape": "choice", "text": text, "label": spelled[label]}
    return Layout(name=name, kind=0, language="en", write=write, answers=answers)


def _listed() -> Iterator[Layout]:
    asked, some, right = _questions(1101), _short(5, 1102), one_of(list("ABCDE"), COUNT, 1103)
    concepts = one_of(["place", "reason", "time"], COUNT, 1104)
    rows = list(zip(asked, some, right, concepts, strict=True))
    nested = [
        {
            "answerKey": letter,
            "id": f"{n * 7_919_123:032x}",
            "question": {
                "question_concept": concept,
                "choices": [{"label": sign, "text": text} for sign, text in zip("ABCDE", texts, strict=True)],
                "stem": stem,
            },
        }
        for n, (stem, texts, letter, concept) in enumerate(rows)
    ]

    def row(one: Mapping[str, Any]) -> Chosen:
        texts = tuple(choice["text"] for choice in one["question"]["choices"])
        return Chosen(one["question"]["stem"], texts, "ABCDE".index(one["answerKey"]))

    yield lines("objects with the letter before the text", 0, "en", nested, row, file="train_rand_split.jsonl")
    flat = [
        {
            "id": one["id"],
            "question": stem,
            "question_concept": concept,
            "choices": {"label": list("ABCDE"), "text": texts},
            "answerKey": letter,
        }
        for one, (stem, texts, letter, concept) in zip(nested, rows, strict=True)
    ]
    yield lines(
        "a list of letters before the list of texts",
        0,
        "en",
        flat,
        lambda o: Chosen(o["question"], tuple(o["choices"]["text"]), "ABCDE".index(o["answerKey"])),
    )
    articles = [
        {"example_id": f"high{n}.txt", "article": article, "answer": letter, "question": stem, "options": list(options)}
        for n, (article, letter, stem, *options) in enumerate(
            zip(
                opinions("en", COUNT, 1105),
                one_of(list("ABCD"), COUNT, 1106),
                _questions(1107),
                *(opinions("en", COUNT, seed) for seed in range(1108, 1112)),
                strict=True,
            )
        )
    ]
    yield lines(
        "an article, a question and a list of options",
        0,
        "en",
        articles,
        lambda o: Chosen(f"{o['article']}\n{o['question']}", tuple(o["options"]), "ABCD".index(o["answer"])),
        answers={"shape": "choice", "text": "article,question,options", "label": "answer"},
    )


def _continued() -> Iterator[Layout]:
    goals = {
        "goal": _questions(1121),
        "sol1": opinions("en", COUNT, 1122),
        "sol2": opinions("en", COUNT, 1123),
        "label": one_of(["0", "1"], COUNT, 1124),
    }
    yield _choice("a goal and two solutions", goals, ["goal"], ["sol1", "sol2"], "label")
    first = opinions("en", COUNT, 1125)
    endings = [f"ending{n}" for n in range(4)]
    videos = {
        "": [str(n) for n in range(COUNT)],
        "video-id": [f"anetv_{n * 7_919:06x}" for n in range(COUNT)],
        "fold-ind": [str(3 * n) for n in range(COUNT)],
        "startphrase": [f"{text} Someone" for text in first],
        "sent1": first,
        "sent2": ["Someone"] * COUNT,
        "gold-source": one_of(["gold", "gen"], COUNT, 1126),
        **{name: opinions("en", COUNT, 1127 + n) for n, name in enumerate(endings)},
        "label": one_of(list("0123"), COUNT, 1131),
    }
    yield _choice("a start phrase and its parts", videos, ["startphrase"], endings, "label")
    holdings = [f"holding_{n}" for n in range(5)]
    cases = {
        "": [str(n) for n in range(COUNT)],
        "citing_prompt": [f"{text} See (<HOLDING>) and others" for text in opinions("en", COUNT, 1132)],
        **{name: [f"holding that {t}" for t in opinions("en", COUNT, 1133 + n)] for n, name in enumerate(holdings)},
        "label": one_of(list("01234"), COUNT, 1138),
    }
    yield _choice("a prompt and five holdings", cases, ["citing_prompt"], holdings, "label")


def _answered() -> Iterator[Layout]:
    answers = [f"answer{n}" for n in range(4)]
    stories = {
        "id": [f"{n * 7_919_123:010X}" for n in range(COUNT)],
        "context": opinions("en", COUNT, 1141),
        "question": _questions(1142),
        **{name: opinions("en", COUNT, 1143 + n) for n, name in enumerate(answers)},
        "label": one_of(list("0123"), COUNT, 1147),
    }
    yield _choice("a context, a question and four answers", stories, ["context", "question"], answers, "label")
    exam = {
        "question": _questions(1148),
        **_columns(list("ABCD"), _short(4, 1149)),
        "answer": one_of(list("ABCD"), COUNT, 1150),
    }
    yield _choice(
        "an exam without a header",
        exam,
        ["question"],
        list("ABCD"),
        "answer",
        letters="ABCD",
        file="anatomy_test.csv",
        dialect=BARE,
    )
    options = ["opa", "opb", "opc", "opd"]
    medical = {
        "id": [f"{n * 7_919_123:08x}-r{n}" for n in range(COUNT)],
        "question": _questions(1151),
        **_columns(options, _short(4, 1152)),
        "cop": one_of(list("0123"), COUNT, 1153),
        "choice_type": one_of(["single", "multi"], COUNT, 1154),
        "exp": opinions("en", COUNT, 1155),
        "subject_name": one_of(["Anatomy", "Surgery", "Dental", "Skin"], COUNT, 1156),
    }
    yield _choice("opa to opd, with an explanation", medical, ["question"], options, "cop")


def _distractors() -> Iterator[Layout]:
    names = ["distractor3", "distractor1", "distractor2", "correct_answer"]
    support = opinions("en", COUNT, 1161)
    objects = [
        {"question": stem, **dict(zip(names, some, strict=True)), "support": text if n % 10 else ""}
        for n, (stem, some, text) in enumerate(zip(_questions(1162), _short(4, 1163), support, strict=True))
    ]
    asked = ["distractor1", "distractor2", "distractor3", "correct_answer"]
    yield lines(
        "three distractors and the correct answer",
        0,
        "en",
        objects,
        lambda o: Chosen(o["question"], tuple(o[name] for name in asked), 3),
        file="train.json",
        answers={"shape": "choice", "text": ",".join(["question", *asked]), "label": "correct_answer"},
    )
