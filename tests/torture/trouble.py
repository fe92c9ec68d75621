"""What comes from outside while a round runs, and what is found out when it hangs."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ANSWER_SECONDS = 40


class Ring(threading.Thread):
    """Sends commands to the device of a running program until `ended` is set."""

    def __init__(self, sluice: str, pid: int, seed: int, policies: list[str]) -> None:
        super().__init__(daemon=True)
        self.command = [sluice, "ctl", str(pid)]
        self.random = random.Random(seed)
        self.policies = policies
        self.ended = threading.Event()
        self.fault = ""
        self.sent = 0

    def run(self) -> None:
        while not self.ended.wait(self.random.uniform(0.01, 0.2)) and not self.fault:
            self.send(self.draw())

    def draw(self) -> list[str]:
        start = self.random.randrange(0, 64) * 256
        pages = f"{start}KiB..{start + self.random.choice([4, 64, 1024])}KiB"
        setting = self.random.choice(
            ["prefetch.policy=nextn", "prefetch.policy=none", "prefetch.policy=stride",
             "prefetch.sequential=8", "prefetch.sequential=64", "cache.pin_max=0%",
             "cache.pin_max=50%", "nand.read=20us", "nand.read=5us"]
        )
        return self.random.choice([
            ["pin", pages], ["unpin", "all"], ["prefetch", pages], ["evict", pages],
            ["evict", "all"], ["flush", "all"], ["policy", self.random.choice(self.policies)],
            ["cold", pages], ["cold", "all"], ["pageout", pages], ["sequential", pages],
            ["random", pages], ["normal", "all"], ["set", setting], ["stats"], ["map"],
        ])

    def send(self, words: list[str]) -> None:
        told = " ".join(words)
        try:
            out = subprocess.run(self.command + words, capture_output=True, timeout=ANSWER_SECONDS,
                                 check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            if not self.ended.is_set():
                self.fault = f"ctl {told}: no answer in {ANSWER_SECONDS} s"
            return
        self.sent += out.returncode == 0
        if out.returncode not in (0, 1, 2):
            self.fault = f"ctl {told}: status {out.returncode}: {out.stderr.decode()[-300:]}"

    def stop(self) -> str:
        """Ends it; what went wrong, or nothing."""
        self.ended.set()
        self.join(ANSWER_SECONDS + 5)
        return self.fault


HOG = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


def start_hogs(count: int) -> list[subprocess.Popen[bytes]]:
    """Programs that want a CPU all the time, as long as the torture runs."""
    return [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]


def stop_hogs(hogs: list[subprocess.Popen[bytes]]) -> None:
    for hog in hogs:
        hog.kill()
    for hog in hogs:
        hog.wait()


def _threads(process: Path) -> list[Path]:
    try:
        return sorted((process / "task").iterdir())
    except OSError:
        return []  # It ended.


def _environment(process: Path) -> list[bytes]:
    """Of a thread that is left, for a process whose first thread has ended shows none."""
    try:
        text = (process / "environ").read_bytes()
        for thread in [] if text else _threads(process):
            text = text or (thread / "environ").read_bytes()
    except OSError:
        return []  # It ended, or is not ours.
    return text.split(b"\0")


def processes(mark: str) -> list[int]:
    """Processes, other than zombies, that have this in their environment."""
    folders = Path("/proc").glob("[0-9]*")
    return sorted(int(f.name) for f in folders if mark.encode() in _environment(f))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError as error:
        return error.strerror or "?"


def stacks(pids: list[int]) -> str:
    """Where each thread of these processes is."""
    lines = []
    for pid in pids:
        command = _text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")
        lines.append(f"  process {pid}: {command[:150]}")
        for task in _threads(Path(f"/proc/{pid}")):
            lines_of_status = _text(task / "status").splitlines()
            status = dict(line.split(":\t", 1) for line in lines_of_status if ":\t" in line)
            call = _text(task / "syscall").split()
            where = f"call {call[0]}, at {call[-1]}" if call else "?"
            lines.append(
                f"    thread {task.name} {status.get('Name', '?')}: {status.get('State', '?')}, "
                f"{_text(task / 'wchan')}, {where}, pending {status.get('SigPnd', '?')}, "
                f"blocked {status.get('SigBlk', '?')}"
            )
    return "\n".join(lines)


def kill(pids: list[int]) -> None:
    """Kills these processes, one by one."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def sessions(pid: int) -> list[Path]:
    """Session folders of a `sluice run`."""
    homes = list(Path("/dev/shm").glob(f"sluice-user-{os.geteuid()}*"))
    if own := os.environ.get("XDG_RUNTIME_DIR"):
        homes.append(Path(own) / "sluice")
    return [folder for home in homes for folder in home.glob(f"{pid}-*")]


def remove_sessions(pid: int) -> None:
    """Session folders of a `sluice run` that was killed with everything that would remove them."""
    for folder in sessions(pid):
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_gone(mark: str, seconds: float) -> list[int]:
    """Waits for the end of what has this mark; what is left then."""
    until = time.monotonic() + seconds
    while (left := processes(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return left
