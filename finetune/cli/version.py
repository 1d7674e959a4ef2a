"""`finetune --version`."""

from finetune.runs.process import versions


def version_lines() -> str:
    """Two lines: this package and Python; the libraries and the device that runs would use."""
    packages = versions()
    first = f"finetune {packages['bert-finetune']}, Python {packages['python']}"
    if "torch" not in packages:
        return f"{first}\nno torch: reads records and data, predicts and serves exports"
    from finetune.models.device import describe_device, resolve_device

    libraries = ", ".join(f"{name} {packages[name]}" for name in ("torch", "transformers"))
    device = describe_device(resolve_device(None))
    return f"{first}\n{libraries}, device {device}"
