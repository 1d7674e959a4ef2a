"""The commands: what `finetune --help` lists of each, without importing any.

A command `label-next` is the function `label_next` of `finetune/commands/label_next.py`, for Python and the terminal,
and `shown` there says what the terminal prints of its result.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A command's line in the list, and its examples (typed words, effect).

    `settings` are the ones that most users need first; `also` are the command's names in other tools.
    """

    help: str
    examples: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()


GROUPS: dict[str, dict[str, Listed]] = {
    "Train": {
        "run": Listed(
            help="Train on your data or a recipe, score and save.",
            examples=(
                ("finetune run reviews.csv", "your own file"),
                ("finetune run stars.csv label=stars model=minilm", "which column and encoder"),
                ("finetune run glue-mrpc train.learning_rate=2e-4", "a recipe, with a setting"),
                ("finetune run glue-rte --seeds 3", "mean, spread and interval"),
                ("finetune run glue-rte --track mlflow", "and send it to a tracker"),
            ),
            settings=(
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
            also=("train", "fit", "fine-tune", "finetune", "pretrain", "start"),
        ),
        "search": Listed(
            help="Search settings, and score the best honestly.",
            examples=(
                ("finetune search glue-rte --trials 20", "around the paper's settings"),
                ("finetune search reviews.csv space.toml --test-share 0.2", "your own space"),
                ("finetune search glue-rte preset=paper-grid", "a grid"),
            ),
            also=("tune", "sweep", "optimize"),
        ),
        "init": Listed(
            help="Print a recipe to edit, for your data or a shipped one.",
            examples=(
                ("finetune init reviews.csv > my.toml", "then: finetune run my.toml"),
                ("finetune init glue-mrpc > mine.toml", "a shipped recipe"),
            ),
        ),
    },
    "Use": {
        "predict": Listed(
            help="Predict every row of a file.",
            examples=(
                ("finetune predict reviews.csv new.csv -o out.csv", "by its model"),
                ("finetune predict RUN - < lines.txt", "a text a line"),
            ),
            also=("infer", "inference", "classify", "generate"),
        ),
        "evaluate": Listed(
            help="Score a fine-tuned checkpoint without training.",
            examples=(
                ("finetune evaluate reviews.csv held-out.csv", "a file with labels"),
                ("finetune evaluate RUN mrpc", "the dev rows of a task"),
            ),
            also=("eval", "test"),
        ),
        "features": Listed(
            help="Extract embeddings.",
            examples=(("finetune features minilm reviews.csv -o a.npz", "a vector a text"),),
            also=("embed", "encode", "embeddings"),
        ),
        "label-next": Listed(
            help="Choose the rows to label next.",
            examples=(
                ("finetune label-next reviews.csv new.csv --rows 200 -o next.csv", "for a spreadsheet"),
                ("finetune label-next RUN new.csv --rows 200 -o next.jsonl", "JSON Lines"),
            ),
            also=("active", "active-learning", "next", "sample"),
        ),
        "submission": Listed(
            help="Predict the GLUE test sets for the GLUE server.",
            examples=(("finetune submission mrpc rte -o glue.zip --fill-missing", "and constants"),),
        ),
        "serve": Listed(
            help="Answer over HTTP, with a page to try the model.",
            examples=(
                ("finetune serve reviews.csv", "its latest run, at http://127.0.0.1:8000"),
                ("finetune serve RUN --host 0.0.0.0 --token-env TOKEN", "for other machines, with a token"),
            ),
            also=("server", "api", "http", "rest"),
        ),
        "export": Listed(
            help="Write a graph that predicts without torch, checked on dev.",
            examples=(
                ("finetune export RUN -o exported", "an ONNX graph with the run's answers"),
                ("finetune export RUN -o small --int8", "a quarter of the size; refused if it loses over half a point"),
            ),
        ),
        "push": Listed(
            help="Put a run's model and its card on the Hugging Face Hub.",
            examples=(("finetune push RUN me/reviews --private", "shows what goes out, then asks"),),
            also=("upload", "publish", "hub"),
        ),
    },
    "Data": {
        "check": Listed(
            help="Check data or a recipe before training.",
            examples=(
                ("finetune check reviews.csv", "format, columns and problems"),
                ("finetune check reviews.csv --fix fixed.csv", "writes a fixed copy"),
                ("finetune check glue-mrpc", "what a run would use"),
            ),
        ),
        "tokenizer": Listed(
            help="Train a vocabulary on text.",
            examples=(("finetune tokenizer corpus.txt -o vocabulary --size 4000", "WordPiece"),),
        ),
    },
    "Look": {
        "ls": Listed(
            help="List runs, recipes and tasks; a leaderboard of a task.",
            examples=(
                ("finetune ls", "my runs, recipes, tasks"),
                ("finetune ls mrpc", "the runs of a task"),
                ("finetune ls mrpc --board", "its models and settings, the best first"),
                ("finetune ls mrpc --board -o board.md", "as Markdown; .csv too"),
            ),
            also=("list", "runs", "tasks", "leaderboard"),
        ),
        "show": Listed(
            help="Show a run with its scores, or a recipe with all its settings.",
            examples=(
                ("finetune show reviews.csv", "the latest run on that file"),
                ("finetune show RUN --predictions 20", "and its first predictions"),
                ("finetune show glue-mrpc", "a recipe"),
            ),
        ),
        "explain": Listed(
            help="Show what each word adds to a prediction.",
            examples=(
                ('finetune explain RUN "a warm and witty film"', "signed bars, word by word"),
                ("finetune explain RUN --row 7 -o page.html", "a row of dev, as a page"),
            ),
        ),
        "view": Listed(
            help="Write a page that shows the inside of an encoder.",
            examples=(
                ('finetune view minilm "a text" "another"', "tokens, hidden words, attention"),
                ("finetune view minilm --word bank", "one word in many sentences"),
            ),
        ),
        "compare": Listed(
            help="Test whether two or more runs differ significantly.",
            examples=(
                ("finetune compare A B --seeds", "all runs that differ only in seeds"),
                ("finetune compare A B C", "B and C, each against A"),
            ),
        ),
        "table": Listed(
            help="Compare scores of finished runs with published ones.",
            examples=(
                ("finetune table glue", "as the paper's Table 1"),
                ("finetune table glue --form runs -o glue.md", "with spread and verdicts"),
                ("finetune table glue --cost", "with device time and memory"),
            ),
        ),
        "report": Listed(
            help="Write an HTML report of runs: scores, curves, errors.",
            examples=(("finetune report RUN -o report.html", "one file, no network"),),
            also=("plot",),
        ),
    },
}
COMMANDS = {name: listed for group in GROUPS.values() for name, listed in group.items()}
FIRST = (  # what `finetune --help` shows
    ("finetune check reviews.csv", "your own file: format and problems"),
    ("finetune run reviews.csv", "trains, scores on held-out rows"),
    ("finetune predict reviews.csv new.csv", "every row of another file"),
    ("finetune run glue-mrpc", "a recipe: BERT on MRPC"),
)
