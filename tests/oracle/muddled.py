"""A text and a label among columns that are neither, drawn by number: ids, hashes, dates, urls, users, measures."""

import random
from collections.abc import Callable, Iterator

from .files import Dialect, mixed, table
from .ids import hashed
from .layout import Layout
from .words import LANGUAGES, one_of, opinions

OTHERS: dict[str, Callable[[int, random.Random], list[str]]] = {
    "row": lambda count, _: [str(n) for n in range(count)],
    "post_id": lambda count, draw: [str(9 * 10**17 + draw.randrange(10**15)) for _ in range(count)],
    "checksum": lambda count, draw: hashed(count, draw.randrange(999), 32),
    "posted": lambda count, draw: [f"2022-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}" for _ in range(count)],
    "clock": lambda count, draw: [f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:07" for _ in range(count)],
    "page": lambda count, draw: [f"https://site.example/{draw.randrange(10**6)}" for _ in range(count)],
    "by": lambda count, draw: [f"{draw.choice(['mira', 'tom', 'jo'])}_{draw.randrange(500)}" for _ in range(count)],
    "weight": lambda count, draw: [f"{draw.random() * 40:.3f}" for _ in range(count)],
    "version": lambda count, _: ["v3"] * count,
    "exported": lambda count, draw: [f"{1 + draw.random():.5f}E+17" for _ in range(count)],
}
TEXTS = ("text", "Message", "remark", "utterance_raw", "body_plain")
LABELS = ("label", "Sentiment", "toxicity_class", "final_label", "category")
VALUES = (["yes", "no"], ["0", "1"], ["A", "B", "C"], ["low", "mid", "high"], ["1", "2", "3", "4"])


def muddled(number: int) -> Layout:
    """One table, drawn by its number."""
    draw = random.Random(f"muddled {number}")
    language, count = draw.choice(LANGUAGES), draw.randint(80, 300)
    text, label = draw.choice(TEXTS), draw.choice(LABELS)
    names = draw.sample([*OTHERS], draw.randint(2, 5))
    columns = {
        text: opinions(language, count, 2_000 + number),
        label: one_of(draw.choice(VALUES), count, number),
        **{name: OTHERS[name](count, draw) for name in names},
    }
    dialect = Dialect(delimiter=draw.choice(",;\t"), header=draw.random() < 0.6, ends=draw.choice(["\n", "\r\n"]))
    shown = mixed(columns, number)
    name = f"muddled {number}: {', '.join(shown)}{'' if dialect.header else ', no header'}"
    return table(name, 5, language, shown, text=text, label=label, dialect=dialect)


def layouts() -> Iterator[Layout]:
    """Sixteen of them."""
    yield from map(muddled, range(16))
