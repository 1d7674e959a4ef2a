"""What earlier versions had: the line that a recipe or a command gets which still names it."""

from typing import Any

from finetune.errors import UserError

# What is typed -> (what it was, what to do instead). A command is `soup`, an option `--live`, a setting `together` or
# `train.momentum`, a value `word2vec`.
GONE: dict[str, tuple[str, str]] = {
    "slurm": (
        "submitted runs as jobs of Slurm",
        "Start the same command with --no-wait in an sbatch array: runs lock their folders, so each is trained once",
    ),
    "--sbatch": ("was for `--on slurm`", "Write the options into an sbatch script that starts the same command"),
    "--workers": (
        "limited what runs at a time",
        "Leave it out, or start a Ray cluster with fewer cores: ray start --head --num-cpus 2",
    ),
    "--cpus-each": ("gave a task of Ray more cores than one", "Leave it out"),
    "--gpus-each": ("gave a task of Ray more or less than one GPU", "Leave it out, or set --device cpu"),
    "--collect": (
        "sent runs back from machines that do not see the results folder",
        "Leave it out: with --on ray that is done where it is needed",
    ),
    "--processes": (
        "started several processes for each run",
        "Start them with torchrun --standalone --nproc_per_node 2 -m finetune run",
    ),
    "--machines": (
        "trained each run on several machines",
        "Start it on each of them with torchrun --nnodes 2 --nproc_per_node 4 -m finetune run",
    ),
    "--address": (
        "was where the machines of a run met",
        "Give it to torchrun: --rdzv-backend c10d --rdzv-endpoint node1:29500",
    ),
    "--replicas": ("answered from several replicas of Ray", "Start `finetune serve` on each machine"),
    "search --on": ("trained the runs of a trial at once", "Leave it out: the search finds the same settings"),
    "serve --on": ("answered from replicas of Ray", "Leave it out, and start `finetune serve` on each machine"),
}

# Settings that are gone, with the value that they had when nobody set them: recipes in records hold every setting.
DEFAULTS: dict[str, Any] = {}


def gone(name: str) -> UserError | None:
    """The error for a command, an option, a setting or a value of earlier versions; None for any other name."""
    if name not in GONE:
        return None
    was, instead = GONE[name]
    return UserError(f"'{name}' was taken out: it {was}", instead)


def gone_setting(key: str) -> tuple[str, str] | None:
    """What is wrong and what to do for a dotted key of which a part is gone: `together` of `together.tasks`."""
    parts = key.split(".")
    for length in range(1, len(parts) + 1):
        if error := gone(".".join(parts[:length])):
            return error.what, error.way_out
    return None


def without_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """A recipe's table without settings that are gone and that nobody had set."""
    found = dict(table)
    for name, default in DEFAULTS.items():
        section, _, key = name.rpartition(".")
        inner = found.get(section) if section else found
        if isinstance(inner, dict) and key in inner and inner[key] == default:
            rest = {name: value for name, value in inner.items() if name != key}
            found = found | {section: rest} if section else rest
    return found
