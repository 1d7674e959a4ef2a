"""The file formats, and which one a file has: by its content rather than its name."""

from pathlib import Path

from finetune.data.file_format import FileFormat, Format
from finetune.data.formats import (
    class_folders,
    conll,
    delimited,
    excel,
    json_document,
    labelled_lines,
    parquet,
    xml_and_yaml,
)
from finetune.data.formats.refused import require_read
from finetune.data.open_files import FileStart, require_lines

# In the order in which they are tried on a file's content: the last one accepts any text.
FORMATS: tuple[Format, ...] = (
    class_folders.FORMAT,
    parquet.ARROW,
    parquet.FORMAT,
    excel.FORMAT,
    json_document.LINES,
    json_document.FORMAT,
    xml_and_yaml.XML,
    xml_and_yaml.YAML,
    conll.FORMAT,
    labelled_lines.FORMAT,
    delimited.FORMAT,
)
BY_SUFFIX = {suffix: one for one in FORMATS if one.write is not None for suffix in one.suffixes}


def detect(path: Path, encoding: str = "") -> FileFormat:
    """Detects a file's format, in the encoding that is given or detected.

    Raises UserError for a file that is absent, empty, of an unsupported kind, in an unknown encoding, or with a
    line that is too long for a row.
    """
    start = FileStart(path, encoding)
    require_read(start)
    kind, layout = next((candidate, layout) for candidate in FORMATS if (layout := candidate.sniff(start)))
    if kind.lines and kind.text:
        require_lines(path, compression=start.compression)
    return FileFormat.of(start, kind, layout)
