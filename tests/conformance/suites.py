"""Other people's suites: what each runs, and how its outcome is read.

A case is a command that is run natively and under `sluice run`. What is compared is its exit status
and what `read` makes of its output: everything, nothing, or the results of single tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def everything(said: str) -> dict[str, str]:
    """Each line of the output is a result."""
    return {f"line {number}": line for number, line in enumerate(said.splitlines(), 1)}


def nothing(said: str) -> dict[str, str]:
    """Only the exit status counts."""
    return {}


def unittests(said: str) -> dict[str, str]:
    """Tests of Python's unittest that did not pass, and how many there were."""
    failed = re.findall(r"^(FAIL|ERROR): (\S+)", said, re.MULTILINE)
    counts = re.findall(r"^Ran (\d+) tests?", said, re.MULTILINE)
    return {name: how for how, name in failed} | {"tests": "+".join(counts)}


@dataclass(frozen=True)
class Case:
    """A command, with the seconds after which it counts as hung natively."""

    name: str
    command: list[str]
    seconds: float = 120
    read: Callable[[str], dict[str, str]] = everything
    cache: str = "8MiB"
    place: str = "heap"
    """What is on the device."""

    @property
    def traps(self) -> tuple[str, ...]:
        """The trap modes that have such a device."""
        return ("event",) if self.place == "shared" else ("event", "signal")


@dataclass(frozen=True)
class Suite:
    """Cases of one program. `commands` must be there; scripts/system installs them."""

    name: str
    about: str
    commands: list[str]
    cases: list[Case] = field(default_factory=list)
    user: str = ""

    def missing(self) -> list[str]:
        """Commands that are not there."""
        return [name for name in self.commands if not shutil.which(name, path=paths())]


def paths() -> str:
    """Where programs are looked for: PostgreSQL keeps its own elsewhere."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    go = ["/usr/local/go/bin"] if Path("/usr/local/go/bin").is_dir() else []
    return ":".join([*map(str, versions[:1]), *go, system])


def script(name: str, seconds: float = 120, **more: str) -> Case:
    """A shell script of `programs`, whose output must be the same."""
    return Case(name, ["sh", "-eu", str(PROGRAMS / f"{name}.sh")], seconds, **more)


def python() -> str:
    """A Python with its own tests."""
    for name in ("python3", "/usr/bin/python3"):
        path = shutil.which(name)
        if path is None:
            continue
        probe = [path, "-c", "import test.test_mmap"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return path
    return "python3"


PYTHON_TESTS = [
    "test_mmap", "test_threading", "test_subprocess", "test_signal", "test_io", "test_os",
    "test_bytes", "test_gc", "test_fork1", "test_posix", "test_selectors", "test_ctypes",
    "test_faulthandler", "test_shutil", "test_sys_settrace", "test_memoryview",
]

# Name of a stressor and how many of its operations.
STRESSORS = {
    "vm": 2000, "vm-rw": 200, "malloc": 20000, "mremap": 40, "madvise": 20, "fork": 400,
    "vfork": 400, "clone": 200, "context": 2000, "sigaltstack": 2000, "sigsegv": 500, "sigfd": 2000,
    "mmap": 20, "mmapfork": 4, "brk": 2000, "bigheap": 400, "daemon": 50, "exec": 40,
    "pthread": 500, "futex": 2000, "sem": 2000, "fd-fork": 20, "close": 2000, "dup": 500,
    "pipe": 20000, "sockpair": 2000, "sigpending": 2000, "timer": 1000, "memcpy": 40, "memrate": 4,
    "mincore": 4000, "mlock": 400, "munmap": 5, "remap": 2, "msync": 200, "shm": 10,
    "switch": 2000, "vecmath": 100, "zlib": 4, "qsort": 4, "tree": 4, "hsearch": 10, "list": 20,
    "str": 200, "resources": 4, "vm-splice": 2000, "wait": 200, "zombie": 100, "zero": 2000,
    "aio": 500, "bad-altstack": 200, "epoll": 500, "exit-group": 50, "kcmp": 2000, "landlock": 20,
    "memfd": 1, "mprotect": 500, "pkey": 200, "ptrace": 500, "seccomp": 50, "session": 50,
    "sigq": 2000, "stackmmap": 10, "sysbadaddr": 500, "userfaultfd": 2000, "usersyscall": 2000,
}


def stressor(name: str, operations: int) -> Case:
    words = ["stress-ng", f"--{name}", "1", f"--{name}-ops", str(operations), "--verify",
             "--timeout", "60", "--temp-path", ".", "--no-rand-seed"]
    more = {"vm": ["--vm-bytes", "24m"], "bigheap": ["--bigheap-growth", "64k"],
            "mremap": ["--mremap-bytes", "4m"], "vm-rw": ["--vm-rw-bytes", "4m"],
            "fork": ["--fork-vm"], "mmap": ["--mmap-bytes", "8m"]}
    return Case(name, words + more.get(name, []), 120, nothing)


COLLECTORS = ["Serial", "Parallel", "G1", "Shenandoah", "Z"]


def collector(name: str) -> Case:
    flags = ["-Xmx96m", f"-XX:+Use{name}GC", "-XX:-UsePerfData"]
    return Case(name, ["java", *flags, str(PROGRAMS / "Heap.java")], 180, cache="24MiB")


def suites() -> list[Suite]:
    """All of them, in the order of the table."""
    own = [python(), "-m", "test", "-v"]
    return [
        Suite("cpython", "CPython's own tests", ["python3"],
              [*(Case(name, [*own, name], 300, unittests) for name in PYTHON_TESTS),
               Case("test_multiprocessing_fork",
                    [python(), str(PROGRAMS / "multiprocessing_fork.py"), "-v"], 900, unittests)]),
        Suite("stress-ng", "stressors that verify what they do", ["stress-ng"],
              [stressor(name, count) for name, count in STRESSORS.items()]),
        Suite("sqlite", "a script of SQLite's shell, with integrity_check", ["sqlite3"],
              [script("sqlite", cache="4MiB")]),
        Suite("redis", "values of all types, a background save, redis-benchmark",
              ["redis-server", "redis-cli", "redis-benchmark"], [script("redis", cache="2MiB")]),
        Suite("postgresql", "initdb, pgbench, sums that must agree",
              ["initdb", "pgbench", "setpriv"], [script("postgresql", 240),
               replace(script("postgresql", 240), name="shared-buffers", place="shared")],
              user="postgres"),
        Suite("java", "a program that fills and checks its heap, with each collector", ["java"],
              [*(collector(name) for name in COLLECTORS),
               replace(collector("Z"), name="Z-shared", place="shared")]),
        Suite("node", "maps, buffers, zlib and workers", ["node"],
              [Case("heap", ["node", str(PROGRAMS / "heap.js")], cache="24MiB")]),
        Suite("go", "a program with cgo", ["go", "cc"], [script("go", 300)]),
        Suite("erlang", "processes with heaps of their own, messages, binaries", ["erl"],
              [script("erlang")]),
        Suite("rocksdb", "db_bench: fill, read, compact, verify checksums", ["db_bench"],
              [Case("db_bench", [
                  "db_bench", "--db=rocks", "--num=50000", "--threads=2", "--value_size=200",
                  "--benchmarks=fillrandom,readrandom,overwrite,compact,readseq,verifychecksum",
              ], 180, nothing)]),
    ]
