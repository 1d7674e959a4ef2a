"""`finetune --version`."""

from finetune.runs.environment import versions
from finetune.version import __version__


def version_lines() -> str:
    """Two lines: this package and Python; the libraries and the device that runs would use."""
    from finetune.models.device import describe_device, resolve_device

    found = versions()
    libraries = ", ".join(f"{name} {found[name]}" for name in ("torch", "transformers"))
    device = describe_device(resolve_device(None))
    return f"finetune {__version__}, Python {found['python']}\n{libraries}, device {device}"
