"""Detects a file's format from its content rather than its name."""

from pathlib import Path

from finetune.data.file_format import FileFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.registry import FORMATS
from finetune.data.open_files import require_lines


def detect(path: Path, encoding: str = "") -> FileFormat:
    """Detects a file's format, in the encoding that is given or detected.

    Raises UserError for a file that is absent, empty, of an unsupported kind, in an unknown encoding, or with a
    line that is too long for a row.
    """
    start = FileStart(path, encoding)
    # Delimited text is the last format, and accepts any text.
    found, layout = next((one, layout) for one in FORMATS if (layout := one.sniff(start)))
    if not found.text:
        return FileFormat(format=found, gzip=not path.is_dir() and start.gzip, layout=layout)
    text = start.encoding
    if found.lines:
        require_lines(path, gzipped=start.gzip)
    return FileFormat(
        format=found, gzip=start.gzip, encoding=text.name, damaged=text.damaged, sample=text.sample, layout=layout
    )
