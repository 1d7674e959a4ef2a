"""The made-up rows of golden runs: made by counting, so that no library decides them.

What a label depends on is in the text. Each kind of data has rows that are easily treated otherwise by mistake: an
empty text of a pair, Korean, quoted commas, duplicates, a rare label, texts that are longer than max_length.
"""

import csv
import io
import json
from typing import Any

THINGS = ["soup", "bread", "room", "garden", "waiter", "music", "coffee"]
GOOD = ["fresh", "warm", "lovely", "quick", "친절한", "délicieux"]
BAD = ["stale", "cold", "dirty", "slow", "지루한", "fade"]
PEOPLE = ["Ann Lee", "Bo", "Chloé", "김민수", "Dr. Olsen"]
PLACES = ["New York", "Rome", "서울", "Lyon", "Old Town"]
ANIMALS = ["cat", "dog", "bird"]
COLOURS = ["red", "blue"]


def opinion(number: int, good: bool) -> str:
    """A sentence whose words tell whether it is good."""
    words = GOOD if good else BAD
    one, other = THINGS[number % 7], THINGS[(3 * number + 1) % 7]
    return f"the {one} was {words[number % 6]} and the {other} was {words[(number // 2 + 3) % 6]}"


def as_csv(rows: list[list[Any]], end: str = "\n") -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator=end).writerows(rows)
    return file.getvalue()


