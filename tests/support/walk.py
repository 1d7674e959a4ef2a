"""What a command runs through, counted: `python -m support.walk run DATA ...` prints modules, functions and files."""

import json
import sys
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import finetune
from finetune.cli import app

LIBRARIES = ("torch", "transformers", "accelerate", "sklearn.linear_model", "evaluate")
ROOT = str(Path(finetune.__file__).parent) + "/"
NO_FUNCTIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def main() -> None:
    """Types the arguments behind `finetune`, and counts what runs of the package on the main thread."""
    functions = set[tuple[str, str]]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_flags & CO_OPTIMIZED
            and code.co_filename.startswith(ROOT)
            and code.co_name not in NO_FUNCTIONS
        ):
            functions.add((code.co_filename, code.co_qualname))

    for library in LIBRARIES:  # whose own calls need not be looked at
        import_module(library)
    sys.argv[0] = "finetune"
    sys.setprofile(watch)
    try:
        app.main()
    except SystemExit as ended:
        assert not ended.code, ended
    finally:
        sys.setprofile(None)
    modules = sum(name.startswith("finetune") for name in sys.modules)
    print(json.dumps([modules, len(functions), len({file for file, _ in functions})]), file=sys.stderr)


if __name__ == "__main__":
    main()
