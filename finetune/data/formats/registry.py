"""The file formats, in the order in which they are tried on a file's content: the last one accepts any text."""

from finetune.data.file_format import Format
from finetune.data.formats import (
    class_folders,
    conll,
    delimited,
    excel,
    json_document,
    json_lines,
    labelled_lines,
    parquet,
    xml_and_yaml,
)

FORMATS: tuple[Format, ...] = (
    class_folders.FORMAT,
    parquet.FORMAT,
    excel.FORMAT,
    xml_and_yaml.XML,
    xml_and_yaml.YAML,
    json_lines.FORMAT,
    json_document.FORMAT,
    conll.FORMAT,
    labelled_lines.FORMAT,
    delimited.FORMAT,
)
BY_SUFFIX = {suffix: one for one in FORMATS if one.write is not None for suffix in one.suffixes}
