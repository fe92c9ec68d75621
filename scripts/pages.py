"""Generated pages: tables in Markdown, and files that are written or compared."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
MADE_BY = "<!-- Made by scripts/reference.py (`make docs`); do not edit. -->\n\n"


def publish(pages: dict[Path, str], check: bool) -> int:
    """Writes what changed, or with ``check`` shows it. Returns the exit status."""
    stale = False
    for path, text in pages.items():
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found == text:
            continue
        stale = True
        name = str(path.relative_to(ROOT))
        if check:
            lines = difflib.unified_diff(found.splitlines(), text.splitlines(), name, "the program",
                                         lineterm="", n=1)
            print("\n".join(lines), file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    if stale and check:
        print("generated files are stale; `make docs` writes them anew", file=sys.stderr)
        return 1
    return 0


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)
