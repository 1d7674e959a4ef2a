"""Fuzzing, in this process: files are damaged at random, and every command's path through them must end in a result
or in a UserError of one line, within bounds of time and memory.

Each takes a count, so that a long run and a test of seconds use the same code.
"""

import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from finetune.cli.terminal import error_text
from finetune.errors import UserError

SECONDS = 30.0  # that one input may take, on a busy machine
LONGEST = 20_000  # characters of an error about a file


class TooSlow(BaseException):
    """Not an Exception, so that no handler takes it for a damaged file."""


@dataclass(kw_only=True)
class Fuzzed:
    """How many were tried, how many ended in a UserError or in a result, each kind of damage, and what went wrong."""

    longest: int = 1_000_000  # characters of an error
    tried: int = 0
    refused: int = 0
    accepted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def survived(self) -> int:
        """Those that ended as they should."""
        return self.refused + self.accepted

    def add(self, what: str, action: Callable[[], object]) -> bool:
        """Tries one input, and returns whether it gave a result. Anything but a result or a UserError of one line
        within SECONDS is a fault, which names it.
        """

        def stop(*_: Any) -> None:
            raise TooSlow

        self.tried += 1
        fault, accepted = "", True
        handler = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            action()
        except UserError as error:
            accepted = False
            if "\n" in error_text(error).replace("\n  - ", "") or len(str(error)) > self.longest:
                fault = f"several lines: {str(error)[:1_000]}"
        except TooSlow:
            fault = f"took more than {SECONDS:.0f} s"
        except Exception as error:
            fault = f"{type(error).__name__}: {str(error)[:1_500]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
        if fault:
            self.faults.append(f"{what[:2_000]}: {fault}")
        else:
            self.accepted += accepted
            self.refused += not accepted
        return accepted and not fault

    @contextmanager
    def within(self, most: int) -> Iterator[None]:
        """Adds a fault if memory grows by more than so many bytes."""
        before = _peak()
        yield
        if (grown := _peak() - before) > most:
            self.faults.append(f"memory grew by {grown / 1e6:.0f} MB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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
