"""The label in the line of the text, files without a known suffix, and folders with label files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .files import Dialect, put, put_table, table
from .layout import Layout, Row, Text, Written
from .words import one_of, opinions, several

KINDS = ["DESC:manner", "DESC:def", "ENTY:animal", "HUM:ind", "LOC:city", "NUM:count", "ABBR:exp"]


def line_file(
    name: str,
    language: str,
    file: str,
    line: Callable[[str, str], str],
    split: Callable[[str], tuple[str, str]],
    labels: Sequence[str],
    *,
    seed: int,
    ends: str = "\n",
    label_of: Callable[[str], str | tuple[str, ...]] = str,
) -> Layout:
    """A file of `line(label, text)`; `split` is an independent way back."""
    found = opinions(language, len(labels), seed)

    def write(folder: Path) -> Written:
        path = put(folder / file, "".join(line(label, text) + ends for label, text in zip(labels, found, strict=True)))
        again = [split(some) for some in path.read_text(encoding="utf-8").splitlines()]
        rows: list[Row] = [Text(text, None, label_of(label)) for label, text in zip(labels, found, strict=True)]
        return Written(path=path, rows=rows, reread=[Text(text, None, label_of(label)) for label, text in again])

    return Layout(name=name, kind=8, language=language, write=write)


def layouts() -> Iterator[Layout]:
    """Labels in front and behind, fastText's, suffixes, folders."""
    yield from _in_front()
    yield from _fasttext()
    yield from _suffixes()
    yield from _folders()


def _in_front() -> Iterator[Layout]:
    def cut(sign: str) -> Callable[[str], tuple[str, str]]:
        return lambda line: (line.partition(sign)[0], line.partition(sign)[2])

    yield line_file(
        "LABEL:kind text",
        "en",
        "train_5500.label",
        lambda y, t: f"{y} {t}",
        cut(" "),
        one_of(KINDS, 180, 701),
        seed=702,
    )
    yield line_file(
        "LABEL text",
        "de",
        "fragen.txt",
        lambda y, t: f"{y} {t}",
        cut(" "),
        one_of(["ORT", "ZEIT", "GRUND"], 150, 703),
        seed=704,
    )
    for file in ("SMSSpamCollection", "sms.txt", "sms.data"):
        yield line_file(
            f"ham, tab, text in {file}",
            "en",
            file,
            lambda y, t: f"{y}\t{t}",
            cut("\t"),
            one_of(["ham", "spam"], 200, 705),
            seed=706,
        )
    yield line_file(
        "text@label",
        "fr",
        "Sentences.txt",
        lambda y, t: f"{t}@{y}",
        lambda line: line.rpartition("@")[::-2],
        one_of(["neutral", "positive", "negative"], 150, 707),
        seed=708,
    )
    yield line_file(
        "text, tab, label",
        "ru",
        "отзывы.txt",
        lambda y, t: f"{t}\t{y}",
        lambda line: line.rpartition("\t")[::-2],
        one_of(["1", "0"], 150, 709),
        seed=710,
        ends="\r\n",
    )


def _fasttext() -> Iterator[Layout]:
    yield line_file(
        "__label__ in front",
        "es",
        "cooking.train",
        lambda y, t: f"__label__{y} {t}",
        lambda line: (line.split(" ", 1)[0].removeprefix("__label__"), line.split(" ", 1)[1]),
        one_of(["queja", "elogio"], 150, 711),
        seed=712,
    )
    marks = [" ".join(some) for some in several(["sauce", "bread", "tea", "knife", "rice"], 150, 713)]

    def back(line: str) -> tuple[str, str]:
        words = line.split(" ")
        names = [word.removeprefix("__label__") for word in words if word.startswith("__label__")]
        return " ".join(names), " ".join(words[len(names) :])

    yield line_file(
        "several __label__ in front",
        "en",
        "cooking.stackexchange.txt",
        lambda y, t: " ".join(f"__label__{name}" for name in y.split()) + f" {t}",
        back,
        marks,
        seed=714,
        label_of=lambda cell: tuple(sorted(cell.split())),
    )
    yield line_file(
        "__label__ with a tab behind",
        "en",
        "reviews.txt",
        lambda y, t: f"__label__{y}\t{t}",
        lambda line: (line.split("\t")[0].removeprefix("__label__"), line.split("\t")[1]),
        one_of(["1", "2"], 150, 715),
        seed=716,
    )


