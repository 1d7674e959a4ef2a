"""What format a file is in, which is seen from its content rather than its name."""

from pathlib import Path

from finetune.data.file_format import FileFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.registry import FORMATS


def detect(path: Path, encoding: str = "") -> FileFormat:
    """What a file is, in the encoding that is given or found.

    Raises UserError for one that is absent, empty, of a kind that is not read, or in no known encoding.
    """
    start = FileStart(path, encoding)
    # Delimited text is the last format, and any text is one.
    found, layout = next((one, layout) for one in FORMATS if (layout := one.sniff(start)))
    if not found.text:
        return FileFormat(format=found, gzip=not path.is_dir() and start.gzip, layout=layout)
    text = start.encoding
    return FileFormat(
        format=found, gzip=start.gzip, encoding=text.name, damaged=text.damaged, sample=text.sample, layout=layout
    )
