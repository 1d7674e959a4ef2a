"""Whether two runs differ."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=5,
    help="Test whether two runs differ significantly.",
    examples=(("finetune compare A B --seeds", "all runs that differ only in seeds"),),
)
