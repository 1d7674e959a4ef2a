"""Formats that are recognised and not read: the error says what a file is, and how to convert it."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from finetune.data.file_start import FileStart
from finetune.data.paths import is_folder
from finetune.errors import UserError

# Python that writes a row for each text with its .ann: the pieces of an entity are one, from the first to the last.
BRAT = (
    "import json, re, sys; from pathlib import Path; "
    r"entity = re.compile(r'^T\d+\t(\S+) (\d+) (?:\d+;\d+ )*(\d+)\t', re.M); "
    "[print(json.dumps(dict(text=path.with_suffix('.txt').read_text(encoding='utf-8'), entities=[[int(m[2]), int(m[3]),"
    " m[1]] for m in entity.finditer(path.read_text(encoding='utf-8'))]))) for path in map(Path, sys.argv[1:])]"
)
# Brackets such as `(PER*` and `*)` in column 11 as tags in IOB2 after the word in column 4.
ONTONOTES = (
    r"/^#/ {next} !NF {print; next} {tag = inside ? \"I-\" inside : \"O\"} "
    r"$11 ~ /^\(/ {inside = $11; gsub(/[()*]/, \"\", inside); tag = \"B-\" inside} "
    r"{print $4 \"\t\" tag} $11 ~ /\)$/ {inside = \"\"}"
).replace(r"\"", '"')
SEMEVAL = r'{gsub(/\r/, "")} /^[0-9]+\t"/ {text = $0; sub(/^[0-9]+\t"/, "", text); sub(/"$/, "", text); getline; '
SEMEVAL += r'sub(/\r/, ""); print text "\t" $0}'
ASPECTS = r'{gsub(/\r|\t/, "")} NR % 3 == 1 {text = $0} NR % 3 == 2 {term = $0; gsub(/\$T\$/, term, text)} '
ASPECTS += r'NR % 3 == 0 {print text "\t" term "\t" $0}'
INLINE = (  # how entities are marked within a text: the type, then the words
    r"<([A-Za-z][\w-]*)>(.*?)</\1>",
    r"\[([A-Z][\w-]+) ([^\[\]]+)\](?!\()",
    r"\[(?=[^\[\]]+\]\(([A-Za-z]\w*)\))([^\[\]]+)\]\(\w+\)",
)
WORD_TAG = re.compile(r"\S+[/_|](O|[BIESLU]-[\w-]+|[A-Z]{1,5}\$?)")
TAGS_IN_LINES = r'{for (i = 1; i <= NF; i++) {n = match($i, /[\/_|][^\/_|]*$/); print substr($i, 1, n - 1) "\t" '
TAGS_IN_LINES += r'substr($i, n + 1)} print ""}'
HTML = frozenset({*"abipqsu", "big", "br", "code", "div", "em", "font", "li", "mark", "pre", "small", "span", "strong"})

# Python that writes a row for each line, with the places of what is in tags: text, tag, what is in it, text, and so on.
MARKED = (
    "import json, re, sys; from itertools import accumulate; "
    "[print(json.dumps(dict(text=str().join(t), entities=[[s[2 * k + 1], s[2 * k + 2], p[3 * k + 1]] "
    'for k in range(len(p) // 3)]))) for line in open(sys.argv[1], encoding="utf-8") if line.strip() '
    r"for p in [re.split(r\"PATTERN\", line.strip())] "
    "for t in [[x for i, x in enumerate(p) if i % 3 != 1]] for s in [[0, *accumulate(map(len, t))]]]"
).replace(r"\"", '"')
LINES_SEEN = 1_000
SHARE_OF_WORDS = 0.9  # that have tags
LEAST_BLOCKS, MOST_IN_BLOCK = 8, 5  # of lines with a label among them
# The first feature called `value`, or the last one, as tags in IOB2 after the word: `PER[1]` is of several words.
WEBANNO = (
    r'BEGIN {FS = "\t"} /^#T_SP/ && !column {n = split($0, part, "|"); for (i = 2; i <= n; i++) '
    r'if (part[i] == "value" || i == n) column = column ? column : i + 2} '
    r'/^#/ || $1 ~ /\./ {next} !NF {if (last) print ""; last = ""; next} '
    r'{name = mark = $column; sub(/\|.*/, "", mark); name = mark; sub(/\[[0-9]+\]$/, "", name); '
    r'print $3 "\t" (name ~ /^[_*]?$/ ? "O" : (mark == last && mark != name ? "I-" : "B-") name); last = mark}'
)
DATATURKS = (
    "import json, sys; [print(json.dumps(dict(text=row['content'], entities=[[p['start'], p['end'] + 1, label] "
    "for one in row['annotation'] or () for label in one['label'] for p in one['points']]))) "
    "for row in map(json.loads, open(sys.argv[1], encoding='utf-8'))]"
)


class RefusedFormat(NamedTuple):
    """A format by how its text begins, and how to convert it; `{}` is the file."""

    name: str
    text: re.Pattern[bytes]
    suffixes: tuple[str, ...]
    how: str


REFUSED = (
    RefusedFormat(
        "CoNLL-2012", re.compile(b"#begin document"), (), f"Convert it: awk {shlex.quote(ONTONOTES)} {{}} > rows.conll"
    ),
    RefusedFormat(
        "a pointer of git-lfs, not the data itself",
        re.compile(rb"version https://git-lfs\.github\.com/"),
        (),
        "Fetch the data: `git lfs pull` in its repository",
    ),
    RefusedFormat(
        "WebAnno TSV", re.compile(rb"#FORMAT=WebAnno"), (), f"Convert it: awk {shlex.quote(WEBANNO)} {{}} > rows.conll"
    ),
    RefusedFormat(
        "an export of Dataturks",
        re.compile(rb'\s*\{.*"points"\s*:\s*\[\s*\{\s*"'),
        (".json", ".jsonl"),
        f"Convert it: python -c {shlex.quote(DATATURKS)} {{}} > rows.jsonl",
    ),
    RefusedFormat(
        "SemEval-2010 Task 8 (a sentence, its relation and a comment in lines of their own)",
        re.compile(rb'\d+\t"[^\n]*<e1>[^\n]*"\r?\n[^\n\t]+\r?\n'),
        (),
        f"Convert it: (printf 'text\\tlabel\\n'; awk {shlex.quote(SEMEVAL)} {{}}) > rows.tsv",
    ),
    RefusedFormat(
        "texts in three lines each (a sentence with $T$, its term, its label)",
        re.compile(rb"([^\n]*\$T\$[^\n]*\n[^\n$]+\n[^\n$]+\n){2}"),
        (),
        "Convert it, and set text=text,term: "
        f"(printf 'text\\tterm\\tlabel\\n'; awk {shlex.quote(ASPECTS)} {{}}) > rows.tsv",
    ),
    RefusedFormat(
        "training data of Rasa",
        re.compile(rb"(.*\n)*?(nlu:\s|## intent:)"),
        (".yaml", ".yml", ".md"),
        'Write a line for each example: {"text": "to Berlin", "intent": "travel", "entities": [[3, 9, "city"]]}',
    ),
)


def require_read(start: FileStart) -> None:
    """Raises UserError for a file of a format that is recognised and not read."""
    require_read_by_name(start.path)
    if is_folder(start.path):
        return
    for one in REFUSED:
        if (not one.suffixes or start.suffix in one.suffixes) and one.text.match(start.head):
            raise _refusal(start.path, one.name, one.how.replace("{}", shlex.quote(str(start.path))))


def require_read_by_name(path: Path) -> None:
    """Raises UserError for annotations of brat and for files of words and slots, or a folder of them."""
    for file in [*path.glob("*.ann"), *path.glob("*seq.in")] if is_folder(path) else [path]:
        text, notes = file.with_suffix(".txt"), file.with_suffix(".ann")
        if file in (text, notes) and text.is_file() and notes.is_file():
            quoted = f"{shlex.quote(str(path))}/*.ann" if is_folder(path) else shlex.quote(str(notes))
            how = f"python -c {shlex.quote(BRAT)} {quoted} > rows.jsonl"
            raise _refusal(path, "text with annotations of brat (a .ann next to a .txt)", f"Convert it: {how}")
        stem = file.name.removesuffix("seq.in")
        parts = {"words": file, "tags": file.with_name(f"{stem}seq.out"), "intent": file.with_name(f"{stem}label")}
        there = {name: shlex.quote(str(part)) for name, part in parts.items() if part.is_file()}
        if stem != file.name and "tags" in there:
            header, files = r"\t".join(there), " ".join(there.values())
            how = f"(printf '{header}\\n'; paste {files}) > rows.tsv"
            raise _refusal(path, "words and slots in files of their own (seq.in, seq.out)", f"Convert it: {how}")


def require_no_labels(start: FileStart) -> None:
    """Raises UserError for lines of a text that have labels: entities in tags, or a line with a label in each block."""
    lines = [line.strip() for line in start.lines[:LINES_SEEN]]
    path = shlex.quote(str(start.path))
    for pattern in INLINE:
        tags = [{tag for tag, _ in re.findall(pattern, line)} for line in lines]
        kinds = {tag for some in tags for tag in some}
        if (
            sum(map(bool, tags)) > len(lines) / 2
            and len(kinds) < len(lines) / 2
            and not {*map(str.lower, kinds)} & HTML
        ):
            listed = ", ".join(sorted(kinds)[:4])
            how = f"Convert it: python -c {shlex.quote(MARKED.replace('PATTERN', pattern))} {path} > rows.jsonl"
            raise _refusal(start.path, f"text with entities marked in it ({listed})", how)
    words = [word for line in lines for word in line.split()]
    if sum(map(bool, map(WORD_TAG.fullmatch, words))) > SHARE_OF_WORDS * len(words):
        how = f"Convert it: awk {shlex.quote(TAGS_IN_LINES)} {path} > rows.conll"
        raise _refusal(start.path, f"text with a tag after each word, as in {words[0]!r}", how)
    for size in range(2, MOST_IN_BLOCK + 1):
        parts = [lines[place::size] for place in range(size)]
        few = [2 <= len({*part}) <= 0.1 * len(part) + 1 and len(max(part, key=len).split()) <= 3 for part in parts]
        texts = any(len({*part}) > 0.5 * len(part) and " " in part[0] for part in parts)
        if len(lines) >= LEAST_BLOCKS * size and any(few) and texts:
            label = parts[few.index(True)][0]
            how = "Write a table with a row for each block; shape=text reads it as text to pre-train on"
            raise _refusal(start.path, f"lines in blocks of {size}, of which one is a label such as {label!r}", how)


def _refusal(path: Path, name: str, how: str) -> UserError:
    return UserError(f"{path}: is {name}, which is not read", how)
