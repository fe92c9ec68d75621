"""What `make lint` says of prose."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prose  # noqa: E402

STYLE = f"{prose.TABLE}\n| --- | --- |\n| is told, and/or | says |\n"
FORTY = " ".join(["Word"] + ["word"] * 39)


def said(text: str) -> list[tuple[int, str]]:
    return [(line, what[:16]) for line, what in prose.found(text, prose.avoided(STYLE))]


def test_a_sentence_has_forty_words_at_most() -> None:
    assert said(f"One. {FORTY}. Two.") == []
    assert said(f"\n\nOne. {FORTY} more. Two.") == [(3, "a sentence of 41")]
    assert said(f"- One\n- {FORTY}\n  more") == [(2, "a sentence of 41")]
    assert said(f"| a | {FORTY} more |") == [(1, "a sentence of 41")]
    # Items, cells and the targets of links are none of a sentence; code is one word.
    assert said(f"- {FORTY}\n- {FORTY}\n") == []
    assert said(f"{FORTY[10:]} `a b c`, [word](a.md#of-words).") == []
    assert said(f"{FORTY[5:]} `a`, `b` and `c`.") == []


def test_words_to_avoid_are_found_outside_of_code() -> None:
    assert said("The user IS TOLD so.") == [(1, '"IS TOLD": write')]
    assert said("This and/or that.") == [(1, '"and/or": write ')]
    assert said("`is told`\n\n```sh\nis told\n```\n\nNo twin is told apart.") == []


def test_the_style_sheets_table_is_read() -> None:
    words = prose.avoided((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(words) > 20 and all(words.values())


def test_words_are_counted_without_bars_and_without_what_a_command_writes() -> None:
    assert prose.words_of("| a | -- |\n`b c` → 3.") == 4
    names = dict(prose.pages())
    assert "docs/reference/formats.md" in names and "CHANGELOG.md" in names
    assert not any(name in names for name in ("docs/measurements.md", "docs/reference/output.md"))
    assert "| esf/fig10" not in names["docs/esf-results.md"]
    assert sum(map(prose.words_of, names.values())) <= prose.MOST
