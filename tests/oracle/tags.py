"""A word (or a character) a line with its tag: delimiters, comments, running numbers, headers, boundaries, schemes."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .files import put
from .layout import Layout, Row, Tagged, Written
from .words import told

Sentence = tuple[list[str], list[str]]  # words and tags


def sentences(language: str, seed: int, count: int = 60) -> list[Sentence]:
    """Sentences of words and their tags in IOB2."""
    return [([word for word, _ in fact.words], fact.tags) for fact in told(language, count, seed)]


def tagged(some: Sequence[Sentence]) -> list[Row]:
    """The rows of sentences."""
    return [Tagged(tuple(words), tuple(tags)) for words, tags in some]


def blocks(text: str, separator: str, word: int, tag: int, *, left_out: tuple[str, ...] = ("#",)) -> list[Row]:
    """An independent reading: sentences between empty lines, without comments and marks of documents."""
    found, passed = [], (*left_out, "-DOCSTART-")
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        cells = [line.split(separator) for line in block.split("\n") if line and not line.startswith(passed)]
        if cells:
            found.append(Tagged(tuple(row[word] for row in cells), tuple(row[tag] for row in cells)))
    return found


def column_file(
    name: str,
    language: str,
    file: str,
    line: Callable[[int, str, str], str],
    *,
    seed: int,
    head: Callable[[int], str] = lambda _: "",
    reread: tuple[str, int, int] | None = None,
    begin: str = "",
    between: str = "\n",
    ends: str = "\n",
    written: Callable[[list[str]], list[str]] = list,
    **asked: object,
) -> Layout:
    """A file of `line(place, word, tag)` with `head(sentence)` before each sentence; `written` spells the tags."""
    some = sentences(language, seed)

    def write(folder: Path) -> Written:
        parts = [
            head(number) + "".join(line(at, *pair) for at, pair in enumerate(zip(words, written(tags), strict=True), 1))
            for number, (words, tags) in enumerate(some, start=1)
        ]
        text = begin + between.join(parts)
        path = put(folder / file, text.replace("\n", ends))
        return Written(path=path, rows=tagged(some), reread=blocks(text, *reread) if reread else None)

    return Layout(name=name, kind=1, language=language, write=write, **asked)


def layouts() -> Iterator[Layout]:
    """Delimiters and suffixes, what comes before words, schemes, and files that are drawn by their number."""
    yield from map(varied, range(10))
    yield from _delimited()
    yield from _numbered()
    yield _hashtags()
    yield from _schemes()


def _delimited() -> Iterator[Layout]:
    for file, language in (("ner.tsv", "en"), ("ner.csv", "de"), ("ner.txt", "fr"), ("ner.conll", "es"), ("ner", "ru")):
        yield column_file(
            f"word, tab, tag in {file}",
            language,
            file,
            lambda _, word, tag: f"{word}\t{tag}\n",
            seed=51,
            reread=("\t", 0, 1),
        )
    yield column_file(
        "word, blank, tag in a .txt of Windows",
        "en",
        "ner.txt",
        lambda _, word, tag: f"{word} {tag}\n",
        seed=52,
        reread=(" ", 0, 1),
        ends="\r\n",
    )
    quoted = {'"': '""""', ",": '","'}
    yield column_file(
        "word, comma, tag", "en", "ner.csv", lambda _, word, tag: f"{quoted.get(word, word)},{tag}\n", seed=53
    )
    yield column_file(
        "word, semicolon, tag with a header",
        "de",
        "ner.csv",
        lambda _, word, tag: f"{quoted.get(word, word)};{tag}\n",
        seed=54,
        begin="Wort;Tag\n",
    )
    yield column_file(
        "four columns with chunk tags",
        "en",
        "eng.train",
        lambda at, word, tag: f"{word} NN {'B' if at % 3 == 1 else 'I'}-NP {tag}\n",
        seed=55,
        reread=(" ", 0, 3),
        begin="-DOCSTART- -X- -X- O\n\n",
    )


