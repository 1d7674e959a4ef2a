"""Whether runs differ."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=5,
    help="Test whether two or more runs differ significantly.",
    examples=(
        ("finetune compare A B --seeds", "all runs that differ only in seeds"),
        ("finetune compare A B C", "B and C, each against A"),
    ),
)
