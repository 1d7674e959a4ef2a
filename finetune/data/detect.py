"""Detects a file's format from its content rather than its name."""

from pathlib import Path

from finetune.data.file_format import FileFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.refused import require_read
from finetune.data.formats.registry import FORMATS
from finetune.data.open_files import require_lines


def detect(path: Path, encoding: str = "") -> FileFormat:
    """Detects a file's format, in the encoding that is given or detected.

    Raises UserError for a file that is absent, empty, of an unsupported kind, in an unknown encoding, or with a
    line that is too long for a row.
    """
    start = FileStart(path, encoding)
    require_read(start)
    # Delimited text is the last format, and accepts any text.
    found, layout = next((one, layout) for one in FORMATS if (layout := one.sniff(start)))
    if not found.text:
        return FileFormat(format=found, compression="" if path.is_dir() else start.compression, layout=layout)
    text = start.encoding
    if found.lines:
        require_lines(path, compression=start.compression)
    return FileFormat(
        format=found,
        compression=start.compression,
        encoding=text.name,
        damaged=text.damaged,
        sample=text.sample,
        layout=layout,
    )
