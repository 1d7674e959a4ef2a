"""SemEval-2010 task 8 (Hendrickx et al. 2010): nine relations between two nominals, in either direction, or Other.

From the official TRAIN_FILE.TXT and TEST_FILE_FULL.TXT, or the Hub. There is no dev file: every tenth of the 8,000
training sentences is dev, so that nothing is chosen on test.
"""

from collections.abc import Iterator
from pathlib import Path

from finetune.data import Source, hub_rows, numbered_lines
from finetune.errors import UserError
from finetune.metrics import accuracy, directed_macro_f1
from finetune.task_types import Rows, SentenceRow, SentenceTask

REPOSITORY = "SemEvalWorkshop/sem_eval_2010_task_8"
ROOT = "SemEval2010_task8_all_data"
FILES = {
    "train": ("TRAIN_FILE.TXT", f"{ROOT}/SemEval2010_task8_training"),
    "test": ("TEST_FILE_FULL.TXT", f"{ROOT}/SemEval2010_task8_testing_keys"),
}
FOLDERS = ("semeval-2010-8", "semeval2010-task8")
NINE = (
    *("Cause-Effect", "Component-Whole", "Content-Container", "Entity-Destination", "Entity-Origin"),
    *("Instrument-Agency", "Member-Collection", "Message-Topic", "Product-Producer"),
)
OTHER = "Other"
LABELS = (*(f"{name}({way})" for name in NINE for way in ("e1,e2", "e2,e1")), OTHER)
TENTH = 10


def read(source: Source, split: str) -> Rows:
    """The rows of a split, from the folder that the user named, else from the Hub."""
    if split not in ("train", "dev", "test"):
        raise UserError(f"SemEval-2010 task 8 has no split '{split}'", "It has train, dev, test")
    part = "test" if split == "test" else "train"
    file, inner = FILES[part]
    folder = source.find((*FOLDERS, *(f"{name}/{inner}" for name in FOLDERS), inner), holds=file)
    if folder is not None:
        rows, origin = list(_official(folder / file)), str(folder / file)
    else:
        hub = hub_rows(REPOSITORY, None, part, looked_for=file)
        rows = [
            SentenceRow(id=str(number), text=fields["sentence"].strip().strip('"'), gold=LABELS[fields["relation"]])
            for number, fields in enumerate(hub, start=1)
        ]
        origin = f"{REPOSITORY} ({part})"
    if split != "test":
        rows = [row for number, row in enumerate(rows, 1) if (number % TENTH == 0) == (split == "dev")]
    return Rows(rows=rows, origin=origin)


def _official(path: Path) -> Iterator[SentenceRow]:
    """The sentences of a file: `1 <tab> "text"`, the relation, a comment, an empty line."""
    sentence: tuple[str, str] | None = None
    for number, line in numbered_lines(path):
        text = line.strip()
        if sentence is None:
            name, tab, rest = text.partition("\t")
            if not tab or not name.isdigit():
                if text and not text.startswith("Comment"):
                    raise UserError(f"{path}:{number}: is not a number, a tab and a sentence", "Fix that line")
                continue
            sentence = name, rest.strip().removeprefix('"').removesuffix('"')
            continue
        if text not in LABELS:
            expected = f"expected {OTHER}, or one of {', '.join(NINE)} with (e1,e2) or (e2,e1)"
            raise UserError(f"{path}:{number}: unknown relation '{text[:40]}'; {expected}", "Fix that line")
        yield SentenceRow(id=sentence[0], text=sentence[1], gold=text)
        sentence = None


TASKS = [
    SentenceTask(
        name="semeval-2010-8",
        read=read,
        labels=LABELS,
        spans=("<e1>", "<e2>"),
        metrics=(directed_macro_f1(OTHER), accuracy),
        dev_splits=("dev", "test"),
    )
]
