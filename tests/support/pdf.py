"""How much is drawn on each page of a PDF that Chromium printed, without a library: its objects are plain."""

import re
import zlib

PAGE = re.compile(rb"(\d+) 0 obj\s*<<(?=[^>]*?/Type /Page\b)(.*?)endobj", re.DOTALL)
DRAWN = re.compile(rb"\b(?:Tj|TJ|f|S|Do)\b")  # texts, filled and stroked shapes, pictures


def drawn_on_pages(pdf: bytes) -> list[int]:
    """The number of texts, shapes and pictures on each page, in order."""
    found = []
    for _, page in PAGE.findall(pdf):
        (content,) = re.findall(rb"/Contents (\d+) 0 R", page)
        stream = re.search(rb"(?:^|\n)" + content + rb" 0 obj\s*<<(.*?)>>\s*stream\r?\n(.*?)endstream", pdf, re.DOTALL)
        assert stream is not None
        data = zlib.decompressobj().decompress(stream[2]) if b"FlateDecode" in stream[1] else stream[2]
        found.append(len(DRAWN.findall(data)))
    return found
