"""Live runs from Python: a program with its memory on a device, and commands for one that runs."""

from __future__ import annotations

import json
import locale
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sluice import _core
from sluice.errors import ControlError, InputError, RunError
from sluice.overrides import given
from sluice.paths import Name, text
from sluice.processes import end
from sluice.reproduce import program
from sluice.result import Result
from sluice.seeds import checked, whole

_PAGE = 4096
_GRACE_S = 10
_REFUSAL = "SLUICE_REFUSAL"
"""Where the command writes why it refuses, for its standard error is the user's."""


def run(command: Sequence[Name], device: Name = "cxl-ssd",
        overrides: Mapping[str, object] | None = None, *, trap: str = "event", seed: int = 1,
        capture: bool = False, profile: bool | str = False) -> Result:
    """Run a program with its memory on a device, in the device's time, and return its result.

    ``overrides`` are values by key, as of :func:`sluice.simulate`. What the program prints goes
    where this process' output goes, or with ``capture`` into ``.output`` and ``.errors`` of the
    result. With ``profile``, ``.profile`` has the misses by allocation and by thread: of
    allocations of 64 KiB and more, or from a size such as ``"4KiB"`` on. Raises
    :class:`sluice.ConfigError` for a device that cannot be, :class:`sluice.InputError` for
    what else ``sluice run`` refuses, and :class:`sluice.RunError` with ``status`` and
    ``result`` for a program that ended with another status than 0.

    >>> import sluice, sys
    >>> result = sluice.run([sys.executable, "-c", "print(sum(bytearray(8 << 20)))"],
    ...                     overrides={"device.capacity": "64MiB", "cache.capacity": "4MiB"},
    ...                     capture=True)
    >>> result.output
    '0\\n'
    >>> result.cache.misses > 1000
    True
    """
    if isinstance(command, str | bytes):
        raise InputError(f"bad command: {command!r}; expected a list of words, such as"
                         f" {command.split()!r}")
    words = [os.fsdecode(word) for word in command]
    seed = checked(seed)
    values = given(overrides)
    # The command would refuse it too, but say so on its standard error alone.
    _core.resolve(text(device), {key: value for key, value in values.items()
                                 if not str(key).startswith("host.")})
    sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    if profile:
        sets.append("--profile" if profile is True else f"--profile={profile}")
    with tempfile.TemporaryDirectory(prefix="sluice-run-") as folder:
        out = Path(folder) / "out"
        start = [str(program.find(None)), "run", "--device", text(device), *sets, "--seed",
                 str(seed), "--trap", trap, "--out", str(out), "--", *words]
        why = Path(folder) / "refusal"
        done = _done(start, capture, os.environ | {_REFUSAL: str(why)})
        stats = out / "stats.json"
        if not stats.is_file():
            raise InputError(why.read_text(encoding="utf-8") if why.is_file() else
                             f"`sluice run` ended with status {done.returncode} and no result: "
                             + (_last(done.stderr) if capture else "what it printed says why"))
        result = Result(json.loads(stats.read_text(encoding="utf-8")))
    if capture:
        result.output, result.errors = done.stdout, done.stderr
    if done.returncode != 0:
        raise RunError(f"{words[0]} ended with status {done.returncode}", status=done.returncode,
                       result=result)
    return result


