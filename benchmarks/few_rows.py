"""The default of `finetune run FILE` from 8 to 2,000 rows a class, next to TF-IDF, a linear probe and SetFit.

python benchmarks/few_rows.py --out results/benchmarks/few_rows.json --sizes 8 32 128 --draws 5
python benchmarks/few_rows.py --files-alone --work FOLDER    # for setfit_few_rows.py, in an environment with SetFit

A draw is a training file of so many rows of each class; of numbers it has five times as many rows, of tags four times.
All methods are scored on the same test rows. A finished draw is kept, so that the same command goes on.
"""

import argparse
import csv
import itertools
import json
import lzma
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.models.model_folder import FEW_ROWS
from finetune.task_types.registry import find

Cells = tuple[str, ...]
TEST_ROWS, CLASSES_OF_NUMBERS, TAGS = 300, 5, 4
ARTICLES, PARAGRAPHS, WORDS = 100, 60, 25  # of Wikipedia, of each of them at least, and of each paragraph
PROBE: dict[str, Any] = {"frozen": True, "train.solver": "logistic", "pooling": "mean"}


def texts(task: str) -> Callable[[str], tuple[Cells, list[tuple[Cells, str]]]]:
    """The reader of a shipped task on texts or pairs: the header, and each row's cells with its class."""

    def read(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
        rows = find(task).load(source_of(None), split).rows
        header = ("sentence1", "sentence2")[: len(rows[0].texts)] if rows[0].pair is not None else ("text",)
        numbers = isinstance(rows[0].gold, float)
        found = [((*row.texts, str(row.gold)), "" if numbers else str(row.gold)) for row in rows]
        return (*header, "score" if numbers else "label"), found

    return read


def table(folder: str, files: dict[str, str], columns: dict[str, str]) -> Callable[[str], Any]:
    """The reader of a tab-separated file of the data folder; `columns` are its names and ours, the label last."""

    def read(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
        root = source_of(None).folder
        assert root is not None
        lines = (root / folder / files[split]).read_text(encoding="utf-8").splitlines()
        places = [lines[0].split("\t").index(name) for name in columns]
        rows = [tuple(line.split("\t")[place] for place in places) for line in lines[1:]]
        label = list(columns.values())[-1]
        usable = [cells for cells in rows if all(cells)]
        return tuple(columns.values()), [(cells, cells[-1] if label == "label" else "") for cells in usable]

    return read


def types_of_entities(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
    """Sentences of CoNLL-2003 with the types of their entities, as several labels; a row's class is its first type."""
    rows = find("conll-2003").load(source_of(None), split).rows
    named = [(" ".join(row.words), sorted({tag[2:] for tag in row.gold if tag != "O"})) for row in rows]
    return ("text", "labels"), [((text, json.dumps(types)), types[0]) for text, types in named if types]


def tagged(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
    """Sentences of WNUT-17 with at least one entity: its words and tags, a pair a line."""
    rows = find("wnut-17").load(source_of(None), split).rows
    return (), [
        (tuple(f"{w}\t{t}" for w, t in zip(r.words, r.gold, strict=True)), "") for r in rows if set(r.gold) > {"O"}
    ]


def every_second(pairs: Sequence[tuple[str, str]], split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
    """Texts and their class: every second one is for training, the others for dev."""
    return ("text", "label"), [((text, name), name) for text, name in pairs[split != "train" :: 2]]


def articles_of_questions(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
    """Questions of SQuAD 1.1's dev file; their class is the title of the article, one of 48."""
    path = source_of(None).require(["squad"], holds="dev-v1.1.json") / "dev-v1.1.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    parts = [(one["title"], part) for one in articles for part in one["paragraphs"]]
    return every_second([(asked["question"].strip(), title) for title, part in parts for asked in part["qas"]], split)


@cache
def articles_of_paragraphs(split: str) -> tuple[Cells, list[tuple[Cells, str]]]:
    """The first words of paragraphs of Wikipedia; their class is the title of the article, one of 100."""
    path = source_of(None).require(["text"], holds="enwiki-part.txt.xz") / "enwiki-part.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        articles = (part.splitlines() for part in file.read().split("\n\n"))
        long = [lines for lines in articles if len(lines) > PARAGRAPHS][:ARTICLES]
    pairs = [(" ".join(line.split()[:WORDS]), title) for title, *lines in long for line in lines]
    return every_second(pairs, split)


KORSTS = {"train": "sts-train.tsv", "dev": "sts-dev.tsv"}
NSMC = {"train": "ratings_train.txt", "dev": "ratings_test.txt"}
SETS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "sst2": ("labels, English", texts("sst2")),
    "cola": ("labels, English", texts("cola")),
    "nsmc": ("labels, Korean", table("nsmc", NSMC, {"document": "text", "label": "label"})),
    "mrpc": ("labels of pairs, English", texts("mrpc")),
    "stsb": ("numbers of pairs, English", texts("stsb")),
    "korsts": (
        "numbers of pairs, Korean",
        table("korsts", KORSTS, {"sentence1": "sentence1", "sentence2": "sentence2", "score": "score"}),
    ),
    "conll-types": ("several labels, English", types_of_entities),
    "wnut17": ("tags, English", tagged),
    "squad-articles": ("48 labels, English", articles_of_questions),
    "wiki-articles": ("100 labels, English", articles_of_paragraphs),
}


def drawn(rows: Sequence[tuple[Cells, str]], size: int, draw: int) -> list[Cells]:
    """So many rows of each class; empty where a class has fewer."""
    by_class: defaultdict[str, list[Cells]] = defaultdict(list)
    for cells, name in rows:
        by_class[name].append(cells)
    source = random.Random(f"{size}:{draw}")
    wanted = size if len(by_class) > 1 else size * (TAGS if len(rows[0][0][-1].split("\t")) > 1 else CLASSES_OF_NUMBERS)
    if min(map(len, by_class.values())) < wanted:
        return []
    found = [cells for name in sorted(by_class) for cells in source.sample(by_class[name], wanted)]
    source.shuffle(found)
    return found


def write(path: Path, header: Cells, rows: Sequence[Cells]) -> Path:
    """A CSV file, or without a header one of words and tags."""
    with path.with_suffix(".csv" if header else ".conll").open("w", newline="", encoding="utf-8") as file:
        if header:
            csv.writer(file).writerows([header, *rows])
        else:
            file.writelines("\n".join(row) + "\n\n" for row in rows)
    return Path(file.name)


def files(name: str, size: int, draw: int, folder: Path) -> tuple[Path, Path] | None:
    """The training and the test file of a draw; None where the set has too few rows."""
    read = SETS[name][1]
    header, rows = read("train")
    train = drawn(rows, size, draw)
    if not train:
        return None
    test = [cells for cells, _ in read("dev")[1]]
    chosen = random.Random(0).sample(test, min(TEST_ROWS, len(test)))
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / f"{name}-{size}-{draw}", header, train), write(folder / f"{name}-test", header, chosen)


def measured(train: Path, test: Path, out: Path) -> dict[str, Any]:
    """The scores on test of the default run and of its baselines, from its record."""
    started = time.process_time()
    run = finetune.run(str(train), test=str(test), out=out, progress=False)
    record = run.records[0]
    seconds = time.process_time() - started
    name = record.headline
    scores = {"finetune": record.scores["test"][name]}
    scores |= {method: found[name] for method, found in record.baselines["test"].items()}
    if "linear-probe" not in scores and record.rows["train"] >= FEW_ROWS and train.suffix != ".conll":
        probe = finetune.run(str(train), test=str(test), out=out, progress=False, **PROBE)
        scores["linear-probe"] = probe.records[0].scores["test"][name]
    interval = record.margins["test"].interval
    return {
        "rows": record.rows["train"] + record.rows["dev"], "metric": name, "scores": scores, "interval": interval,
        "cpu_seconds": seconds, "run": record.id,
    }  # fmt: skip


def cells_of(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """(set, size, draw): all sets of a draw before the next one, small sizes first."""
    for size, draw, name in itertools.product(options.sizes, range(options.draws), options.sets):
        yield name, size, draw


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("The default run with few rows", required=False)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 32, 128, 512, 2_000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--work", type=Path, default=Path("build/few-rows"), help="folder of the files and runs")
    parser.add_argument("--files-alone", action="store_true", help="write the files, and train nothing")
    options = parser.parse_args()
    before = json.loads(options.out.read_text()) if options.out and options.out.is_file() else {"draws": {}}
    for name, size, draw in cells_of(options):
        key = f"{name} {size} {draw}"
        given = None if key in before["draws"] else files(name, size, draw, options.work)
        if given is None or options.files_alone:
            continue
        found = measured(*given, options.work / "results")
        print(key, {method: round(100 * score, 1) for method, score in found["scores"].items()}, flush=True)
        if options.out is not None:
            now = json.loads(options.out.read_text()) if options.out.is_file() else before  # several may run at once
            now["draws"][key] = found
            sets = {each: SETS[each][0] for each in SETS}
            about = "test score by rows a class, of the default run and baselines"
            facts = {"about": about, **machine.facts(), "model": "minilm", "test_rows": TEST_ROWS, "sets": sets}
            write_json(options.out, {**facts, "draws": now["draws"]})


if __name__ == "__main__":
    main()
