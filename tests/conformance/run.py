"""Runs other people's suites natively and under `sluice run` in both modes, and compares.

Writes docs/conformance.md: rows of suites that were not chosen stay. The exit status is 1 if
something differs for which reasons.py has no reason.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "torture"))

import trouble
from reasons import REASONS, reason
from suites import Case, Suite, paths, suites

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TRAPS = ["event", "signal"]
# Cells of a row.
CELLS = 7
# A run on the device may take so many times as long as one without, and this many seconds more.
SLOWER, MORE_SECONDS = 20, 60
HEAD = """# Conformance

`make conformance` runs other people's programs and suites natively and under `sluice run`, and
compares the outcome of each case: the exit status, and the output or the results of single tests.
`make conformance ONLY=sqlite,node` runs some. Each case runs in a small cache (2 to 24 MiB) with
reads of 10 us. It writes this page; a row stays until its suite is run again.

"same" is the native outcome. A case that differs without a documented reason is a defect. The last
column is the commit that was run, or the last one before it.

| suite | case | native | event | signal | reason | commit |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass
class Outcome:
    """How a case ended."""

    status: int | str
    results: dict[str, str]
    seconds: float
    said: str

    def told(self) -> str:
        tests = self.results.get("tests")
        bad = [name for name, how in self.results.items() if how in ("FAIL", "ERROR")]
        much = f", {tests} tests" if tests else ""
        few = f", failing: {', '.join(sorted(bad)[:4])}" if bad else ""
        return f"{self.status}{much}{few}"

    def against(self, native: Outcome) -> str:
        if self.status == native.status and self.results == native.results:
            return "same"
        if self.status != native.status and not self.results.get("tests"):
            return str(self.status)
        names = native.results.keys() | self.results.keys()
        differ = sorted(n for n in names if native.results.get(n) != self.results.get(n))
        more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
        return f"{self.status}: {', '.join(differ[:3])}{more}"


def _as_user(user: str) -> list[str]:
    if not user or os.getuid() != 0:
        return []
    # Event mode needs this right where userfaultfd is not for everybody.
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups",
            "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]


def _device(case: Case, trap: str, sluice: str) -> list[str]:
    return [sluice, "run", "--trap", trap, "--place", case.place, "--set", "device.capacity=2GiB",
            "--set", f"cache.capacity={case.cache}", "--set", "nand.read=10us",
            "--set", "nand.program=1us", "--set", "nand.erase=5us", "--"]


REFUSED = "refused"
"""What stands in the table where a mode has no such device."""


def _own(said: str) -> str:
    return "\n".join(line for line in said.splitlines() if not line.startswith("sluice: "))


