"""`finetune.card`: writes the card of a run's model."""

from collections.abc import Sequence
from pathlib import Path

from finetune.api.inputs import model_name
from finetune.api.quiet import plainly
from finetune.api.run import Run
from finetune.inference.card.card import describe_run, write_card
from finetune.runs.lookup import require_run


@plainly
def card(
    run: Run | str | Path,
    *,
    exports: Sequence[str | Path] = (),
    with_examples: bool = False,
    out: str | Path = "results",
    force: bool = False,
) -> Path:
    """Writes README.md into the folder of a run's model: what it answers, how well, and its limits.

    Example: `finetune.card(run)`

    Args:
        run: A run, its folder, id or task (the latest run); of several runs the best one.
        exports: Folders of exports of the run, whose checks are in the card too.
        with_examples: Show a few rows of the data, which a card has none of by default.
        out: The folder of the runs that are named.
        force: Replace a card that was changed by hand.

    Returns:
        The path of the card.

    Raises:
        UserError: For a run without a model, an export of another run, and a card that was changed by hand.
    """
    folder = require_run(model_name(run), Path(out))
    found = describe_run(folder, exports=[Path(one) for one in exports], with_examples=with_examples)
    return write_card(found, force=force)
