"""Pictures of HTML pages, taken by a headless Chromium; each PNG holds the headings that its page had."""

import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from html import unescape
from pathlib import Path

from PIL import Image

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-first-run", "disable-background-networking")
COLOURS = 128  # of a picture: a third of the bytes; rare colours are kept as they are
HEADINGS = b"Headings"  # the key of the chunk of text
SIGNATURE = b"\x89PNG\r\n\x1a\n"
TAGS = re.compile(r"<style.*?</style>|<script.*?</script>|<[^>]*>", re.DOTALL)


def page_picture(page: Path, *, width: int, height: int) -> bytes:
    """A PNG of the top of a page. Raises FileNotFoundError without a Chromium."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise FileNotFoundError("pictures of pages need Chromium")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "page.png"
        given = [f"window-size={width},{height}", f"screenshot={taken}", f"user-data-dir={folder}/profile", "lang=en"]
        command = [program, *(f"--{flag}" for flag in (*FLAGS, *given)), page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with Image.open(taken) as image:
            image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE).save(taken, optimize=True)
        return with_headings(taken.read_bytes(), headings(page.read_text(encoding="utf-8")))


def headings(page: str) -> list[str]:
    """The headings of a page of HTML down to the fourth level."""
    found = re.findall(r"<h[1-4][^>]*>(.*?)</h[1-4]>", page, re.DOTALL)
    return [" ".join(unescape(TAGS.sub(" ", heading)).split()) for heading in found]


def with_headings(png: bytes, given: list[str]) -> bytes:
    """The picture with a chunk of text before its end."""
    kind, content = b"iTXt", HEADINGS + b"\0\0\0\0\0" + "\n".join(given).encode()
    chunk = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    end = png.rindex(b"IEND") - 4
    return png[:end] + chunk + png[end:]


def headings_in(png: bytes) -> list[str]:
    """What `with_headings` wrote; none for another picture."""
    at = len(SIGNATURE)
    while png[:at].startswith(SIGNATURE) and at + 8 <= len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        content = png[at + 8 : at + 8 + size]
        if kind == b"iTXt" and content.startswith(HEADINGS):
            return content.split(b"\0", 5)[5].decode().splitlines()
        at += size + 12
    return []
