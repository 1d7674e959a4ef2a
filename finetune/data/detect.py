"""Detects a file's format from its content rather than its name."""

from pathlib import Path

from finetune.data.file_format import FileFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.registry import FORMATS


def detect(path: Path, encoding: str = "") -> FileFormat:
    """Detects a file's format, in the encoding that is given or detected.

    Raises UserError for a file that is absent, empty, of an unsupported kind, or in an unknown encoding.
    """
    start = FileStart(path, encoding)
    # Delimited text is the last format, and accepts any text.
    found, layout = next((one, layout) for one in FORMATS if (layout := one.sniff(start)))
    if not found.text:
        return FileFormat(format=found, gzip=not path.is_dir() and start.gzip, layout=layout)
    text = start.encoding
    return FileFormat(
        format=found, gzip=start.gzip, encoding=text.name, damaged=text.damaged, sample=text.sample, layout=layout
    )
