"""The tasks in lines of a list."""

from collections.abc import Mapping, Sequence

TEXT = "-text"  # the end of the name of a task of another's texts, to train an encoder on


def tasks_by_name(tasks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The metrics of each task; that of its texts without labels is in the same line: `f1, accuracy; mrpc-text`."""
    found = {}
    for name, metrics in tasks.items():
        if name.endswith(TEXT) and name.removesuffix(TEXT) in tasks:
            continue
        texts = f"; its texts to train an encoder on: {name}{TEXT}" if f"{name}{TEXT}" in tasks else ""
        found[name] = ", ".join(metrics) + texts
    return found
