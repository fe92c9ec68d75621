"""What commands that run `sluice` many times have in common."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sluice import commands
from sluice.errors import ExperimentError
from sluice.processes import Terminated, as_by_ctrl_c
from sluice.reproduce.kept import Kept

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, commands.EXIT_INTERRUPTED
EXIT_PIPE, EXIT_TERMINATED = 141, 143
"""As of a program that SIGPIPE or SIGTERM ends."""
RUNS = "runs.jsonl"
"""The finished runs, in the folder of results."""


def find(given: Path | None) -> Path:
    """The program: as given, the one that started this one, or found on the PATH."""
    checkout = Path(__file__).parents[3] / "target/release/sluice"
    installed = Path(sysconfig.get_path("scripts")) / "sluice"
    candidates: list[Any] = [given] if given else [
        os.environ.get("SLUICE"), checkout, installed, shutil.which("sluice")]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            if given and not os.access(given, os.X_OK):
                raise ExperimentError(f"--sluice {given}: not an executable file; give the path of"
                                      " the program")
            return Path(candidate).resolve()
    raise ExperimentError(f"--sluice {given}: no such file; give the path of the program" if given
                          else "no `sluice` on the PATH; --sluice FILE names one")


def near(wrong: str, names: Iterable[str]) -> str:
    """The name that may be meant, for a message: nothing, or a question."""
    found = difflib.get_close_matches(wrong.lower(), list(names), 1, 0.8)
    return f" (did you mean {found[0]}?)" if found else ""


def check_out(out: Path) -> None:
    """Makes the folder of results, before anything runs. Raises ``ExperimentError`` if nothing can
    be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        writable = os.access(out, os.W_OK)
    except (NotADirectoryError, FileExistsError):
        raise
    except OSError as error:
        raise ExperimentError(f"--out {out}: {error.strerror}; name another folder") from None
    if not writable:
        raise ExperimentError(f"--out {out}: not yours to write to; name another folder")


def status(name: str, out: Path, work: Callable[[], bool],
           kept: Callable[[], str] | None = None) -> int:
    """The exit status of a command whose results go to ``out``: 0 when all that it did went well;
    1 when a run failed; 2 for bad input; 130 after Ctrl-C; 143 after SIGTERM; 141 when nobody
    reads on. Of bad input no empty folder is left. ``kept`` says what Ctrl-C leaves; by default,
    the runs in ``out``."""
    was_there = os.path.exists(out)
    done = _status(name, out, work, kept or (lambda: _runs_kept(out)))
    if done == EXIT_BAD_INPUT and not was_there:
        with contextlib.suppress(OSError):
            out.rmdir()
    return done


def _runs_kept(out: Path) -> str:
    return f"{len(Kept(out / RUNS))} runs are kept in {out}, the same command goes on from there"


def _status(name: str, out: Path, work: Callable[[], bool], kept: Callable[[], str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a letter, and names of files that are no text.
        sys.stdout.reconfigure(errors="replace")
    try:
        commands.hear()
        with as_by_ctrl_c():
            done = work()
        print(end="", flush=True)
        return 0 if done else EXIT_FAILED
    except KeyboardInterrupt as error:
        commands.end_quietly()
        print(f"\n{name}: interrupted; {kept()}", file=sys.stderr)
        return EXIT_TERMINATED if isinstance(error, Terminated) else EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of the output wants no more of it.
        _write_no_more()
        return EXIT_PIPE
    except (NotADirectoryError, FileExistsError):
        print(f"{name}: --out {out}: a file is where the folder of results would be; name"
              " another folder by --out", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (ExperimentError, OSError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.strerror:
            said = ": ".join(str(one) for one in (error.filename, error.strerror) if one)
        print(f"{name}: {' '.join(said.split())}", file=sys.stderr)
        try:
            print(end="", flush=True)
        except OSError:
            _write_no_more()
        return EXIT_BAD_INPUT


def _write_no_more() -> None:
    """Has the rest of the output go nowhere: at its end Python would try and complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
