"""A sentence for a page that compares runs of one seed: which seeds it leaves out, and the command that has them."""

from collections.abc import Sequence

from finetune.commands.report.run_files import RunFiles
from finetune.data.messages import noun, so_many
from finetune.runs.record_files import all_records, load_record
from finetune.runs.seeds import same_but_seeds


def other_seeds(groups: Sequence[Sequence[RunFiles]]) -> list[str]:
    """The sentence for the two groups of a comparison; none where both have several seeds."""
    single = [letter for letter, group in zip("AB", groups, strict=True) if len(group) == 1]
    if not single:
        return []
    which = "A and B have one seed each" if len(single) == 2 else f"{single[0]} has one seed"
    text = f"{which}: this compares models, not settings."
    sides = [[one.record.id for one in group] + _left_out(group) for group in groups]
    if left_out := [name for group, side in zip(groups, sides, strict=True) for name in side[len(group) :]]:
        runs = f"{so_many(len(left_out), 'run')} with other seeds ({', '.join(left_out)})"
        every = " ".join(name for side in sides for name in side)
        return [f"{text} {runs} {noun(len(left_out), 'is', 'are')} not on this page: finetune report {every}"]
    return [f"{text} Train both with 3 seeds, and report all of the runs."]


def _left_out(group: Sequence[RunFiles]) -> list[str]:
    """The ids of runs with other seeds that are not in the group."""
    folder, there = group[0].folder, {one.record.id for one in group}
    others = same_but_seeds(load_record(folder.record_file), all_records(folder.path.parents[1]))
    return [record.id for record in others if record.id not in there]