def _done(start: list[str], capture: bool,
          variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What came of a command. One that is given up is asked to end, and passes that on to its
    program."""
    pipe = subprocess.PIPE if capture else None
    with subprocess.Popen(start, stdout=pipe, stderr=pipe, env=variables) as child:
        try:
            told = child.communicate()
        except BaseException:
            end(child, _GRACE_S)
            raise
    # Python's own reading would make one of the ends of lines that a program prints.
    output, errors = (one and one.decode(locale.getpreferredencoding(False), "replace")
                      for one in told)
    return subprocess.CompletedProcess(start, child.returncode, output or "", errors or "")


def attach(pid: int) -> Control:
    """The control ring of a program on a device: see :class:`Control`.

    ``pid`` is that of the program, or of the ``sluice`` that runs it. Raises
    :class:`sluice.ControlError` if it has no ring.

    >>> import os, sluice
    >>> sluice.attach(os.getpid())              # which is on no device
    Traceback (most recent call last):
        ...
    sluice.errors.ControlError: ...
    """
    return Control(pid)


class Control:
    """Commands for the device of a running program (docs/control-ring.md). A range is ``"all"``,
    ``"0..16MiB"`` or ``"4KiB+64KiB"`` of the device, or with ``@`` before it of the program's
    addresses. Each raises :class:`sluice.ControlError` if the device refuses.

    >>> import subprocess, sluice
    >>> from sluice.reproduce import program
    >>> walk = ["python3", "-c", "x = bytearray(8 << 20); print(flush=True); input()"]
    >>> start = [program.find(None), "run", "--set", "device.capacity=64MiB", "--", *walk]
    >>> pipe = subprocess.PIPE
    >>> with subprocess.Popen(start, stdin=pipe, stdout=pipe, stderr=pipe) as child:
    ...     _ = child.stdout.readline()         # now the program has its memory
    ...     control = sluice.attach(child.pid)
    ...     _ = control.pin("0..64KiB")
    ...     pinned = control.resident()[:16]    # pages of 4 KiB
    ...     _ = child.communicate(b"\\n")
    >>> bool(pinned.all())
    True
    """

    def __init__(self, pid: int) -> None:
        self.pid = whole("pid", pid, 2**31 - 1, 1)
        self.stats()

    def stats(self) -> Result:
        """The statistics as they are now, as of ``sluice ctl stats --json``."""
        return self._ask("stats")

    def prefetch(self, *ranges: str) -> Result:
        """Bring pages in."""
        return self._ask("prefetch", *ranges)

    def pin(self, *ranges: str) -> Result:
        """Bring pages in, and keep them until they are unpinned."""
        return self._ask("pin", *ranges)

    def unpin(self, *ranges: str) -> Result:
        """Let pinned pages leave again."""
        return self._ask("unpin", *ranges)

    def evict(self, *ranges: str) -> Result:
        """Take pages out of the cache, programming those that were written."""
        return self._ask("evict", *ranges)

    def flush(self, *ranges: str) -> Result:
        """Programs the pages that were written; a persistent device's store has them then. Without
        a range all pages are meant."""
        return self._ask("flush", *(ranges or ("all",)))

    def powercut(self, *, pages: int | None = None, joules: str | None = None) -> Result:
        """Cuts the power of a persistent device, which kills its program: of what only the cache
        has, it keeps so many pages, or as many as so many joules (`"0.25"`) can program, and loses
        the others. They are `lost_ranges` of the result."""
        if pages is not None and joules is not None:
            raise ValueError("pages and joules are two ways to say the same; expected one of them")
        budget = [] if joules is None else ["--energy", joules]
        budget += [] if pages is None else ["--pages", str(pages)]
        return self._ask("powercut", *budget)

    def cold(self, *ranges: str) -> Result:
        """Let cached pages be the next to leave."""
        return self._ask("cold", *ranges)

    def sequential(self, *ranges: str) -> Result:
        """Pages that will be accessed in order: the next come ahead, those passed are cold."""
        return self._ask("sequential", *ranges)

    def random(self, *ranges: str) -> Result:
        """Pages that will be accessed in no order: accesses to them bring no other in."""
        return self._ask("random", *ranges)

    def normal(self, *ranges: str) -> Result:
        """Takes back the advice on pages."""
        return self._ask("normal", *ranges)

    def policy(self, name: str) -> Result:
        """Change the eviction policy; the cache keeps its pages."""
        return self._ask("policy", name)

    def set(self, settings: Mapping[str, object]) -> Result:
        """Change parameters, all or none."""
        return self._ask("set", *(f"{key}={value}" for key, value in given(settings).items()))

    def resident(self) -> npt.NDArray[np.bool_]:
        """For each page of the device whether the cache has it."""
        told = self._ask("map")
        pages = np.zeros(told["length"] // _PAGE, dtype=np.bool_)
        for one in told["runs"]:
            if "cached" in one["is"]:
                first = one["start"] // _PAGE
                pages[first:first + one["length"] // _PAGE] = True
        return pages

    def _ask(self, command: str, *words: str) -> Result:
        done = subprocess.run([str(program.find(None)), "ctl", str(self.pid), command, "--json",
                               *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ControlError(_refusal(done.stdout) or _last(done.stderr))
        return Result(json.loads(done.stdout))


def _refusal(output: str) -> str:
    """What the device says of the first range that it refused; empty if it says nothing."""
    try:
        told = json.loads(output)
        ranges = told["ranges"]
    except (ValueError, KeyError):
        return ""
    for one in ranges:
        if one["reason"]:
            return f"{one['refused']} of {one['pages']} pages refused: {one['reason']}"
        if one["status"].startswith("bad_"):
            where = f"{'@' if one['is_address'] else ''}{one['start']:#x}+{one['length']:#x}"
            size = "" if one["is_address"] else f"; the device has {told['pages'] * _PAGE} bytes"
            return f"{where} refused: {one['status'].replace('_', ' ')}{size}"
    return ""


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1].removeprefix("sluice: ")
