"""The commands by group, each with what it does and examples, which `--help` shows without importing the command."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Listed:
    """A command's line in the list of commands, its examples (what is typed, what it does), and the settings that most
    users need first: (how one is typed, what it means).
    """

    help: str
    examples: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...] = ()


GROUPS: dict[str, dict[str, Listed]] = {
    "Train": {
        "run": Listed(
            "Train on your data or a recipe, score and save.",
            (
                ("finetune run reviews.csv", "your own file"),
                ("finetune run stars.csv label=stars model=minilm", "which column and encoder"),
                ("finetune run glue-mrpc train.learning_rate=2e-4", "a recipe, with a setting"),
                ("finetune run glue-rte --seeds 3", "mean, spread and interval"),
                ("finetune run glue-rte --track mlflow", "and send it to a tracker"),
            ),
            (
                ("label=COLUMN", "what is predicted"),
                ("text=COLUMN", "what is read; text=A,B: a pair"),
                ("model=NAME", "a Hub name, a folder, minilm, or a run"),
                ("dev=FILE", "rows to score; else a part is held out"),
                ("test=FILE", "rows that are scored once, at the end"),
                ("max_length=N", "tokens that are read of a row"),
                ("train.epochs=N", "passes over the training rows"),
                ("train.learning_rate=X", "the peak of the learning rate"),
                ("train.batch_size=N", "rows an update"),
            ),
        ),
        "search": Listed(
            "Search settings, and score the best honestly.",
            (
                ("finetune search glue-rte --trials 20", "around the paper's settings"),
                ("finetune search reviews.csv space.toml --test-share 0.2", "your own space"),
                ("finetune search glue-rte preset=paper-grid --prune halving", "a grid, half of it"),
            ),
        ),
        "init": Listed(
            "Print a recipe for your data.",
            (("finetune init reviews.csv > my.toml", "then: finetune run my.toml"),),
        ),
        "cp": Listed("Copy a recipe to edit.", (("finetune cp glue-mrpc mine.toml", "then: finetune run mine.toml"),)),
    },
    "Use": {
        "predict": Listed(
            "Predict every row of a file, or of a folder of Parquet.",
            (
                ("finetune predict reviews.csv new.csv -o out.csv", "by its model"),
                ("finetune predict RUN - < lines.txt", "a text a line"),
                ("finetune predict RUN rows -o predicted --workers 2", "a folder of Parquet"),
            ),
        ),
        "evaluate": Listed(
            "Score a fine-tuned checkpoint without training.",
            (
                ("finetune evaluate reviews.csv held-out.csv", "a file with labels"),
                ("finetune evaluate RUN mrpc", "the dev rows of a task"),
            ),
        ),
        "score": Listed(
            "Score a file of predictions, without a model.",
            (("finetune score squad-v1 predictions.json", "as the official script does"),),
        ),
        "features": Listed(
            "Extract embeddings.",
            (("finetune features minilm reviews.csv -o a.npz", "a vector a text"),),
        ),
        "submission": Listed(
            "Predict the GLUE test sets for the GLUE server.",
            (("finetune submission mrpc rte -o glue.zip --fill-missing", "and constants"),),
        ),
    },
    "Data": {
        "check": Listed(
            "Check data or a recipe before training.",
            (
                ("finetune check reviews.csv", "format, columns and problems"),
                ("finetune check reviews.csv --fix fixed.csv", "writes a fixed copy"),
                ("finetune check glue-mrpc", "what a run would use"),
            ),
        ),
        "tokenizer": Listed(
            "Train a vocabulary on text, or extend one.",
            (
                ("finetune tokenizer corpus.txt -o vocabulary --size 4000", "WordPiece"),
                ("finetune tokenizer corpus.txt -o bytes --kind byte-bpe", "as RoBERTa's"),
                ("finetune tokenizer corpus.txt -o extended --extend minilm --size +2000", "words added"),
            ),
        ),
    },
    "Look": {
        "ls": Listed("List recipes, tasks and runs.", (("finetune ls", "recipes, tasks, finished runs"),)),
        "show": Listed(
            "Show a run with its scores, or a recipe with all its settings.",
            (
                ("finetune show reviews.csv", "the latest run on that file"),
                ("finetune show RUN --predictions 20", "and its first predictions"),
                ("finetune show glue-mrpc", "a recipe"),
            ),
        ),
        "explain": Listed(
            "Show what each word adds to a prediction.",
            (
                ('finetune explain RUN "a warm and witty film"', "signed bars, word by word"),
                ("finetune explain RUN --row 7 -o page.html", "a row of dev, as a page"),
            ),
        ),
        "view": Listed(
            "Write a page that shows the inside of an encoder.",
            (
                ('finetune view minilm "a text" "another"', "attention, layers, outputs"),
                ("finetune view minilm --word bank", "one word in many sentences"),
            ),
        ),
        "compare": Listed(
            "Test whether two runs differ significantly.",
            (("finetune compare A B --seeds", "all runs that differ only in seeds"),),
        ),
        "table": Listed(
            "Compare scores of finished runs with published ones.",
            (
                ("finetune table glue", "as the paper's Table 1"),
                ("finetune table glue --form runs -o glue.html", "with spread and verdicts"),
                ("finetune table glue --cost", "with device time and memory"),
            ),
        ),
        "track": Listed(
            "Send finished runs to trackers, such as MLflow.",
            (("finetune track RUN --to tensorboard,mlflow", "settings, losses, scores, record"),),
        ),
        "report": Listed(
            "Write an HTML report of runs: scores, curves, errors.",
            (("finetune report RUN -o report.html", "one file, no network"),),
        ),
    },
}
MEANT = {  # commands by the names that they have elsewhere
    **dict.fromkeys(("train", "fit", "fine-tune", "finetune", "pretrain", "start"), "run"),
    **dict.fromkeys(("eval", "test"), "evaluate"),
    **dict.fromkeys(("infer", "inference", "classify", "generate"), "predict"),
    **dict.fromkeys(("embed", "encode", "embeddings"), "features"),
    **dict.fromkeys(("tune", "sweep", "optimize"), "search"),
    **dict.fromkeys(("list", "runs", "tasks"), "ls"),
    "copy": "cp",
    "plot": "report",
}
COMMANDS = {name: listed for group in GROUPS.values() for name, listed in group.items()}
FIRST = (  # what `finetune --help` shows
    ("finetune check reviews.csv", "your own file: format and problems"),
    ("finetune run reviews.csv", "trains, scores on held-out rows"),
    ("finetune predict reviews.csv new.csv", "every row of another file"),
    ("finetune run glue-mrpc", "a recipe: BERT on MRPC"),
)


def lines(examples: tuple[tuple[str, str], ...], most: int) -> str:
    """Examples in two columns; below each other where that would be wider than so many characters."""
    width = max(len(typed) for typed, _ in examples)
    fits = all(width + 4 + len(does) <= most for _, does in examples)
    return "\n".join(f"  {typed:<{width}}  {does}" if fits else f"  {typed}\n      {does}" for typed, does in examples)
