"""The page of the crates: what each one is, and which it needs, from `cargo metadata`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INTRODUCTION = """
What each crate is, and which crates of ours it needs, as the manifests say. An arrow leads from a
crate to one that it needs. Crates that it has by way of another one are left out of the drawing,
and stand in the table. What a crate may do is in [ARCHITECTURE.md](../../ARCHITECTURE.md).
"""

MADE_BY = "<!-- Made by scripts/crates.py (`make docs`); do not edit. -->"
Needs = dict[str, set[str]]


def crates() -> tuple[dict[str, str], Needs]:
    """The description of each crate, and the crates that it needs outside of its tests."""
    answer = subprocess.run(["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"],
                            capture_output=True, text=True, check=True, cwd=ROOT)
    packages = json.loads(answer.stdout)["packages"]
    ours = {package["name"] for package in packages}
    needs = {package["name"]: {one["name"] for one in package["dependencies"]
                               if one["kind"] is None and one["name"] in ours}
             for package in packages}
    return {package["name"]: package["description"] for package in packages}, needs


def all_of(name: str, needs: Needs) -> set[str]:
    """Every crate that one needs, by whatever way."""
    found: set[str] = set()
    open_ones = list(needs[name])
    while open_ones:
        other = open_ones.pop()
        if other not in found:
            found.add(other)
            open_ones.extend(needs[other])
    return found


def direct(name: str, needs: Needs) -> list[str]:
    """The crates that one needs and has by no other one."""
    by_others = {far for other in needs[name] for far in all_of(other, needs)}
    return sorted(needs[name] - by_others)


def layers(needs: Needs) -> list[list[str]]:
    """The crates in layers: each needs crates of the layers before its own alone."""
    height: dict[str, int] = {}
    while len(height) < len(needs):
        for name, others in needs.items():
            if name not in height and others <= height.keys():
                height[name] = 1 + max((height[other] for other in others), default=-1)
    rows: list[list[str]] = [[] for _ in range(1 + max(height.values()))]
    for name in sorted(height):
        rows[height[name]].append(name)
    return rows


def short(name: str) -> str:
    """The name within the drawing."""
    return name.removeprefix("sluice-")


def page() -> str:
    """The whole page."""
    descriptions, needs = crates()
    rows = layers(needs)
    drawing = ["```mermaid", "graph BT"]
    drawing += [f"  {short(name)}" for row in rows for name in row]
    drawing += [f"  {short(name)} --> {short(other)}"
                for row in rows for name in row for other in direct(name, needs)]
    drawing.append("```")
    lines = ["| crate | is | needs | and by way of them |", "| --- | --- | --- | --- |"]
    for row in rows:
        for name in row:
            others = ", ".join(short(other) for other in direct(name, needs)) or "none"
            far = sorted(all_of(name, needs) - set(direct(name, needs)))
            lines.append(f"| `{name}` | {descriptions[name]} | {others} |"
                         f" {', '.join(map(short, far)) or 'none'} |")
    return (f"# Crates\n\n{MADE_BY}\n{INTRODUCTION}\n" + "\n".join(drawing) + "\n\n"
            + "\n".join(lines) + "\n")
