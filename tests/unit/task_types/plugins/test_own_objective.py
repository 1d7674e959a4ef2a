"""An objective of another package: a file, and a line that names it as an entry point."""

import os
import subprocess
import sys
from pathlib import Path

MINE = """
from finetune.task_types.pretraining.objectives import Objective

class Mine(Objective):
    masks = "what I say"

OBJECTIVE = Mine
"""
USE = """
from finetune.errors import UserError
from finetune.task_types.pretraining.objectives import LISTED, OBJECTIVES
from finetune.task_types.pretraining.task import TextTask

print(TextTask(name="text", read=None, objective="mine").objective_type.masks, "mine" in LISTED)
try:
    OBJECTIVES["broken"]()
except UserError as error:
    print(error)
"""


def test_an_entry_point_names_an_objective(tmp_path: Path) -> None:
    (tmp_path / "my_package.py").write_text(MINE)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[finetune.objectives]\nmine = my_package\nbroken = my_package.nothing\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", USE], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "what I say True", done.stderr
    assert "objective=broken: my_package.nothing cannot be used" in done.stdout
