"""Trains models and scores them."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Train",
    place=1,
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
    takes_settings=True,
)