def run(suite: Suite, case: Case, before: list[str], seconds: float) -> Outcome:
    """Runs a case in a folder of its own, with what stands before its command."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        if suite.user and os.getuid() == 0:
            shutil.chown(folder, suite.user)
        said = Path(folder) / "said"
        env = os.environ | {"SLUICE_CONFORMANCE": mark, "PATH": paths(), "LC_ALL": "C.UTF-8"}
        started = time.monotonic()
        with said.open("wb") as out:
            child = subprocess.Popen(_as_user(suite.user) + before + case.command, cwd=folder,
                                     stdout=out, stderr=subprocess.STDOUT, env=env,
                                     stdin=subprocess.DEVNULL, start_new_session=True)
        status: int | str
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = f"not ended in {seconds:.0f} s"
        left = trouble.processes(f"SLUICE_CONFORMANCE={mark}")
        if isinstance(status, str):
            print(trouble.stacks(left))
        trouble.kill(left)
        child.wait()
        trouble.wait_until_gone(f"SLUICE_CONFORMANCE={mark}", 10)
        trouble.remove_sessions(child.pid)
        text = said.read_text(errors="replace")
        results = case.read(_own(text))
        return Outcome(status, results, time.monotonic() - started, text)


def play(suite: Suite, case: Case, sluice: str, traps: list[str],
         keep: Path | None) -> list[str] | None:
    """The row of a case; none if this version of the suite has no such case."""
    native = run(suite, case, [], case.seconds)
    if "unrecognized option" in native.said:
        print(f"{suite.name} {case.name}: not in this version", flush=True)
        return None
    told = {}
    limit = native.seconds * SLOWER + MORE_SECONDS
    for trap in traps:
        if trap not in case.traps:
            told[trap] = "same"
            continue
        out = run(suite, case, _device(case, trap, sluice), limit)
        told[trap] = out.against(native)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{suite.name}-{case.name}-{trap}").write_text(out.said)
            (keep / f"{suite.name}-{case.name}-native").write_text(native.said)
        print(f"{suite.name} {case.name} {trap}: {told[trap]} ({out.seconds:.0f} s, natively"
              f" {native.told()} in {native.seconds:.0f} s)", flush=True)
    differ = [trap for trap in traps if told[trap] != "same"]
    cells = [REFUSED if trap not in case.traps else told.get(trap, "not run") for trap in TRAPS]
    why = reason(suite.name, case.name, differ)
    return [suite.name, case.name, native.told(), *cells, why, commit()]


def commit() -> str:
    """The last commit of the state that is run."""
    told = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                          capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def write_page(path: Path, rows: list[list[str]]) -> None:
    """Puts rows into the page, in the place of older ones of the same cases."""
    order = [suite.name for suite in suites()]
    kept = {}
    if path.exists():
        for line in path.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if len(cells) == CELLS and cells[0] in order:
                kept[cells[0], cells[1]] = cells
    for row in rows:
        kept[row[0], row[1]] = [cell.replace("|", "/") for cell in row]
    ordered = sorted(kept.values(), key=lambda row: order.index(row[0]))
    lines = ["| " + " | ".join(row).rstrip() + " |" for row in ordered]
    path.write_text(HEAD + "\n".join(lines) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of suites, or of cases as suite:case")
    parser.add_argument("--trap", action="append", choices=TRAPS, help="run this mode only")
    parser.add_argument("--list", action="store_true", help="print the suites")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "conformance.md")
    parser.add_argument("--keep", type=Path, help="keep the output of each case in this folder")
    parser.add_argument("--sluice", default=str(TARGET / "release" / "sluice"))
    return parser.parse_args()


def chosen(only: str) -> list[tuple[Suite, Case]]:
    """The cases of a selection; a name that is none ends the program."""
    wanted = set(filter(None, only.split(",")))
    pairs = [(suite, case) for suite in suites() for case in suite.cases]
    names = {suite.name for suite, _ in pairs} | {f"{s.name}:{c.name}" for s, c in pairs}
    if strange := wanted - names:
        print(f"--only {','.join(sorted(strange))}: expected names of {sorted(names)}",
              file=sys.stderr)
        sys.exit(2)
    return [(s, c) for s, c in pairs
            if not wanted or s.name in wanted or f"{s.name}:{c.name}" in wanted]


def main() -> int:
    given = arguments()
    # A script's background ignores them, and so would all that is started here.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    pairs = chosen(given.only)
    if given.list:
        for suite in suites():
            print(f"{suite.name:12} {len(suite.cases):3} cases: {suite.about}")
        return 0
    names = ",".join(dict.fromkeys(suite.name for suite, _ in pairs))
    subprocess.run([ROOT / "scripts" / "system", f"conformance={names}"], check=True)
    rows, unknown = [], 0
    for suite, case in pairs:
        if missing := suite.missing():
            print(f"{suite.name}: no {', '.join(missing)}", file=sys.stderr)
            return 2
        row = play(suite, case, given.sluice, given.trap or TRAPS, given.keep)
        if row is None:
            continue
        differ = [t for t, cell in zip(TRAPS, row[3:5], strict=True)
                  if cell not in ("same", "not run", REFUSED)]
        unknown += any((suite.name, case.name, trap) not in REASONS for trap in differ)
        rows.append(row)
        write_page(given.page, rows)
    print(f"{len(rows)} cases, {unknown} differ without a known reason; see {given.page.name}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
