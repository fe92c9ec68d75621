"""Runs what pages say to type: the blocks of a page in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# What other tests run: tests/python/test_demo.py, and crates/sluice-cli/tests/live/vm.rs.
ELSEWHERE = {"make demo\n", "sluice vm --demo\n"}
PAGES = [
    "../README", "README",
    "tutorial", "my-program", "my-device", "modes", "sizing", "comparing-policies",
    "reading-a-report", "fabric-guide", "noisy-host", "warnings", "traces", "qemu-plugin", "stores",
    "placement", "profile", "curve", "hints", "sampling", "migration", "switch", "extending",
    "control-ring", "sweeps", "recipes",
]
TIMEOUT_S = 600


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return [code for code in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
            if code not in ELSEWHERE]


def test_a_page_that_a_page_links_to_is_in_the_contents() -> None:
    """The site has no other pages, so that such a link led nowhere there."""
    docs = ROOT / "docs"
    link = re.compile(r"\]\(([^)#\s]+\.md)[)#]")
    pages = {(docs / to).resolve() for to in link.findall((docs / "SUMMARY.md").read_text())}
    below = {page for of in pages for page in of.with_suffix("").glob("*.md")}
    for page in sorted(pages):
        for to in link.findall(page.read_text(encoding="utf-8")):
            if "://" not in to:
                assert (page.parent / to).resolve() in pages | below, f"{page.name}: {to}"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_to_type_works(page: str, tmp_path: Path) -> None:
    typed = blocks(page)
    assert typed, f"docs/{page}.md has nothing to type"
    # As in a checkout that was built, with a program of the reader's.
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsort /etc/passwd\n")
    program.chmod(0o755)
    (tmp_path / "target").symlink_to(TARGET)
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    for name in ("examples", "crates", "presets"):
        (tmp_path / name).symlink_to(ROOT / name)
    search = f"{TARGET / 'release'}{os.pathsep}{Path(sys.prefix) / 'bin'}"
    found = os.environ | {"PATH": f"{search}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(typed)], cwd=tmp_path,
                          env=found, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
