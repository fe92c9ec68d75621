"""Many mutants in one build, each behind a switch that the environment sets.

A mutant costs only the tests that reach it: a run without a mutant writes down which switches each
test program passes. cargo-mutants lists the mutants. The changed sources lie in a clone, and the
tree is never touched.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import tree_sitter
import tree_sitter_rust

T = TypeVar("T")
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
CRATE = "sluice-switch"
SWITCH = """//! Chooses a mutant.
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
const UNKNOWN: u32 = u32::MAX;
const RECORDS: u32 = u32::MAX - 1;
const OFF: u32 = u32::MAX - 2;
static CHOSEN: AtomicU32 = AtomicU32::new(UNKNOWN);
static PASSED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Whether this mutant is the one that runs.
#[inline]
pub fn on(id: u32) -> bool {
    match CHOSEN.load(Relaxed) {
        RECORDS | UNKNOWN => slow(id),
        chosen => chosen == id,
    }
}

#[cold]
fn slow(id: u32) -> bool {
    // The environment is asked once for each mutant: it takes long.
    if PASSED[id as usize].load(Relaxed) {
        return false;
    }
    let record = std::env::var_os("SWITCH_RECORD");
    let chosen = std::env::var("SWITCH_ON").ok().and_then(|id| id.parse().ok());
    let chosen = chosen.unwrap_or(if record.is_some() { RECORDS } else { OFF });
    CHOSEN.store(chosen, Relaxed);
    if let (RECORDS, Some(path)) = (chosen, record)
        && !PASSED[id as usize].swap(true, Relaxed)
        && let Ok(mut file) = std::fs::File::options().append(true).create(true).open(path)
    {
        let _ = file.write_all(format!("{id}\\n").as_bytes());
    }
    chosen == id
}
"""
# Programs that look at the sources, which are not what they were.
LOOK_AT_SOURCES = {"tidy", "header"}
# Seconds of a test program without a mutant.
WALL = 600


def on(number: int) -> str:
    return f"sluice_switch::on({number})"


def each(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    found, left = [], [node]
    while left:
        found.append(left.pop())
        left.extend(reversed(found[-1].children))
    return found


def is_const(node: tree_sitter.Node | None) -> bool:
    """Whether it is computed by the compiler, which has no environment."""
    while node is not None:
        if node.type in ("const_item", "static_item", "array_type", "const_block", "enum_variant"):
            return True
        if node.type == "function_item":
            before = [part for part in node.children if part.type == "function_modifiers"]
            return any(b"const" in part.text for part in before)
        node = node.parent
    return False


def has_let(node: tree_sitter.Node) -> bool:
    return any(part.type in ("let_condition", "let_chain") for part in each(node))


class Source:
    """A file and what is put into it."""

    def __init__(self, text: bytes):
        self.text = text
        self.root = PARSER.parse(text).root_node
        self.nodes = each(self.root)
        self.starts = [0]
        for line in text.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        # By node: other texts for it, and what stands around it. By place: what is put there.
        self.others: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.around: dict[int, tuple[str, str]] = {}
        self.put: dict[int, list[str]] = defaultdict(list)

    def place(self, at: dict) -> int:
        start, end = self.starts[at["line"] - 1], self.starts[at["line"]]
        line = self.text[start:end].decode()
        return start + len(line[: at["column"] - 1].encode())

    def innermost(self, kind: str, start: int, end: int) -> tree_sitter.Node | None:
        around = [node for node in self.nodes
                  if node.type == kind and node.start_byte <= start and end <= node.end_byte]
        return max(around, key=lambda node: node.start_byte, default=None)

    def part(self, start: int, end: int) -> str:
        return self.text[start:end].decode()

    def add(self, number: int, mutant: dict) -> bool:
        """Puts a mutant behind its switch. False if it cannot be."""
        start, end = (self.place(mutant["span"][side]) for side in ("start", "end"))
        match mutant["genre"]:
            case "FnValue":
                return self.add_value(number, mutant, start, end)
            case "BinaryOperator" | "UnaryOperator":
                return self.add_operator(number, mutant["replacement"], start, end)
            case "MatchArm" | "MatchArmGuard":
                return self.add_arm(number, mutant["replacement"].strip(), start, end)
        return False

    def add_value(self, number: int, mutant: dict, start: int, end: int) -> bool:
        function = self.innermost("function_item", start, end)
        body = function and function.child_by_field_name("body")
        # Two values of one `impl Trait` are of one type.
        if not body or is_const(body) or "impl " in (mutant["function"]["return_type"] or ""):
            return False
        value = f" if {on(number)} {{ return {mutant['replacement']}; }} "
        self.put[body.start_byte + 1].append(value)
        return True

    def add_operator(self, number: int, instead: str, start: int, end: int) -> bool:
        kinds = ("binary_expression", "compound_assignment_expr", "unary_expression")
        signs = [node for node in self.nodes
                 if (node.start_byte, node.end_byte) == (start, end)
                 and node.parent and node.parent.type in kinds]
        if not signs or is_const(signs[0]) or has_let(signs[0].parent):
            return False
        whole = signs[0].parent
        other = self.part(whole.start_byte, start) + instead + self.part(end, whole.end_byte)
        self.others[whole.id].append((number, other))
        return True

    def add_arm(self, number: int, instead: str, start: int, end: int) -> bool:
        arm = self.innermost("match_arm", start, end)
        if not arm or is_const(arm):
            return False
        pattern = arm.child_by_field_name("pattern")
        guard = pattern.child_by_field_name("condition")
        if guard is None:
            before = self.put[pattern.end_byte]
            before.append(f"{' &&' if before else ' if'} !{on(number)} ")
            return True
        if has_let(guard):
            return False
        first, last = self.around.get(guard.id, ("(", ")"))
        first = f"({on(number)} || {first}" if instead == "true" else f"(!{on(number)} && {first}"
        self.around[guard.id] = (first, last + ")")
        return True

    def changed(self) -> str:
        done: set[int] = set()

        def between(start: int, end: int) -> str:
            out = ""
            for place in sorted(at for at in self.put if start <= at <= end and at not in done):
                done.add(place)
                out += self.part(start, place) + "".join(self.put[place])
                start = place
            return out + self.part(start, end)

        def plain(node: tree_sitter.Node) -> str:
            out, at = "", node.start_byte
            for child in node.children:
                out += between(at, child.start_byte) + whole(child)
                at = child.end_byte
            return out + between(at, node.end_byte)

        def whole(node: tree_sitter.Node) -> str:
            out = plain(node)
            if node.id in self.others:
                first, last = "{}" if node.type == "compound_assignment_expr" else "()"
                choices = (f"if {on(number)} {{ {other} }} else "
                           for number, other in self.others[node.id])
                out = f"{first}{''.join(choices)}{{ {out} }}{last}"
            before, after = self.around.get(node.id, ("", ""))
            return before + out + after

        root = self.root
        head = between(0, root.start_byte) + whole(root)
        return head + self.part(root.end_byte, len(self.text))


def write(path: Path, text: str) -> None:
    """Writes what differs alone: cargo builds anew what is newer."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Switched:
    """The clone with its mutants, built once."""

    def __init__(self, root: Path, clone: Path, target: Path, mutants: dict[int, dict]):
        self.root, self.clone, self.mutants = root, clone, mutants
        self.environment = os.environ | {
            "CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
            "CARGO_PROFILE_RELEASE_INCREMENTAL": "true", "CARGO_PROFILE_RELEASE_DEBUG": "false",
            "PROPTEST_RNG_SEED": "1",
            # A mutant that overflows is seen by a test, not by the compiler.
            "RUSTFLAGS": os.environ.get("RUSTFLAGS", "") + " -A arithmetic_overflow"}
        # Mutants without a switch, and those among them that do not build.
        self.left: set[int] = set()
        self.unviable: set[int] = set()
        self.programs: list[tuple[str, str, str]] = []
        self.passes: dict[str, set[int]] = {}
        self.cost: dict[str, float] = {}
        self.wall: dict[str, float] = {}
        # Test programs that run.
        self.running: set[int] = set()

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.clone, check=True, capture_output=True,
                              text=True).stdout

    def copy(self) -> None:
        """The committed tree, with crates that are built quickly."""
        if not self.clone.exists():
            subprocess.run(["git", "clone", "--quiet", self.root, self.clone], check=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=True,
                              capture_output=True, text=True).stdout.strip()
        if self.git("rev-parse", "HEAD").strip() != head:
            self.git("fetch", "--quiet", str(self.root), head)
            self.git("checkout", "--quiet", "--force", head)
        write(self.clone / "crates" / CRATE / "Cargo.toml",
              f'[package]\nname = "{CRATE}"\nversion = "0.1.0"\nedition = "2024"\n')
        write(self.clone / "crates" / CRATE / "src/lib.rs", SWITCH)
        crates = sorted(folder.name for folder in (self.clone / "crates").iterdir())
        quick = "".join(f"\n[profile.release.package.{crate}]\nopt-level = 1\n" for crate in crates)
        write(self.clone / "Cargo.toml", self.git("show", "HEAD:Cargo.toml") + quick)
        for crate in {mutant["package"] for mutant in self.mutants.values()}:
            manifest = f"crates/{crate}/Cargo.toml"
            needs = f'[dependencies]\n{CRATE} = {{ path = "../{CRATE}" }}'
            write(self.clone / manifest,
                  self.git("show", f"HEAD:{manifest}").replace("[dependencies]", needs, 1))

    def switch(self) -> None:
        """Writes every file with the mutants that compile so far."""
        by_file = defaultdict(list)
        for number, mutant in self.mutants.items():
            by_file[mutant["file"]].append(number)
        for file in self.git("diff", "--name-only").split():
            if file.endswith(".rs") and file not in by_file:
                self.git("checkout", "--quiet", "--", file)
        for file, numbers in by_file.items():
            source = Source(self.git("show", f"HEAD:{file}").encode())
            for number in numbers:
                if number not in self.unviable and not source.add(number, self.mutants[number]):
                    self.left.add(number)
            write(self.clone / file, source.changed())

    def cargo(self, *words: str) -> tuple[int, list[dict]]:
        done = subprocess.run(["cargo", *words, "--release", "--message-format=json", "--quiet"],
                              cwd=self.clone, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        lines = done.stdout.splitlines()
        return done.returncode, [json.loads(line) for line in lines if line.startswith("{")]

    def blamed(self, error: dict) -> set[int]:
        """The mutants that an error is of: those whose switch is the last before it."""
        if (error.get("code") or {}).get("code") == "E0004":
            arms = re.findall(r"!sluice_switch::on\((\d+)\)", error["rendered"])
            if arms:
                return {int(number) for number in arms}
            # Of a long match the message shows the head alone: the arm is the first behind it.
            return {number for span in error["spans"] if span["is_primary"]
                    for number in self.switches(span, behind=True)}
        found = set()
        for span in error["spans"]:
            if span["is_primary"]:
                found.update(self.switches(span, behind=False))
        return found

    def switches(self, span: dict, behind: bool) -> list[int]:
        """The switch nearest to a place, before it, or of an arm behind it."""
        file = self.clone / span["file_name"]
        text = file.read_bytes() if file.exists() else b""
        if behind:
            found = re.findall(rb"!sluice_switch::on\((\d+)\)", text[span["byte_start"]:])[:1]
        else:
            found = re.findall(rb"sluice_switch::on\((\d+)\)",
                               text[: span["byte_start"] + 1])[-1:]
        return [int(number) for number in found]

    def build(self, tests: list[str]) -> None:
        """Leaves out what does not compile until all else does, and builds the tests."""
        crates = sorted({mutant["package"] for mutant in self.mutants.values()})
        self.copy()
        while True:
            self.switch()
            packages = [word for crate in crates for word in ("--package", crate)]
            code, messages = self.cargo("check", "--keep-going", *packages)
            if code == 0:
                break
            errors = [told["message"] for told in messages
                      if told["reason"] == "compiler-message"
                      and told["message"]["level"] == "error"]
            found = {number for error in errors for number in self.blamed(error)}
            if not found - self.unviable:
                sys.exit("mutants: the tree with its switches does not compile:\n"
                         + "\n".join(error["rendered"] for error in errors))
            self.unviable |= found
        packages = [word for crate in tests for word in ("--package", crate)]
        code, messages = self.cargo("test", "--no-run", *packages)
        if code:
            sys.exit("mutants: the tests of the tree with its switches do not compile")
        for told in messages:
            if (told["reason"] == "compiler-artifact" and told.get("executable")
                    and told["profile"]["test"]
                    and told["target"]["name"] not in LOOK_AT_SOURCES):
                crate = Path(told["manifest_path"]).parent.name
                self.programs.append((crate, told["target"]["name"], told["executable"]))

    def once(self, crate: str, program: str, more: dict[str, str], seconds: int,
             wall: float) -> tuple[int, float]:
        """A test program's status and its time on a processor, of which it has so many seconds.

        One that hangs without computing ends after `wall` seconds.
        """
        folder = self.clone / "crates" / crate
        environment = self.environment | more | {"CARGO_MANIFEST_DIR": str(folder)}
        child = subprocess.Popen(
            ["prlimit", f"--cpu={seconds}:{seconds + 1}", program], cwd=folder, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

        def end() -> None:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        timer = threading.Timer(wall, end)
        timer.start()
        self.running.add(child.pid)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            self.running.discard(child.pid)
            timer.cancel()
            end()
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, usage.ru_utime + usage.ru_stime

    def record(self, log: Path) -> None:
        """Runs every test program without a mutant: what it costs, and which switches it passes."""
        good = []

        def one(at: int) -> tuple[int, float, float, set[int]]:
            crate, _, program = self.programs[at]
            path = log.with_suffix(f".{at}")
            path.unlink(missing_ok=True)
            begun = time.monotonic()
            code, cost = self.once(crate, program, {"SWITCH_RECORD": str(path)}, WALL, WALL)
            passed = path.read_text().split() if path.exists() else []
            return code, cost, time.monotonic() - begun, {int(number) for number in passed}

        told = self.side_by_side(one, range(len(self.programs)))
        for at, (code, cost, wall, passed) in enumerate(told):
            crate, name, program = self.programs[at]
            if code:
                print(f"==> left out, as it fails without a mutant: {crate} {name}", flush=True)
                continue
            good.append((crate, name, program))
            self.passes[program], self.cost[program], self.wall[program] = passed, cost, wall
        self.programs = good

    def side_by_side(self, run: Callable[[int], T], numbers: Iterable[int]) -> Iterator[T]:
        """Runs this for each number, two at a time, as not every test program fills the cores."""
        pool = ThreadPoolExecutor(max_workers=2)
        try:
            yield from pool.map(run, numbers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for pid in list(self.running):
                os.killpg(pid, signal.SIGKILL)

    def outcome(self, number: int, tests: list[str]) -> str:
        """What the tests of these crates say of a mutant, by the names of cargo-mutants."""
        if number in self.unviable:
            return "Unviable"
        reached = [(self.cost[program], crate, program) for crate, _, program in self.programs
                   if crate in tests and number in self.passes[program]]
        for cost, crate, program in sorted(reached):
            code, _ = self.once(crate, program, {"SWITCH_ON": str(number)}, int(4 * cost) + 5,
                                30 + 10 * self.wall[program])
            if code in (-signal.SIGKILL, -signal.SIGXCPU):
                return "Timeout"
            if code:
                return "CaughtMutant"
        return "MissedMutant"
