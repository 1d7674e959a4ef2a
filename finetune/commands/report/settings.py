"""The settings of a run, or of several runs as columns."""

from collections.abc import Sequence

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import value_text
from finetune.data.messages import noun, so_many
from finetune.runs.recipe_diff import Setting, settings_of


def settings_block(runs: Sequence[RunFiles]) -> Block:
    """Settings that differ from the defaults, the others folded; one column per run."""
    found = settings_of([run.record for run in runs])
    changed, others = ([_row(one) for one in found if one.changed == wanted] for wanted in (True, False))
    columns = ["setting", *([run.record.id for run in runs] if len(runs) > 1 else ["this run"]), "default"]
    table = TableBlock(columns=columns, rows=changed, left=len(columns), folded=others)
    differ, do = noun(len(changed), "differs", "differ"), noun(len(others), "does", "do")
    note = f"{so_many(len(changed), 'setting')} {differ} from the defaults of a recipe, {len(others)} {do} not. "
    note += "The default is that of a recipe; for your own data finetune chooses some settings."
    return Block(title="Settings", note=note, table=table, wide=len(runs) > 1)


def _row(one: Setting) -> list[str]:
    return [one.key, *(value_text(value) for value in one.values), value_text(one.default)]
