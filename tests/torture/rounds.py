"""One round: the same program with the same seed, natively and on the device."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, fields
from pathlib import Path

import limits
import trouble

HERE = Path(__file__).parent
GONE_SECONDS = 10


@dataclass(frozen=True)
class Round:
    """All that a round depends on; its text form repeats it."""

    program: str
    seed: int
    trap: str
    place: str
    policy: str
    cache: str
    read: str
    steps: int
    outside: str

    def __str__(self) -> str:
        return "/".join(str(getattr(self, field.name)) for field in fields(self))

    @staticmethod
    def parse(text: str) -> Round:
        """The round of a text; ValueError says what is wrong."""
        words = text.split("/")
        if len(words) != len(fields(Round)):
            names = "/".join(field.name for field in fields(Round))
            raise ValueError(f"--round {text}: expected {names}")
        return Round(words[0], int(words[1]), *words[2:7], int(words[7]), words[8])


@dataclass(frozen=True)
class Tools:
    """What rounds are run with."""

    sluice: str
    program: Path
    seconds: float
    more_without: str = ""
    only: str = ""
    keep: Path | None = None


@dataclass
class Ended:
    """How a run of the program ended."""

    status: int
    said: str
    log: list[str]
    hung: str = ""


def build(folder: Path) -> Path:
    """Compiles the program in C."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "torture"
    sources = sorted(HERE.glob("*.c"))
    newest = max(path.stat().st_mtime for path in [*sources, HERE / "torture.h"])
    if not program.exists() or program.stat().st_mtime < newest:
        # Another run may be using the old one.
        new = folder / f"torture.{os.getpid()}"
        subprocess.run(["cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
                        "-Wl,-z,now", "-o", new, *sources], check=True)
        new.replace(program)
    return program


def _said(log: Path) -> Path:
    """What a run prints, beside its log."""
    return log.with_suffix(".said")


def _log_bytes(path: Path) -> int:
    """Length of a log, which is in front of it."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return int.from_bytes(file.read(8), "little")


def _log_of(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(8)
        return file.read(_log_bytes(path)).decode(errors="replace").splitlines()


def _program(chosen: Round, tools: Tools, folder: Path, name: str, file: str) -> list[str]:
    left_out = [*limits.without(chosen.trap, chosen.place, chosen.seed),
                *tools.more_without.split(",")]
    words = ["--seed", str(chosen.seed), "--steps", str(chosen.steps),
             "--without", ",".join(word for word in left_out if word), "--only", tools.only]
    if chosen.program == "python":
        # Only its output shows how far it is.
        return [sys.executable, "-u", str(HERE / "objects.py"), *words]
    has_file = chosen.place in ("dax", "shared")
    more = ["--log", str(folder / name), "--file", file if has_file else ""]
    return [str(tools.program), *words, *more]


def _device(chosen: Round, tools: Tools, file: str) -> list[str]:
    settings = limits.DEVICE | {
        "cache.capacity": chosen.cache, "cache.policy": chosen.policy, "nand.read": chosen.read,
        **limits.prefetcher(chosen.seed), **limits.inactive(chosen.seed),
        **limits.migration(chosen.seed, chosen.place),
    }
    words = [tools.sluice, "run", "--trap", chosen.trap, "--control", "on"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    if limits.is_profiled(chosen.seed):
        words.append("--profile=4KiB")
    if chosen.place == "dax":
        words += ["--place", f"dax:{file}"]
    if chosen.place == "shared":
        words += ["--place", "heap", "--place", "shared"]
    if chosen.place == "stored":
        words += ["--store", f"file:{tempfile.gettempdir()}"]
    return [*words, "--"]


def _has_ended(child: subprocess.Popen, seconds: float, said: Path, log: Path) -> bool:
    """Waits for its end; gives up when neither output nor log has grown for so long."""
    seen, since = None, time.monotonic()
    while time.monotonic() - since < seconds:
        try:
            child.wait(min(1, seconds))
            return True
        except subprocess.TimeoutExpired:
            if (now := (said.stat().st_size, _log_bytes(log))) != seen:
                seen, since = now, time.monotonic()
    return False


def _run(command: list[str], mark: str, seconds: float, log: Path, ring=None) -> tuple[int, str]:
    """Status, and the stacks if it hung. Its output goes to a file, which nobody waits for."""
    name, value = mark.split("=")
    said = _said(log)
    with said.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, start_new_session=True,
                                 env=os.environ | {name: value})
    stop_ring = ring(child.pid) if ring else lambda: ""
    hung = ""
    try:
        if not _has_ended(child, seconds, said, log):
            hung = f"it took no step for {seconds:.0f} s\n{trouble.stacks(trouble.processes(mark))}"
            _give_up(child, mark)
    except BaseException:
        _give_up(child, mark)
        raise
    answer = stop_ring()
    return child.returncode, hung or answer


def _give_up(child: subprocess.Popen, mark: str) -> None:
    trouble.kill([*trouble.processes(mark), child.pid])
    child.wait()
    trouble.wait_until_gone(mark, GONE_SECONDS)
    trouble.remove_sessions(child.pid)


def _native(chosen: Round, tools: Tools, folder: Path, file: str) -> Ended:
    mark = f"SLUICE_TORTURE={uuid.uuid4().hex}"
    log = folder / "native"
    command = _program(chosen, tools, folder, "native", file)
    status, hung = _run(command, mark, tools.seconds, log)
    trouble.kill(trouble.wait_until_gone(mark, GONE_SECONDS))
    return Ended(status, _said(log).read_text(errors="replace"), _log_of(log), hung)


def _leftovers(mark: str, pid_of_session: int) -> str:
    left = trouble.wait_until_gone(mark, GONE_SECONDS)
    if left:
        where = trouble.stacks(left)
        trouble.kill(left)
        trouble.wait_until_gone(mark, GONE_SECONDS)
        return f"processes are left\n{where}"
    folders = trouble.sessions(pid_of_session)
    return f"session folders are left: {folders}" if folders else ""


def _live(chosen: Round, tools: Tools, folder: Path, file: str) -> Ended:
    mark = f"SLUICE_TORTURE={uuid.uuid4().hex}"
    log = folder / "live"
    command = _device(chosen, tools, file) + _program(chosen, tools, folder, "live", file)
    session = 0

    def ring(pid: int):
        nonlocal session
        session = pid
        if "ring" not in chosen.outside:
            return lambda: ""
        sender = trouble.Ring(tools.sluice, pid, chosen.seed, limits.POLICIES)
        sender.start()
        return sender.stop

    seconds = limits.patience(chosen.policy, chosen.outside, tools.seconds)
    hogs = trouble.start_hogs(2 if "hogs" in chosen.outside else 0)
    try:
        status, hung = _run(command, mark, seconds, log, ring)
    finally:
        trouble.stop_hogs(hogs)
    hung = hung or _leftovers(mark, session)
    return Ended(status, _said(log).read_text(errors="replace"), _log_of(log), hung)


def _difference(native: list[str], live: list[str]) -> str:
    for at, (one, other) in enumerate(zip(native, live, strict=False)):
        if one != other:
            before = " | ".join(native[max(0, at - 2) : at])
            return f"line {at} of the log is {other!r}, natively {one!r}, after {before}"
    if len(native) != len(live):
        last = live[-1] if live else "nothing"
        return f"the log has {len(live)} lines, natively {len(native)}; its last is {last!r}"
    return ""


def _programs_own(said: str) -> str:
    """What the program itself printed: Sluice's own lines begin with its name."""
    lines = [line for line in said.splitlines() if not line.startswith("sluice: ")]
    return "\n".join(lines)