def _numbered() -> Iterator[Layout]:
    yield column_file(
        "a running number first",
        "fr",
        "ner.tsv",
        lambda at, word, tag: f"{at}\t{word}\t{tag}\n",
        seed=61,
        reread=("\t", 1, 2),
    )
    yield column_file(
        "comments as in CoNLL-U",
        "es",
        "ner.conllu",
        lambda at, word, tag: f"{at}\t{word}\t{tag}\t_\n",
        seed=62,
        head=lambda number: f"# sent_id = {number}\n# text = oración {number}\n",
        reread=("\t", 1, 2),
    )
    yield column_file(
        "comments of addresses and dates",
        "de",
        "ner.tsv",
        lambda at, word, tag: f"{at}\t{word}\t{tag}\n",
        seed=63,
        head=lambda number: f"#\thttp://beispiel.de/artikel/{number}\t[2009-10-{number % 28 + 1:02}]\n",
        reread=("\t", 1, 2),
    )
    yield column_file(
        "two columns of tags",
        "de",
        "outer.tsv",
        lambda at, word, tag: f"{at}\t{word}\t{tag}\t{'B-LOCderiv' if word in ('In', 'Es') else 'O'}\n",
        seed=64,
        head=lambda number: f"#\thttp://beispiel.de/artikel/{number}\t[2009-10-{number % 28 + 1:02}]\n",
        reread=("\t", 1, 2),
        must_ask=True,
        answers={"label": "column 3"},
    )


def _hashtags() -> Layout:
    """Posts that begin with a word such as #rain, which is no comment."""
    posts = [([f"#{words[0]}", *words], ["O", *tags]) for words, tags in sentences("en", 65)]

    def write(folder: Path) -> Written:
        text = "\n".join("".join(f"{w}\t{t}\n" for w, t in zip(*post, strict=True)) for post in posts)
        return Written(path=put(folder / "posts.conll", text), rows=tagged(posts))

    return Layout(name="words that begin with #", kind=1, language="en", write=write)


def _schemes() -> Iterator[Layout]:
    def behind(sign: str, outside: str) -> Callable[[list[str]], list[str]]:
        return lambda tags: [outside if tag == "O" else f"{tag[2:]}{sign}{tag[0]}" for tag in tags]

    yield column_file(
        "PER_B and - for outside",
        "ko",
        "naver.txt",
        lambda at, word, tag: f"{at}\t{word}\t{tag}\n",
        seed=81,
        written=behind("_", "-"),
    )
    yield column_file(
        "PER-B and O", "ru", "ner.txt", lambda _, word, tag: f"{word}\t{tag}\n", seed=82, written=behind("-", "O")
    )
    yield column_file(
        "types without a prefix",
        "es",
        "ner.tsv",
        lambda _, word, tag: f"{word}\t{tag}\n",
        seed=83,
        written=lambda tags: [tag.removeprefix("B-").removeprefix("I-") for tag in tags],
    )
    yield column_file("IOBES", "fr", "ner.bio", lambda _, word, tag: f"{word} {tag}\n", seed=84, written=_iobes)


def _iobes(tags: list[str]) -> list[str]:
    after = [*tags[1:], "O"]
    return [
        tag if tag == "O" or follows.startswith("I-") else ("S" if tag[0] == "B" else "E") + tag[1:]
        for tag, follows in zip(tags, after, strict=True)
    ]


def varied(number: int) -> Layout:
    """A file of words and tags whose delimiter, suffix, further columns and comments are drawn."""
    draw = random.Random(f"tags {number}")
    language = draw.choice(["en", "de", "fr", "es", "ru", "ko"])
    sign, spelled = draw.choice([("\t", "tab"), (" ", "blank"), (",", "comma"), (";", "semicolon")])
    file = draw.choice(["train.txt", "train.tsv", "train.csv", "train.iob", "train.conll.gz", "train"])
    counted, noted, pos = draw.random() < 0.4, draw.random() < 0.3, draw.random() < 0.5
    quoted = {'"': '""""', sign: f'"{sign}"'} if sign in ",;" else {}

    def line(at: int, word: str, tag: str) -> str:
        cells = [*([str(at)] if counted else []), quoted.get(word, word), *(["NN" if at % 2 else "VB"] * pos), tag]
        return sign.join(cells) + "\n"

    parts = ["number"] * counted + ["word"] + ["part of speech"] * pos + ["tag"] + ["comments"] * noted
    return column_file(
        f"varied {number}: {file}, {', '.join(parts)}, each after a {spelled}",
        language,
        file,
        line,
        seed=900 + number,
        head=(lambda place: f"# id = {place}\n") if noted else (lambda _: ""),
        reread=None if quoted else (sign, int(counted), int(counted) + 1 + pos),
        ends=draw.choice(["\n", "\r\n"]),
    )
