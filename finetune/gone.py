"""What earlier versions had: the line that a recipe or a command gets which still names it."""

from typing import Any

from finetune.errors import UserError

# What is typed -> what to do instead: settings and values first, then commands, then options, of one command or of all.
GONE = {
    **dict.fromkeys(("sgd", "radam", "train.momentum"), "Leave it out: train.solver=adam trains"),
    **dict.fromkeys(
        ("noam", "slanted_triangular", "cosine_with_restarts", "polynomial", "constant_with_warmup", "inverse_sqrt"),
        "Set train.schedule=linear, cosine or constant, each with train.warmup",
    ),
    **dict.fromkeys(("train.noam_factor", "train.slant_ratio"), "Leave it out: train.learning_rate is the peak"),
    "train.unfreeze_layers": "Lower the rates of lower layers instead: train.layer_decay=0.8",
    "distil.confidence": "Train on the labels, or on the answers of a run: distil.teacher=RUN",
    "distil.soft": "Train on the labels, or name a run that gives such probabilities: distil.teacher=RUN",
    "distil.states": "Leave it out: the teacher's answers are learned",
    "held_out.fold": "Leave it out, and hold out others with another held_out.seed",
    "rehearse": "Give both files: finetune run old.csv,new.csv model=RUN keep_labels=true",
    **dict.fromkeys(("together", "--together"), "Train on the first task, then on the next one with `model=RUN`"),
    **dict.fromkeys(("corpus", "negatives"), "Write the passages into the rows, with 0 as their relevance"),
    "passages": "Leave it out: all are read; lower train.batch_size, which counts queries with loss=listwise",
    "loss=pairwise": "Set loss=listwise, which scored the same",
    "choices_by=column": "Set choices_by=letter, which reads names of columns too",
    "ordinal": "Leave it out: order=LABEL,LABEL,LABEL scores them as ordered labels",
    "read_at": "Leave it out: the head reads the vector of the text",
    "levels": "Leave it out: each label is a class",
    "longest_span": "Leave it out: spans that overlap are tagged, of any length",
    "mask=spans": "Set objective=mlm-sbo, or mask=words",
    "generator_size": "Leave it out: it is a quarter of the encoder's",
    "replace": "Leave it out: 80 % become [MASK], 10 % a random token, 10 % stay",
    **dict.fromkeys(
        ("encoder-decoder", "shape=sequence", "target"),
        "Name an encoder, and a label of the texts with label=COLUMN; transformers' Seq2SeqTrainer writes texts",
    ),
    "word2vec": "Train one: model=new:0x128 objective=skip-gram",
    **dict.fromkeys(("-electra", "-prenorm", "-rotary", "-sinusoidal"), "Name the size alone: model=new:mini"),
    "card": "finetune push RUN OWNER/NAME sends one, and finetune export RUN -o FOLDER writes one",
    "cp": "finetune init NAME > mine.toml does",
    "score": "finetune evaluate predictions.json TASK does",
    "soup": "Train several seeds, and make them teachers of one model: finetune run DATA distil.teacher=RUN,RUN",
    "track": "Send a run while it trains: finetune run DATA --track NAME",
    "finetune.train": "Call finetune.run, with the same arguments",
    "on": "Leave it out, and start the same command several times with wait=False: each run is trained once",
    **dict.fromkeys(
        ("run --on", "--workers", "--cpus-each", "--gpus-each"),
        "Leave it out, and start the same command several times with --no-wait: each run is trained once",
    ),
    "predict --on": "Leave it out, and give each machine files of its own",
    "search --on": "Leave it out: the search finds the same settings",
    **dict.fromkeys(("serve --on", "--replicas"), "Leave it out, and start `finetune serve` on each machine"),
    **dict.fromkeys(
        ("--machines", "--processes", "--address"),
        "Start the processes with torchrun --nnodes 2 --nproc_per_node 4 -m finetune run",
    ),
    "--sbatch": "Write the options into an sbatch script that starts the same command",
    "--collect": "Leave it out, and name a folder that all machines share with --out",
    "--live": "Leave it out: the terminal shows progress, and --track sends it",
    "--running": "Leave it out: the table of interrupted runs of finetune ls says which are running",
    "--folds": "Hold rows out with --test-share 0.2",
    "--prune": "Give fewer --trials, or fewer train.epochs",
    "search --page": "Read the table, or --json",
    "report --explain": "Leave it out: finetune explain RUN --row ID explains a row, by its id on the page",
    **dict.fromkeys((".html", ".tex"), "Write .md or .csv: `pandoc TABLE.md -o TABLE.tex` makes other files of it"),
    **dict.fromkeys(
        ("--bits", "--keep-fp32"), "Leave it out: --int8 takes 7 bits, and --tolerance is how many points it may lose"
    ),
    **dict.fromkeys(
        ("--engine", "openvino"), "Name the folder of an ONNX graph: finetune export RUN -o FOLDER writes one"
    ),
    "check --escape-formulas": "finetune predict RUN FILE --escape-formulas has it",
    "--extend": "Train a vocabulary for a new encoder: finetune tokenizer TEXTS -o FOLDER",
    "tokenizer --kind": "Leave it out: it is a WordPiece, as BERT's; tokenizer=FOLDER takes others",
    "--precision": "Ask for the share of all answers that may be wrong: --risk 0.05",
    "--label-sets": "Leave it out: columns p(LABEL) have their probabilities",
    "--null-odds": "Leave it out: in predictions.json of a run an empty text means that there is no answer",
    **dict.fromkeys(
        ("--level", "--robust"), "Leave it out, and label some rows of the file: finetune evaluate RUN FILE"
    ),
    "temperature": "Leave it out, and read the calibration of the run: finetune report RUN -o report.html",
    **dict.fromkeys(
        ("evaluate --coverage", "evaluate --risk"),
        "finetune predict RUN FILE counts and scores what is answered, in a file with labels",
    ),
    "evaluate --predictions": "Write them with finetune predict MODEL FILE -o out.parquet",
    **dict.fromkeys(("features --split", "features --data"), "Leave it out, and name a file: every row is embedded"),
    "label-next --data": "Leave it out, and name a run on a file of yours",
    "label-next --new-only": "Leave it out: no others are written",
    "label-next --random": "Leave it out, or draw rows with pandas: df.sample(200)",
    "label-next --to": "Write .csv or .jsonl, which labelling tools import",
    "push --export": "Leave it out: the model and its card are sent, which can be exported",
    "push --with-examples": "Leave it out, and write them into model/README.md of the run, which is sent as the card",
    "serve --examples": "Leave it out: finetune report RUN shows them",
    "--log-texts": "Leave it out, and print them where they are sent",
}