def _traps(said: str) -> int:
    """The traps of all processes, by Sluice's lines at the end."""
    counts = re.findall(r"^sluice: (?:its other processes: )?(\d+) traps", said, re.MULTILINE)
    return sum(map(int, counts))


def _judge(native: Ended, live: Ended, steps: int) -> str:
    if native.hung or native.status != 0:
        return f"natively: status {native.status} {native.hung} {native.said[-500:]}"
    if live.hung:
        return f"{live.hung}\n  its last lines: {live.log[-3:]} {live.said[-300:]}"
    if live.status != native.status:
        own = [line for line in live.said.splitlines() if line]
        return f"status {live.status}: {' | '.join(own[:4])[:700]}"
    if _programs_own(native.said) != _programs_own(live.said):
        return _difference(_programs_own(native.said).splitlines(),
                           _programs_own(live.said).splitlines())
    # A device that nothing reaches any more makes no mistakes.
    if "sluice: " in live.said and _traps(live.said) < steps:
        return f"only {_traps(live.said)} traps in {steps} steps: the program lost its device"
    return _difference(native.log, live.log)


def play(chosen: Round, tools: Tools) -> tuple[str, float]:
    """Plays a round: what went wrong, or nothing, and its seconds on the device."""
    with tempfile.TemporaryDirectory() as name, tempfile.NamedTemporaryFile(
        dir="/dev/shm", prefix="torture-"
    ) as file:
        folder = tools.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        native = _native(chosen, tools, folder, file.name)
        started = time.monotonic()
        live = _live(chosen, tools, folder, file.name)
        return _judge(native, live, chosen.steps), time.monotonic() - started


def repeat(chosen: Round, tools: Tools) -> str:
    """The command that plays it again."""
    words = ["python3", "tests/torture/run.py", "--round", str(chosen)]
    if tools.more_without:
        words += ["--without", tools.more_without]
    if tools.only:
        words += ["--only", tools.only]
    return shlex.join(words)
