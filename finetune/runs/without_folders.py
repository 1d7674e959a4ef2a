"""A record without the folders of the machine that made it, which a page or tracker for others should not name."""

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from finetune.runs.record import RunRecord

# A path in a sentence: from the root, a drive or the home folder, with at least two names.
IN_TEXT = re.compile(r"(?<![\w.~/\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:;,'\"()]+[/\\])+([^\s/\\:;,'\"()]+)")


def without_folders(record: RunRecord) -> RunRecord:
    """The record with only the last name of each absolute path, in its settings, facts and notes."""
    known = sorted({path for path in _strings([record.recipe, record.options, record.data_origin, record.model])
                    if _is_absolute(path)}, key=len, reverse=True)  # fmt: skip

    def note(text: str) -> str:
        for path in known:
            text = text.replace(path, _name(path))
        return IN_TEXT.sub(r"\1", text)

    return record.model_copy(
        update={
            "model": names_only(record.model),
            "recipe": names_only(record.recipe),
            "options": names_only(record.options),
            "data_origin": names_only(record.data_origin),
            "notes": [note(text) for text in record.notes],
        }
    )


def names_only(value: Any) -> Any:
    """The value with absolute paths replaced by their last name."""
    if isinstance(value, dict):
        return {key: names_only(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [names_only(inner) for inner in value]
    return _name(value) if isinstance(value, str) and _is_absolute(value) else value


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]


def _is_absolute(text: str) -> bool:
    return text.startswith("~/") or (PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute())


def _name(path: str) -> str:
    """The last name; of a relative path that leads out of the folder too."""
    return (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).name or path
