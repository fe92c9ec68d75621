"""What the demo starts, and how it is stopped again."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

STOP_S = 10.0


class DemoError(Exception):
    """Why the demo cannot go on, for the person at the terminal."""


class Tools:
    """Starts programs, each in a process group of its own, and ends what still runs."""

    def __init__(self, sluice: Path, scratch: Path) -> None:
        self.sluice = sluice
        self.scratch = scratch
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, log: Path, *command: Any) -> subprocess.Popen[bytes]:
        """Starts a command; what it prints goes to ``log``."""
        words = [str(word) for word in command]
        with log.open("wb") as sink:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sink,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        self._running.append(process)
        return process

    def start_live(self, folder: Path, settings: dict[str, str], program: list[Any],
                   *options: str) -> subprocess.Popen[bytes]:
        """Starts a program on the device; its run folder is ``folder``."""
        pairs = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        return self.start(folder / "program.log", self.sluice, "run", "--device", "cylon", *pairs,
                          *options, "--out", folder, "--force", "--", *program)

    def finish(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Waits; raises :class:`DemoError` with the end of ``log`` when it failed."""
        status = process.wait()
        self._running.remove(process)
        if status != 0:
            tail = log.read_text(errors="replace")[-2000:].strip()
            words: Any = process.args
            command = " ".join(map(str, words))
            raise DemoError(f"{command}\nended with status {status}:\n{tail}")

    def run(self, log: Path, *command: Any) -> None:
        """Runs a command to its end."""
        self.finish(self.start(log, *command), log)

    def run_live(self, folder: Path, settings: dict[str, str], program: list[Any]) -> None:
        """Runs a program on the device to its end."""
        process = self.start_live(folder, settings, program)
        self.finish(process, folder / "program.log")

    def stop_all(self) -> None:
        """Ends what still runs, as Ctrl-C would; what does not heed that is killed."""
        for process in self._running:
            for number in (signal.SIGINT, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(STOP_S)
                    break
                except ProcessLookupError:
                    break
                except subprocess.TimeoutExpired:
                    continue
            process.wait()
        self._running.clear()
