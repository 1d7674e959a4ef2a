"""What a command prints on a real terminal, and its picture: SVG with the text in it, drawn by rich."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from html import escape, unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

SUCCESS = (0, 1)  # exit codes: `check` ends with 1 where it reports errors
RATIO = 0.6  # of a character's width to its height, as in most fonts of one width
CELL = 20 * RATIO  # pixels of a column in rich's SVG
SCALE = 0.7  # of that size, at which letters are as large as a page's code
ROWS, COLUMNS = 60, 96  # of the terminal: columns as many as can be read in a page; the output may have more rows
DIM = [(40, 44, 52), (240, 113, 120), (136, 208, 112), (240, 200, 100), (110, 170, 240), (200, 146, 234)]
BRIGHT = [(130, 136, 148), (255, 140, 140), (160, 230, 130), (255, 220, 130), (140, 190, 255), (220, 170, 250)]
THEME = TerminalTheme(
    (24, 27, 34), (222, 225, 230), [*DIM, (100, 200, 210), (222, 225, 230)], [*BRIGHT, (130, 220, 230), (255, 255, 255)]
)
# Rich's own form loads a font from a network; here the reader's fonts are used, each run of text fitted to its columns.
FORM = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>@title@</title>
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
.{unique_id}-title {{ display: none; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
TEXT = re.compile(r'(<text [^>]*?)textLength="[^"]*"([^>]*>)(.*?)</text>')
# What is not text: ends of lines, and orders to the terminal, of which those that end in m are colours.
ORDER = re.compile(r"(\r|\n|\x1b\[[0-9;?]*[A-Za-z])")


def printed(command: Sequence[str], folder: Path) -> str:
    """All that a command sends to a terminal, standard error included. Raises CalledProcessError for an error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    program = [sys.executable, "-m", "finetune"] if command[0] == "finetune" else command[:1]
    with subprocess.Popen(
        [*program, *command[1:]], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        received = b"".join(_received(ours))
    os.close(ours)
    if process.returncode not in SUCCESS:
        raise subprocess.CalledProcessError(process.returncode, command, output=received)
    return received.decode()


def _received(descriptor: int) -> Iterator[bytes]:
    """What arrives until the other end is closed, which Linux reports as an error."""
    try:
        while part := os.read(descriptor, 65_536):
            yield part
    except OSError:
        return


def screen(sent: str) -> list[str]:
    """The lines that stay on the terminal, colours included: live lines were erased and written again."""
    lines, at = [""], 0
    for part in ORDER.split(sent):
        order = part[-1:] if part.startswith("\x1b") else ""
        if part == "\n":
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif order == "A":
            at = max(0, at - int(part[2:-1] or 1))
        elif order == "K":
            lines[at] = ""
        elif part != "\r" and order in ("", "m"):
            lines[at] += part
    while lines and not Text.from_ansi(lines[-1]).plain.strip():
        lines.pop()
    return lines


def terminal_picture(command: str, lines: Sequence[str]) -> str:
    """A file of SVG: a command after a prompt, and the lines that it printed; as wide as the longest of them."""
    texts = [Text.assemble(("$ ", "bold bright_green"), (command, "bold")), *map(Text.from_ansi, lines)]
    width = max(text.cell_len for text in texts) + 1
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for text in texts:
        console.print(text, soft_wrap=True)
    form = FORM.replace("@title@", escape(f"What {command} prints"))
    drawn = console.export_svg(title="", theme=THEME, code_format=form, unique_id="t", font_aspect_ratio=RATIO)
    drawn = TEXT.sub(_fitted, re.sub(r"[ \t]+\n", "\n", drawn))
    return re.sub(r'viewBox="0 0 (\d+) ([\d.]+)"', _sized, drawn, count=1)


def _fitted(text: re.Match[str]) -> str:
    """A run of text as long as its columns, of which a Hangul syllable takes two (rich counts one)."""
    length = CELL * cell_len(unescape(text[3]))
    return f'{text[1]}textLength="{length:g}"{text[2]}{text[3]}</text>'


def _sized(box: re.Match[str]) -> str:
    width, height = (round(SCALE * float(side)) for side in box.groups())
    return f'width="{width}" height="{height}" {box[0]}'


def lines_of(svg: str) -> list[str]:
    """The text of such a picture, line by line."""
    rows: dict[float, str] = {}
    for x, y, text in re.findall(r'<text [^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', svg):
        plain = unescape(re.sub(r"<.*?>", "", text)).replace("\xa0", " ")
        rows[float(y)] = rows.get(float(y), "").ljust(round(float(x) / CELL)) + plain
    return [rows[y].rstrip() for y in sorted(rows)]
