"""glibc's malloc: keeps freed memory for the next step of training, and returns it afterwards."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
DEFAULT = 128 * 1024  # bytes, of both


def keep_memory() -> None:
    """Makes glibc keep freed memory: else each step returns its large tensors and page-faults them in again."""
    _set_thresholds(trim=(1 << 31) - 1, mmap=1 << 30)


def release_memory() -> None:
    """Returns what glibc has kept to the system, and from now on what is freed."""
    _set_thresholds(trim=DEFAULT, mmap=DEFAULT)
    trim_memory()


def trim_memory() -> None:
    """Returns free memory to the system; otherwise blocks that live long leave holes, and memory grows."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _set_thresholds(*, trim: int, mmap: int) -> None:
    if (libc := _glibc()) is not None:
        libc.mallopt(M_MMAP_THRESHOLD, mmap)
        libc.mallopt(M_TRIM_THRESHOLD, trim)


def _glibc() -> ctypes.CDLL | None:
    """The C library, unless it is another, such as musl."""
    return libc if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt") else None
