#!/usr/bin/env python3
"""Checks prose (`make lint`): sentences of 40 words at most, and no word to avoid.

The words are those of the table in CONTRIBUTING.md's style sheet. Both rules hold for pages, and
for comments and docstrings of programs (scripts/prose_code.py). Strings of programs are searched
for words to avoid. Generated pages and headers, code and records are not looked at.

Pages must be short as a whole too: README, the other pages beside it, and docs, with the code in
them. Not counted are pages and tables that a command writes (`WRITTEN`), and the records in
experiments. A word has a letter or a digit, so that bars of tables and arrows of drawings are
none. `--count` prints each page's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import prose_code

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 40
TABLE = "| avoid | write |"
# Words of all pages together.
MOST = 35_000
# Pages that a command writes, and the command.
WRITTEN = {
    "make docs": re.compile(r"docs/reference/(?!formats)"),
    "scripts/measurements.py": re.compile(r"docs/measurements\.md"),
    "make bench-growth": re.compile(r"docs/growth\.md"),
    "make conformance": re.compile(r"docs/conformance\.md"),
    "make model-mutants": re.compile(r"docs/model-mutants\.md"),
}
# Pages with a table that `sluice reproduce` writes, and the lines of it. The rest is by hand.
RESULTS = re.compile(r"docs/(cmm-h|cxl-ssd-sim|cylon|esf|skybyte)-results\.md")
WRITTEN_LINE = re.compile(r"^(\||# Results(: .*)?$|Written by `sluice reproduce`"
                          r"|\d+ of \d+ (claims match|checks hold))")
# Programs that quote words to avoid.
QUOTES = ("tests/python/test_prose.py",)
END = re.compile(r"(?<=[.!?])[\")*`]*\s+(?=[\[(*`\"]*[A-Z0-9`])")


def passages(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, each with the line that it begins on."""
    begins, lines, fenced = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        heading = re.match(r"#+ ", line)
        ends = fence or fenced or item or heading or not line.strip()
        if ends or line.startswith(("|", "<!--")):
            if lines:
                yield begins, " ".join(lines)
            lines = []
        if heading and not fenced:
            yield number, line[heading.end():]
            continue
        if fence or fenced or not line.strip() or line.startswith("<!--"):
            continue
        if line.startswith("|"):
            yield from ((number, cell) for cell in line.strip("|").split("|"))
            continue
        begins = begins if lines else number
        lines.append(line[item.end():] if item else line.strip())


def avoided(style: str) -> dict[re.Pattern[str], str]:
    """The phrases of the table of words to avoid, and what it says to write."""
    table = style.split(TABLE)[1].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in table if line.startswith("|")]
    return {re.compile(rf"\b{re.escape(phrase)}\b(?! apart)", re.IGNORECASE): instead
            for phrases, instead in rows for phrase in phrases.split(", ")}


def plain(passage: str) -> str:
    """Without the targets of links, and with a span of code, or a list of such, as one word."""
    passage = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", passage)
    passage = re.sub(r"`[^`]*`", "`code`", passage)
    return re.sub(r"`code`(?:,? (?:and |or )?`code`)+", "`code`", passage)


def found(text: str, words: dict[re.Pattern[str], str]) -> Iterator[tuple[int, str]]:
    """What is wrong in a page or comment, each with the line of its passage."""
    for line, passage in passages(text):
        said = plain(passage)
        for sentence in END.split(said):
            parts = [part for part in sentence.split() if re.search(r"\w", part)]
            if len(parts) > LONGEST:
                yield line, f"a sentence of {len(parts)} words: {' '.join(parts[:8])} .."
        yield from ((line, what) for what in to_avoid(said, words))


def to_avoid(said: str, words: dict[re.Pattern[str], str]) -> Iterator[str]:
    for pattern, instead in words.items():
        if hit := pattern.search(said):
            yield f'"{hit[0]}": write {instead}'


def wrong_in_programs(root: Path, words: dict[re.Pattern[str], str]) -> Iterator[str]:
    """What is wrong in comments, and which words of strings are to be avoided."""
    for name, texts in prose_code.programs(root):
        if name in QUOTES:
            continue
        wrong = []
        for begins, text, is_comment in texts:
            if is_comment:
                wrong += [(begins + line - 1, what) for line, what in found(text, words)]
            else:
                said = plain(" ".join(text.split()))
                wrong += [(begins, what) for what in to_avoid(said, words)]
        yield from (f"{name}:{line}: {what}" for line, what in sorted(wrong))


def pages() -> Iterator[tuple[str, str]]:
    """The pages that people write, without what is written into them by a command."""
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        name = str(path.relative_to(ROOT))
        if any(written.match(name) for written in WRITTEN.values()):
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        written = WRITTEN_LINE if RESULTS.match(name) else None
        yield name, "".join("\n" if written and written.match(line) else line for line in lines)


def words_of(text: str) -> int:
    return sum(bool(re.search(r"\w", part)) for part in text.split())


def main() -> int:
    counts = {name: words_of(text) for name, text in pages()}
    total = sum(counts.values())
    if "--count" in sys.argv[1:]:
        for name, count in sorted(counts.items(), key=lambda each: each[1]):
            print(f"{count:6,} {name}")
        print(f"{total:6,} of {MOST:,} in all")
    style = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = avoided(style)
    wrong = [f"{name}:{line}: {what}"
             for name, text in pages()
             for line, what in found(text.split(TABLE)[0], words)]
    wrong += wrong_in_programs(ROOT, words)
    if total > MOST:
        wrong.append(f"all pages together have {total:,} words, {MOST:,} are the most: "
                     "see scripts/prose.py --count")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
