"""The list of recipes, tasks and runs."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=1,
    help="List recipes, tasks and runs.",
    examples=(("finetune ls", "recipes, tasks, finished runs"),),
    also=("list", "runs", "tasks"),
)
