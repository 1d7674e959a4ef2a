"""The list of runs, recipes and tasks, and the leaderboard of a task."""

from finetune.cli.listed import Listed

LISTED = Listed(
    group="Look",
    place=1,
    help="List runs, recipes and tasks; a leaderboard of a task.",
    examples=(
        ("finetune ls", "my runs, recipes, tasks"),
        ("finetune ls mrpc", "the runs of a task"),
        ("finetune ls mrpc --board", "its models and settings, the best first"),
        ("finetune ls mrpc --board -o board.md", "as Markdown; .csv too"),
    ),
    also=("list", "runs", "tasks", "leaderboard"),
)
