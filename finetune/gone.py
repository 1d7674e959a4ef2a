"""What earlier versions had: the line that a recipe or a command gets which still names it."""

from typing import Any

from finetune.errors import UserError

# What is typed -> (what it was, what to do instead). A command is `soup`, an option `--live`, a setting `together` or
# `train.momentum`, a value `sgd`, an environment variable `FINETUNE_LANG`.
GONE: dict[str, tuple[str, str]] = {
    "FINETUNE_LANG": (
        "chose the language of the terminal and of pages",
        "Unset it: they are in English, and the documentation has Korean pages",
    ),
    "corpus": (
        "added passages of a file to the queries of a ranking as not relevant",
        "Write them into the rows, with 0 as their relevance",
    ),
    "distil.confidence": (
        "named a column with the probability of each row's label",
        "Train on the labels, or on the answers of a run: distil.teacher=RUN",
    ),
    "distil.soft": (
        "had columns p(LABEL) learned",
        "Train on the labels, or name a run that gives such probabilities: distil.teacher=RUN",
    ),
    "distil.states": ("had a student learn the layers of its teacher", "Leave it out: its answers are learned"),
    "encoder-decoder": ("wrote a text from another one", "Name an encoder, or use Seq2SeqTrainer of transformers"),
    "generator_size": (
        "was the width of the generator of objective=rtd",
        "Leave it out: it is a quarter of the encoder's",
    ),
    "choices_by=column": ("read labels as names of columns", "Set choices_by=letter, which reads them too"),
    "ordinal": (
        "learned ordered labels as steps (CORN)",
        "Leave it out: order=LABEL,LABEL,LABEL scores them as ordered labels",
    ),
    "read_at": ("chose the vectors of two markers for the head", "Leave it out: the head reads that of the text"),
    "mask=spans": ("masked spans of words", "Set objective=mlm-sbo, or mask=words"),
    "held_out.fold": (
        "chose another part of the training rows to hold out",
        "Leave it out, and hold out others with another held_out.seed",
    ),
    "longest_span": (
        "was the longest span that was scored as a pair of words",
        "Leave it out: spans that overlap are tagged, of any length",
    ),
    "levels": ("said what is between the names in labels of a tree", "Leave it out: each label is a class"),
    "loss=pairwise": ("learned pairs of passages", "Set loss=listwise, which scored the same"),
    "negatives": (
        "was how many passages of corpus=FILE were added to a query",
        "Write them into the rows, with 0 as their relevance",
    ),
    "openvino": ("was an engine of exports", "Export the run again, as an ONNX graph: finetune export RUN -o FOLDER"),
    "passages": (
        "was how many passages of a query were drawn for an update",
        "Leave it out: all are read; lower train.batch_size, which counts queries with loss=listwise",
    ),
    "rehearse": (
        "trained on rows of the old run too",
        "Give both files: finetune run old.csv,new.csv model=RUN keep_labels=true",
    ),
    "report --explain": (
        "showed what words add to predictions",
        "Leave it out: finetune explain RUN --row ID explains a row, by its id on the page",
    ),
    "search --on": ("trained the runs of a trial at once", "Leave it out: the search finds the same settings"),
    "serve --on": ("answered from replicas of Ray", "Leave it out, and start `finetune serve` on each machine"),
    "sgd": ("was stochastic gradient descent with momentum", "Leave it out: train.solver=adam trains"),
    "shape=sequence": (
        "wrote a text from another one",
        "Name a label of the texts with label=COLUMN, or use Seq2SeqTrainer of transformers",
    ),
    "slanted_triangular": ("was a schedule of ULMFiT", "Take the default, train.schedule=linear, which is close to it"),
    "card": (
        "wrote the card of a model",
        "finetune push RUN OWNER/NAME sends one, and finetune export RUN -o FOLDER writes one",
    ),
    "radam": ("was rectified Adam", "Leave it out: train.solver=adam trains"),
    "noam": ("was the schedule of the Transformer", "Leave it out: train.schedule=linear trains"),
    **dict.fromkeys(
        ("cosine_with_restarts", "polynomial", "constant_with_warmup", "inverse_sqrt"),
        ("was a schedule of transformers", "Set train.schedule=linear, cosine or constant, each with train.warmup"),
    ),
    "train.noam_factor": ("was of train.schedule=noam", "Leave it out: train.learning_rate is the peak"),
    "on": (
        "trained each run as a task of Ray",
        "Leave it out, and start the same command several times with wait=False: each run is trained once",
    ),
    "run --on": (
        "trained each run as a task of Ray",
        "Leave it out, and start the same command several times with --no-wait: each run is trained once",
    ),
    "replace": ("set what masked tokens become", "Leave it out: 80 % become [MASK], 10 % a random token, 10 % stay"),
    "score": ("scored a file of predictions", "finetune evaluate predictions.json TASK does"),
    "cp": ("copied a recipe", "finetune init NAME > mine.toml does"),
    "soup": (
        "averaged the weights of several runs",
        "Train with --seeds 3, and make the runs the teachers of one model: finetune run DATA distil.teacher=RUN,RUN",
    ),
    "target": (
        "wrote a text from another one",
        "Name a label of the texts with label=COLUMN, or use Seq2SeqTrainer of transformers",
    ),
    "together": (
        "trained several tasks on one encoder",
        "Train on the first task, then on the next one with `model=RUN`",
    ),
    "track": ("sent finished runs to trackers", "Send a run while it trains: finetune run DATA --track NAME"),
    "train.momentum": ("was of train.solver=sgd", "Leave it out: train.solver=adam trains"),
    "train.slant_ratio": ("was of train.schedule=slanted_triangular", "Take the default, train.schedule=linear"),
    "train.unfreeze_layers": (
        "trained the layers one after the other, from the last down",
        "Lower the rates of lower layers instead: train.layer_decay=0.8",
    ),
    "push --with-examples": (
        "showed rows of the data in the card of a model",
        "Leave it out, and write them into README.md in the run's folder `model`, which is pushed in place of the card",
    ),
    "word2vec": ("was a model of vectors without layers", "Train one: model=new:0x128 objective=skip-gram"),
    "finetune.train": ("trained on data in memory or a recipe", "Call finetune.run, with the same arguments"),
    "-electra": ("was a new encoder of the type ELECTRA", "Name the size alone: model=new:mini"),
    "-prenorm": ("was a new encoder with LayerNorm before each part", "Name the size alone: model=new:mini"),
    "-rotary": ("was a new encoder with rotary positions", "Name the size alone: model=new:mini"),
    "-sinusoidal": ("was a new encoder whose positions are sinusoids", "Name the size alone: model=new:mini"),
    "--address": (
        "was where the machines of a run met",
        "Give it to torchrun: --rdzv-backend c10d --rdzv-endpoint node1:29500",
    ),
    "--bits": (
        "chose 7 or 8 bits for an export",
        "Leave it out: --int8 takes 7, which every processor computes exactly",
    ),
    "--collect": (
        "sent runs back from machines that do not see the results folder",
        "Leave it out, and name a folder that all machines share with --out",
    ),
    "--cpus-each": ("gave a task of Ray more cores than one", "Leave it out"),
    "--engine": (
        "chose what computes a model",
        "Leave it out, and name the folder of an ONNX graph: finetune export RUN -o FOLDER writes one",
    ),
    "--extend": (
        "added words of a text to the vocabulary of a model",
        "Train a vocabulary for a new encoder: finetune tokenizer TEXTS -o FOLDER",
    ),
    "--folds": ("repeated a search on folds", "Hold rows out with --test-share 0.2"),
    "--gpus-each": ("gave a task of Ray more or less than one GPU", "Leave it out, or set --device cpu"),
    "--keep-fp32": (
        "left some layers of an export in int8 in fp32",
        "Leave it out, and say with --tolerance how many points int8 may lose, or leave out --int8",
    ),
    "--level": (
        "was the share of false alarms where a new file was compared with the dev rows of a run",
        "Leave it out, and label some rows of the file: finetune evaluate RUN FILE",
    ),
    "--live": ("wrote a page while runs trained", "Leave it out: the terminal shows progress, and --track sends it"),
    ".html": ("wrote tables as pages", "Write .md or .csv"),
    ".tex": ("wrote tables for LaTeX", "Write .md or .csv: `pandoc TABLE.md -o TABLE.tex` makes LaTeX of it"),
    "--log-texts": ("printed the rows of requests", "Leave it out, and print them where they are sent"),
    "--machines": (
        "trained each run on several machines",
        "Start it on each of them with torchrun --nnodes 2 --nproc_per_node 4 -m finetune run",
    ),
    "label-next --new-only": ("wrote new rows alone", "Leave it out: no others are written"),
    "search --page": ("drew the trials of a search as parallel coordinates", "Read the table, or --json"),
    "--processes": (
        "started several processes for each run",
        "Start them with torchrun --standalone --nproc_per_node 2 -m finetune run",
    ),
    "--null-odds": (
        "chose a threshold for answers to SQuAD 2.0",
        "Leave it out: in predictions.json of a run an empty text means that there is no answer",
    ),
    "--prune": ("stopped trials of a search early", "Give fewer --trials, or fewer train.epochs"),
    "--label-sets": ("added sets of labels, or intervals", "Leave it out: columns p(LABEL) have their probabilities"),
    "predict --on": ("predicted by Ray", "Leave it out, and give each machine files of its own"),
    "--precision": (
        "left out predictions of one label",
        "Ask for the share of all answers that may be wrong: --risk 0.05",
    ),
    "evaluate --coverage": (
        "counted what is answered",
        "finetune predict RUN FILE --coverage counts and scores it, in a file with labels",
    ),
    "evaluate --risk": (
        "counted what is answered",
        "finetune predict RUN FILE --risk counts and scores it, in a file with labels",
    ),
    "evaluate --predictions": ("wrote the predictions", "Write them with finetune predict MODEL FILE -o out.parquet"),
    "push --export": ("put exports on the Hub", "Leave it out: the model and its card are sent, which can be exported"),
    "serve --examples": ("showed rows of dev on the page", "Leave it out: finetune report RUN shows them"),
    "label-next --data": ("was where the data of tasks is", "Leave it out, and name a run on a file of yours"),
    "tokenizer --kind": (
        "trained a vocabulary of another kind",
        "Leave it out: it is a WordPiece, as BERT's; tokenizers trains others, which tokenizer=FOLDER takes",
    ),
    "features --split": ("chose a split of a task", "Leave it out, and name a file: every row of it is embedded"),
    "features --data": ("was where the data of tasks is", "Leave it out, and name a file: every row of it is embedded"),
    "temperature": (
        "calibrated the probabilities",
        "Leave it out, and read the calibration of the run: finetune report RUN -o report.html",
    ),
    "--replicas": ("answered from several replicas of Ray", "Start `finetune serve` on each machine"),
    "--running": (
        "listed the runs that are trained now",
        "Leave it out: the table of interrupted runs of finetune ls says which are running",
    ),
    "--robust": (
        "counted the predictions of dev rows that flip when a text is changed a little",
        "Leave it out; texts that you change yourself are predicted by finetune predict RUN FILE",
    ),
    "--sbatch": ("was for `--on slurm`", "Write the options into an sbatch script that starts the same command"),
    "label-next --random": (
        "chose a share of the rows at random",
        "Leave it out, or draw rows with pandas: df.sample(200)",
    ),
    "label-next --to": ("wrote rows for a labelling tool", "Write .csv or .jsonl, which labelling tools import"),
    "--together": (
        "trained several tasks on one encoder",
        "Train on the first task, then on the next one with `model=RUN`",
    ),
    "--workers": (
        "limited what runs at a time",
        "Leave it out, and start the command as often as memory allows, with --no-wait",
    ),
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
    if name not in GONE:
        return None
    was, instead = GONE[name]
    return UserError(f"'{name}' was taken out: it {was}", instead)


def gone_setting(key: str) -> tuple[str, str] | None:
    """What is wrong and what to do for a key that is gone: `train.momentum`, by its last word too, `together.tasks`."""
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    names += [name for name in DEFAULTS if name.endswith(f".{key}")]
    error = next(filter(None, map(gone, names)), None)
    return None if error is None else (error.what, error.way_out)


def without_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """A recipe's table without settings that are gone and that nobody had set.

    Raises UserError for an option of a task that is gone and was set; other settings are refused where they are parsed.
    """
    found = dict(table)
    for name, default in DEFAULTS.items():
        section, _, key = name.rpartition(".")
        inner = found.get(section) if section else found
        if not isinstance(inner, dict) or key not in inner:
            continue
        if inner[key] == default:
            rest = {name: value for name, value in inner.items() if name != key}
            found = found | {section: rest} if section else rest
        elif section == "options" and (error := gone(key)):
            raise error
    return found
