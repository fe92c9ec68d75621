#!/usr/bin/env python3
"""Checks the prose of pages (`make lint`): sentences of 40 words at most, and no word to avoid.

The words are those of the table in CONTRIBUTING.md's style sheet. Generated pages, code,
records and the changelog are not looked at.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 40
TABLE = "| avoid | write |"
# Pages that a program writes, and what is a record and not for readers of the documentation.
NOT_LOOKED_AT = re.compile(r"^(CHANGELOG\.md|docs/reference/(?!formats).*|docs/[\w-]+-results\.md|"
                           r"docs/(model-mutants|conformance|fabric-cost)\.md|experiments/.*)$")
END = re.compile(r"(?<=[.!?])[\")*`]*\s+(?=[\[(*`\"]*[A-Z0-9`])")


def passages(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, each with the line that it begins on."""
    begins, lines, fenced = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+|#+ ", line)
        if fence or fenced or item or not line.strip() or line.startswith(("|", "<!--")):
            if lines:
                yield begins, " ".join(lines)
            lines = []
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
    """What is wrong in a page, each with the line of its passage."""
    for line, passage in passages(text):
        said = plain(passage)
        for sentence in END.split(said):
            parts = [part for part in sentence.split() if re.search(r"\w", part)]
            if len(parts) > LONGEST:
                yield line, f"a sentence of {len(parts)} words: {' '.join(parts[:8])} .."
        for pattern, instead in words.items():
            if hit := pattern.search(said):
                yield line, f'"{hit[0]}": write {instead}'


def pages() -> Iterator[Path]:
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        if not NOT_LOOKED_AT.match(str(path.relative_to(ROOT))):
            yield path


def main() -> int:
    style = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = avoided(style)
    wrong = [f"{path.relative_to(ROOT)}:{line}: {what}"
             for path in pages()
             for line, what in found(path.read_text(encoding="utf-8").split(TABLE)[0], words)]
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