def _suffixes() -> Iterator[Layout]:
    for file, delimiter in (("reviews", ","), ("reviews.train", "\t"), ("reviews.data", "|")):
        columns = {"sentiment": one_of(["gut", "schlecht"], 110, 721), "text": opinions("de", 110, 722)}
        yield table(
            f"a table in {file}", 8, "de", columns, label="sentiment", file=file, dialect=Dialect(delimiter=delimiter)
        )


def _folders() -> Iterator[Layout]:
    names = ["anger", "joy", "optimism", "sadness"]
    found, numbers = opinions("en", 130, 731), one_of(["0", "1", "2", "3"], 130, 732)
    dev, dev_numbers = opinions("en", 40, 733), one_of(["0", "1", "2", "3"], 40, 734)
    by_name: list[Row] = [
        Text(t, None, names[int(n)]) for t, n in zip([*found, *dev], [*numbers, *dev_numbers], strict=True)
    ]
    by_number: list[Row] = [Text(t, None, n) for t, n in zip([*found, *dev], [*numbers, *dev_numbers], strict=True)]

    def parallel(folder: Path) -> Written:
        for part, some, labels in (("train", found, numbers), ("val", dev, dev_numbers)):
            put(folder / "emotion" / f"{part}_text.txt", "".join(f"{text}\n" for text in some))
            put(folder / "emotion" / f"{part}_labels.txt", "".join(f"{label}\n" for label in labels))
        put(folder / "emotion" / "mapping.txt", "".join(f"{n}\t{name}\n" for n, name in enumerate(names)))
        return Written(path=folder / "emotion", rows=by_name, or_rows=[by_number], converted=by_number[: len(found)])

    yield Layout(name="a folder with texts and labels in two files", kind=8, language="en", write=parallel)

    def listed(file: str, header: bool) -> Callable[[Path], Written]:
        def write(folder: Path) -> Written:
            dialect = Dialect(header=header, delimiter="\t", quoting=3)
            put_table(folder / "topics" / "train.txt", {"text": found, "label": numbers}, dialect)
            put_table(folder / "topics" / "dev.txt", {"text": dev, "label": dev_numbers}, dialect)
            put(folder / "topics" / file, "".join(f"{name}\n" for name in names))
            return Written(path=folder / "topics", rows=by_name, or_rows=[by_number])

        return write

    for file, header in (("classes.txt", False), ("labels.txt", True)):
        yield Layout(
            name=f"a folder with {file} and labels by number",
            kind=8,
            language="en",
            write=listed(file, header),
            answers={"labels": "{folder}/topics/" + file},
        )

    def suffixed(folder: Path) -> Written:
        columns = {"text": opinions("fr", 120, 735), "label": one_of(["vrai", "faux"], 120, 736)}
        parts = {"trec.train": slice(0, 90), "trec.dev": slice(90, 105), "trec.test": slice(105, 120)}
        for file, part in parts.items():
            put_table(
                folder / "set" / file, {name: cells[part] for name, cells in columns.items()}, Dialect(delimiter="\t")
            )
        rows: list[Row] = [Text(t, None, y) for t, y in zip(*(cells[:105] for cells in columns.values()), strict=True)]
        return Written(path=folder / "set", rows=rows)

    yield Layout(
        name="a folder of .train, .dev and .test",
        kind=8,
        language="fr",
        write=suffixed,
        answers={"text": "text", "label": "label"},
    )
