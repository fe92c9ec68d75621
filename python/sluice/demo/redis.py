"""The Redis part of the demo: a server on the device, a load that checks every value."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.demo.tools import DemoError, Tools

VALUE_BYTES = 1024
CONNECTIONS = 8
WINDOW = "100ms"
# Redis needs about 1.6 times its values; the rest leaves room for what a save changes.
DEVICE_PER_VALUES = 4
START_S = 60.0
PORTLESS = ["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no",
            "--dbfilename", "dump.rdb"]


@dataclass(frozen=True)
class RedisResult:
    """What the load generator found, and what it found in the saved file."""

    checked: int
    wrong: int
    failed: int
    save_s: float
    rdb_checked: int
    rdb_wrong: int


def run_redis(tools: Tools, folder: Path, records: int) -> RedisResult:
    """Loads a server on the device, reads it, saves it meanwhile, and checks the file."""
    values = records * VALUE_BYTES
    pages = values // 3 // 4096
    settings = {
        "device.capacity": f"{max(256, DEVICE_PER_VALUES * values >> 20)}MiB",
        "cache.capacity": f"{pages * 4}KiB",
    }
    path = tools.scratch / "device"
    server = tools.start_live(folder, settings, _server(folder, path), "--sample-hits", WINDOW)
    _wait_ready(path, server, folder / "program.log")
    loaded = _load(tools, folder, path, records, "program-load", "load")
    read = _load(tools, folder, path, records, "program", "run", "--ops", 2 * records)
    saved = _load(tools, folder, path, records, "program-bgsave", "run", "--ops", records,
                  "--bgsave-at", "0.25")
    _stop(tools, path, server, folder / "program.log")
    checked = _check_file(tools, folder, records)
    parts = (loaded, read, saved)
    return RedisResult(
        checked=sum(part["values_checked"] for part in parts),
        wrong=sum(part["mismatches"] for part in parts),
        failed=sum(part["errors"] for part in parts),
        save_s=saved["bgsave"]["seconds"],
        rdb_checked=checked["values_checked"],
        rdb_wrong=checked["mismatches"] + checked["errors"],
    )


def _server(folder: Path, path: Path) -> list[Any]:
    return ["redis-server", *PORTLESS, "--unixsocket", path, "--dir", folder.resolve()]


def _load(tools: Tools, folder: Path, path: Path, records: int, name: str, phase: str,
          *more: Any) -> dict[str, Any]:
    out = folder / f"{name}.json"
    tools.run(folder / f"{name}.log", tools.sluice, "workload", "redis", "--socket", path,
              "--records", records, "--value-size", VALUE_BYTES, "--connections", CONNECTIONS,
              "--phase", phase, "--out", out, *more)
    return json.loads(out.read_text(encoding="utf-8"))


def _check_file(tools: Tools, folder: Path, records: int) -> dict[str, Any]:
    """A plain server, off the device, loads the saved file and is asked for every record."""
    path, log = tools.scratch / "plain", folder / "plain.log"
    server = tools.start(log, *_server(folder, path))
    _wait_ready(path, server, log)
    checked = _load(tools, folder, path, records, "rdb-check", "verify")
    _stop(tools, path, server, log)
    return checked


def _wait_ready(path: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if _ask(path, b"PING").startswith(b"+PONG"):
                return
        except OSError:
            pass
        time.sleep(0.02)
    tail = log.read_text(errors="replace")[-2000:].strip()
    raise DemoError(f"redis-server did not start:\n{tail}")


def _stop(tools: Tools, path: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    try:
        _ask(path, b"SHUTDOWN NOSAVE")
    except ConnectionError:
        pass
    tools.finish(server, log)


def _ask(path: Path, command: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(START_S)
        connection.connect(str(path))
        connection.sendall(command + b"\r\n")
        return connection.recv(4096)

