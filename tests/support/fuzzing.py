"""Fuzzing, in this process: files and folders are damaged at random, and every command's path through them must end
in a result or in a UserError of one line, within bounds of time and memory.

`fuzz_data_files` and `fuzz_model_folders` take a count, so that a long run and a test of seconds use the same code.
"""

import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from finetune.cli.terminal import error_text
from finetune.errors import UserError

SLOWEST = 10.0  # seconds of one input, on a busy machine
SECONDS = 60.0  # that one damaged file or folder may take
MEMORY = 2 << 30  # bytes of resident memory that all of them may add
LONGEST = 20_000  # characters of an error


class TooSlow(BaseException):
    """Not an Exception, so that no handler takes it for a damaged file."""


@dataclass(kw_only=True)
class Fuzzed:
    """How many were tried, how many of them ended in a UserError or in a result, and each kind of damage.

    `undetected` are results although weights were changed: only a checksum finds that. `faults` says what went wrong
    with the others.
    """

    tried: int = 0
    refused: int = 0
    accepted: int = 0
    undetected: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def survived(self) -> int:
        """Those that ended as they should."""
        return self.refused + self.accepted + self.undetected

    def add(self, what: str, action: Callable[[], object]) -> None:
        """Tries one input, named in a fault: an exception that is not a UserError of one line, or too many seconds."""
        self.tried += 1
        started, found = time.monotonic(), len(self.faults)
        refused = 0
        try:
            action()
        except UserError as error:
            refused = 1
            if "\n" in error_text(error).replace("\n  - ", ""):
                self.faults.append(f"{what[:2_000]}: several lines: {error}")
        except Exception as error:
            self.faults.append(f"{what[:2_000]}: {type(error).__name__}: {str(error)[:1500]}")
        if (seconds := time.monotonic() - started) > SLOWEST:
            self.faults.append(f"{what[:2_000]}: took {seconds:.0f} s")
        if len(self.faults) == found:
            self.refused += refused
            self.accepted += 1 - refused

    @contextmanager
    def within(self, most: int) -> Iterator[None]:
        """Adds a fault if memory grows by more than so many bytes."""
        before = _peak()
        yield
        if (grown := _peak() - before) > most:
            self.faults.append(f"memory grew by {grown / 1e6:.0f} MB")


@contextmanager
def bounded(what: str) -> Iterator[None]:
    """Raises TooSlow after SECONDS; asserts that memory has not grown by more than MEMORY."""

    def stop(*_: Any) -> None:
        raise TooSlow(what)

    before = _peak()
    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert _peak() - before < MEMORY, what


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def require_one_line(error: Exception) -> None:
    """Asserts that an error is one line, and no page."""
    assert "\n" not in str(error), error
    assert len(str(error)) < LONGEST, str(error)[:1_000]


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def flipped(content: bytes, random: Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 20))):
        if damaged:
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def inserted(content: bytes, random: Random) -> bytes:
    """Control characters, quotes, delimiters, brackets or a long cell, somewhere."""
    pieces = (
        *(b"\0", b"\x1b[31m", b"\r", b"\n\n", b"\xff\xfe", b"\xef\xbb\xbf", "\u202e".encode(), b"\xed\xa0\x80"),
        *(b'"', b'"' * 101, b"," * 3_000, b"\t" * 200, b"{" * 2_000, b"[" * 50_000, b"(" * 300, b"\\" * 999),
        *(b"x" * 200_000, b"9" * 5_000, "가".encode() * 20_000, b"1e999", b"NaN", b"-0", b"a b " * 20_000),
    )
    place = random.randrange(len(content) + 1)
    return content[:place] + random.choice(pieces) + content[place:]


def left_out(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + content[place + random.choice((1, 10, 100)) :]


def repeated(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content) + 1)
    part = content[start : start + random.choice((1, 30, 400))]
    return content[:start] + part * random.choice((2, 20, 300)) + content[start:]


def recoded(content: bytes, random: Random) -> bytes:
    """In another encoding, or half of it."""
    text = content.decode("utf-8", "replace")
    encoding = random.choice(("utf-16", "utf-16-be", "utf-32", "cp949", "shift-jis", "latin-1", "utf-7", "utf-8-sig"))
    half = random.randrange(len(text) + 1) if random.random() < 0.3 else 0
    return text[:half].encode() + text[half:].encode(encoding, "replace")


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (cut, flipped, inserted, left_out, repeated, recoded)


def damaged(content: bytes, random: Random, fuzzed: Fuzzed) -> bytes:
    """The content with one to three damages."""
    for damage in random.choices(DAMAGES, k=random.choice((1, 1, 2, 3))):
        content = damage(content, random)
        fuzzed.kinds[damage.__name__] += 1
    return content