def as_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def reviews(first: int, count: int) -> list[list[str]]:
    """Texts with three labels, of which one is rare; numbers from `first` on."""
    rows = [[opinion(n, n % 2 == 0), "good" if n % 2 == 0 else "bad"] for n in range(first, first + count)]
    rows[3] = ['it was "so so", neither warm, nor cold', "mixed"]
    rows[count // 2] = ["so so, with fresh bread and stale coffee", "mixed"]
    rows[5] = rows[7]  # a duplicate
    rows[6] = [" ".join(opinion(n, True) for n in range(first, first + 12)), "good"]  # longer than max_length
    rows[8] = ["수프가 차갑고 음악이 지루한 밤", "bad"]
    return rows


REVIEWS = [["text", "label"], *reviews(0, 60), ["", "bad"]]
SPLIT = {
    "stays/train.csv": as_csv([["text", "label"], *reviews(0, 50)]),
    "stays/dev.csv": as_csv([["text", "label"], *reviews(50, 16)]),
    "stays/test.csv": as_csv([["text", "label"], *reviews(66, 14)], end="\r\n"),
}
PAIRS = [["id", "sentence1", "sentence2", "label"]] + [
    [f"p-{n}", opinion(n, True), "" if n == 9 else opinion(n if n % 2 else n + 3, n % 2 == 1), "no" if n % 2 else "yes"]
    for n in range(48)
]
NUMBERS = [["a", "b", "score"]] + [
    [opinion(n, n % 3 > 0), opinion(n + n % 4, n % 3 > 0), f"{5 - n % 4 - n / 100:.2f}"] for n in range(48)
]
STEPS = [["review", "stars"]] + [
    [f"{opinion(n, n % 3 > 0)}, {['never again', 'so so', 'we come again'][n % 3]}", 1 + n % 3] for n in range(48)
]
TOPICS = [
    {
        "text": f"{opinion(n, n % 2 == 0)} number {n}",
        "labels": [t for t, k in (("good", 2), ("third", 3)) if n % k == 0],
    }
    for n in range(48)
]


def tagged(first: int, count: int) -> str:
    """Sentences of words with tags, by turns of a person and a place."""
    text = ""
    for n in range(first, first + count):
        person, place = PEOPLE[n % 5].split(), PLACES[n // 2 % 5].split()
        words = [("today", "O")] * (n % 3) + [(w, f"{'I' if k else 'B'}-PER") for k, w in enumerate(person)]
        words += [("saw" if n % 4 else "left", "O")] + [(w, f"{'I' if k else 'B'}-LOC") for k, w in enumerate(place)]
        words += [("and", "O"), ("the", "O"), ("garden", "O")] * (12 if n == first + 4 else 0)  # longer than max_length
        text += "".join(f"{word} {tag}\n" for word, tag in [*words, (".", "O")]) + "\n"
    return text


def questions(first: int, count: int, *, unanswered: bool) -> str:
    """SQuAD's JSON: two questions a paragraph, in `unanswered` ones every third without an answer."""
    paragraphs = []
    for n in range(first, first + count):
        person, place, thing = PEOPLE[n % 5], PLACES[n // 2 % 5], THINGS[n % 7]
        before = "It rained. " * (n % 3) + " ".join(["The garden was green."] * (9 if n == first + 2 else 0))
        context = f"{before}{person} lives in {place}. The {thing} is in {place} too."
        none = unanswered and n % 3 == 0
        asked = [(f"Who lives in {place}?", person), (f"Where is the {'moon' if none else thing}?", place)]
        qas = [
            {"id": f"q{n}-{k}", "question": question, "is_impossible": bool(k and none),
             "answers": [] if k and none else [{"text": answer, "answer_start": context.index(answer)}]}
            for k, (question, answer) in enumerate(asked)
        ]  # fmt: skip
        paragraphs.append({"context": context, "qas": qas})
    return json.dumps({"version": "2.0", "data": [{"title": "Places", "paragraphs": paragraphs}]}, ensure_ascii=False)


QUIZ = [["question", "choice1", "choice2", "choice3", "answer"]] + [
    [f"which is {word}, {n}?", *[opinion(n + k, k == n % 3)[:40] for k in range(3)], "ABC"[n % 3]]
    for n in range(40)
    for word in [GOOD[n % 6]]
]


def relation(n: int) -> dict[str, Any]:
    person, place, verb = PEOPLE[n % 5], PLACES[n // 2 % 5], ["lives in", "left", "knows"][n % 3]
    text = f"{'Today ' * (n % 2)}{person} {verb} {place}{' and it rained' * (9 if n == 5 else 0)}."
    spans = [{"word": w, "start": text.index(w), "end": text.index(w) + len(w)} for w in (person, place)]
    return {"text": text, "e1": spans[n == 7], "e2": spans[n != 7], "label": ["home", "gone", "none"][n % 3]}


RELATIONS = [relation(n) for n in range(48)]
RANKINGS = [["query", "passage", "relevance"]] + [
    [f"where is the {THINGS[n % 7]} of {PEOPLE[n % 5]}", passage, grade]
    for n in range(16)
    for passage, grade in [
        (f"the {THINGS[n % 7]} of {PEOPLE[n % 5]} is in {PLACES[n % 5]}", 2 if n % 2 else 1),
        (f"the {THINGS[(n + 1) % 7]} of {PEOPLE[n % 5]} was {BAD[n % 6]}", 0),
        (f"{PEOPLE[(n + 2) % 5]} has no {THINGS[(n + 3) % 7]}" if n != 4 else "한국어 문장", 0),
    ]
]
ASKED = [
    {"text": f"{verb} {PEOPLE[n % 5].split()[0]} the {ANIMALS[n % 3]} now",
     "slots": f"O B-WHO O B-PET {'O' if n % 4 else 'B-WHEN'}", "intent": intent}
    for n in range(24)
    for verb, intent in [("play", "music"), ("읽어", "book")]
]  # fmt: skip
NESTED = [
    {"text": f"{'now ' * (n % 3)}the {colour} {animal} sat",
     "spans": [{"start": 4 * (n % 3), "end": 4 * (n % 3) + 5 + len(colour + animal), "label": "THING"},
               {"start": 4 * (n % 3) + 4, "end": 4 * (n % 3) + 4 + len(colour), "label": "COLOUR"}] if n != 6 else []}
    for n in range(40)
    for colour, animal in [(COLOURS[n % 2], ANIMALS[n % 3])]
]  # fmt: skip


def corpus(first: int, count: int) -> str:
    """Documents of four lines."""
    lines = [
        f"{opinion(n, n % 8 < 4)}. {PEOPLE[n % 4]} saw {PLACES[n % 5]}." for n in range(4 * first, 4 * (first + count))
    ]
    return "\n\n".join("\n".join(lines[n : n + 4]) for n in range(0, len(lines), 4)) + "\n"


WORDS = corpus(0, 60) + "\n" + "\n".join(row[0] for row in REVIEWS[1:]) + "\n"
