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
    assert said(f"# One\n{FORTY}\n") == []
    assert said(f"{FORTY[10:]} `a b c`, [word](a.md#of-words).") == []
    assert said(f"{FORTY[5:]} `a`, `b` and `c`.") == []


def test_words_to_avoid_are_found_outside_of_code() -> None:
    assert said("The user IS TOLD so.") == [(1, '"IS TOLD": write')]
    assert said("This and/or that.") == [(1, '"and/or": write ')]
    assert said("`is told`\n\n```sh\nis told\n```\n\nNo twin is told apart.") == []


def test_the_style_sheets_table_is_read() -> None:
    words = prose.avoided((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(words) > 20 and all(words.values())


PROGRAMS = {
    "crates/a/src/lib.rs": r"""//! One.
//! It is
//! told.

/// Not code: `is told`.
///
/// ```
/// assert!(true); // is told
/// ```
/// | is | told |
///
/// - It is told.
fn said<'a>(is_told: &'a str, c: char) {
    let quote = c == '"' || c == '\''; // Behind code it is told.
    println!("A \"user\" is \
              told {is_told}");
    let raw = r#"It "is told"."#;
    /* It is told,
       and/or not. */
    let url = "https://example.org/is_told"; // No twin is told apart.
}
""",
    "crates/a/tests/a.c": """/* Obeys its input.
 *
 *   read FIRST   words of a row that is long: LESS
 *   write LESS   more of it
 *
 * WORDS more.
 */
""",
    "crates/a/include/a.h": "/* Made by `make docs`; do not edit. It is told. */\n",
    "presets/a.toml": '# It is\n# told.\nkey = "so # it is told"  # WORDS more.\n',
    "python/a.py": '''"""It is told.

>>> is_told = "is told"
"""
NAME = (f"it is {len('is told')} "
        "told")  # It is told.
def f():
    """WORDS more."""
''',
    "scripts/a": "#!/usr/bin/env bash\necho ${#x}  # It is told.\necho 'it is told'\n",
    "scripts/b": "#!/usr/bin/env python3\nprint('''it\nis told''')\n",
}


def test_programs_are_held_to_the_same_rules(tmp_path: Path) -> None:
    for name, text in PROGRAMS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("WORDS", FORTY).replace("LESS", FORTY[75:]))
    told, long = '"is told": write says', "a sentence of 41 words"
    wrong = [one.partition(": Word")[0]
             for one in prose.wrong_in_programs(tmp_path, prose.avoided(STYLE))]
    assert wrong == [
        f"crates/a/src/lib.rs:1: {told}",
        f"crates/a/src/lib.rs:12: {told}",
        f"crates/a/src/lib.rs:14: {told}",
        f"crates/a/src/lib.rs:15: {told}",
        f"crates/a/src/lib.rs:17: {told}",
        'crates/a/src/lib.rs:18: "and/or": write says',
        f"crates/a/src/lib.rs:18: {told}",
        f"crates/a/tests/a.c:6: {long}",
        f"presets/a.toml:1: {told}",
        f"presets/a.toml:3: {told}",
        f"presets/a.toml:3: {long}",
        f"python/a.py:1: {told}",
        f"python/a.py:5: {told}",
        f"python/a.py:6: {told}",
        f"python/a.py:8: {long}",
        f"scripts/a:2: {told}",
        f"scripts/a:3: {told}",
        f"scripts/b:2: {told}",
    ]


def test_words_are_counted_without_bars_and_without_what_a_command_writes() -> None:
    assert prose.words_of("| a | -- |\n`b c` → 3.") == 4
    names = dict(prose.pages())
    assert "docs/reference/formats.md" in names and "CHANGELOG.md" in names
    assert not any(name in names for name in ("docs/measurements.md", "docs/reference/output.md"))
    assert "| esf/fig10" not in names["docs/esf-results.md"]
    assert sum(map(prose.words_of, names.values())) <= prose.MOST
