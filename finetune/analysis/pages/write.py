"""Writes a page."""

from pathlib import Path

from finetune.data.outputs import output_file


def write_page(html: str, file: Path) -> int:
    """Writes the page and returns its size in bytes. Raises UserError if it cannot be written."""
    page = html.encode()
    with output_file(file, remedy="Choose another file") as scratch:
        scratch.write_bytes(page)
    return len(page)