# Settings that are gone, with the value that they had when nobody set them: recipes in records hold every setting.
DEFAULTS: dict[str, Any] = {
    "distil.confidence": "",
    "distil.soft": False,
    "distil.states": False,
    "held_out.fold": 0,
    "options.ordinal": False,
    "options.read_at": "cls",
    "options.generator_size": 0.25,
    "options.replace": [0.8, 0.1, 0.1],
    "rehearse": 0.0,
    "together": {"tasks": [], "sampling": "proportion", "weights": {}},
    "train.momentum": 0.9,
    "train.noam_factor": 1.0,
    "train.slant_ratio": 32.0,
    "train.unfreeze_layers": 0,
}


def gone(name: str) -> UserError | None:
    """The error for a command, an option, a setting or a value of earlier versions; None for any other name."""
    return UserError(f"'{name}' was taken out", GONE[name]) if name in GONE else None


def gone_setting(key: str) -> UserError | None:
    """The error for a key that is gone: `train.momentum`, by its last word too, `together.tasks`; None for others."""
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    names += [name for name in DEFAULTS if name.endswith(f".{key}")]
    return next(filter(None, map(gone, names)), None)


def without_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """A recipe's table without settings that are gone and that nobody had set.

    Raises UserError for an option of a task that is gone and was set; other settings are refused where they are parsed.
    """
    left = dict(table)
    for name, default in DEFAULTS.items():
        section, _, key = name.rpartition(".")
        inner = left.get(section) if section else left
        if not isinstance(inner, dict) or key not in inner:
            continue
        if inner[key] == default:
            rest = {other: value for other, value in inner.items() if other != key}
            left = left | {section: rest} if section else rest
        elif section == "options" and (error := gone(key)):
            raise error
    return left
