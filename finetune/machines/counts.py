"""Numbers of workers, CPU cores, processes and machines that a user gives."""

from finetune.errors import UserError


def require_numbers(**given: int | None) -> None:
    """Raises UserError for a number below 1."""
    for name, value in given.items():
        if value is not None and value < 1:
            raise UserError(f"`{name}` is {value}", "Give at least 1")
