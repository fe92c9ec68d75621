"""``make demo``: real programs on an emulated CXL-SSD, and a report with pictures."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sluice.demo.redis import RedisResult, run_redis
from sluice.demo.tools import DemoError, Tools
from sluice.report import units, write_report

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130
# Working set = 5/3 of the cache, as in Table 3 of the Cylon paper.
CACHE, WORKING_SET, DEVICE = "24MiB", "40MiB", "256MiB"
PASSES = 6
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One line of the table at the end."""

    what: str
    hits: str
    modelled: str
    achieved: str
    late: str
    wrong: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo; 0 when every program found its data as it had left it."""
    options = _parser().parse_args(arguments)
    # Unix sockets have short names, and /tmp is short everywhere.
    with tempfile.TemporaryDirectory(prefix="sluice-demo-", dir="/tmp") as scratch:
        tools = Tools(options.sluice.resolve(), Path(scratch))
        try:
            return _demo(tools, options)
        except DemoError as error:
            print(f"demo: {error}", file=sys.stderr)
            return EXIT_FAILED
        except KeyboardInterrupt:
            print("demo: stopped", file=sys.stderr)
            return EXIT_INTERRUPTED
        finally:
            tools.stop_all()


def _demo(tools: Tools, options: argparse.Namespace) -> int:
    _check_host(tools)
    out: Path = options.out
    folders = [out / name for name in ("chase-64", "fifo-4096", "lifo-4096", "redis")]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    rows = [
        _step("pointer chase, stride 64 B", lambda: _chase(tools, folders[0], 64, "fifo")),
        _step("pointer chase, stride 4096 B, FIFO",
              lambda: _chase(tools, folders[1], 4096, "fifo")),
        _step("pointer chase, stride 4096 B, LIFO",
              lambda: _chase(tools, folders[2], 4096, "lifo")),
    ]
    name = f"redis-server, {options.records:,} records, YCSB-C, BGSAVE"
    redis = _step(name, lambda: run_redis(tools, folders[3], options.records))
    rows.append(_redis_row(folders[3], redis))
    page = out / "report.html"
    _step("report", lambda: write_report(folders, page, "Sluice demo"))
    _print_table(rows, redis)
    print(f"\nreport: {page}")
    _show(page)
    return 0 if all(row.wrong == 0 for row in rows) else EXIT_FAILED


def _check_host(tools: Tools) -> None:
    """Raises an error if something is missing, in the words of ``sluice doctor``."""
    told = subprocess.run([tools.sluice, "doctor", "--json"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    try:
        ready = json.loads(told.stdout)["modes"]["event"]
    except (ValueError, KeyError):
        raise DemoError(f"sluice doctor failed: {told.stderr.strip()}") from None
    if not ready:
        text = subprocess.run([tools.sluice, "doctor"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True).stdout
        raise DemoError(f"this host cannot run programs live:\n{text}")


def _step(what: str, work: Callable[[], T]) -> T:
    # The time follows when it is known: a newcomer sees what is being waited for.
    print(f"    {what} ...", end="", flush=True)
    started = time.monotonic()
    try:
        result = work()
    except BaseException:
        print(flush=True)
        raise
    print(f" {time.monotonic() - started:.1f} s", flush=True)
    return result


def _chase(tools: Tools, folder: Path, stride: int, policy: str) -> Row:
    program = folder / "program.json"
    tools.run_live(
        folder,
        {"device.capacity": DEVICE, "cache.capacity": CACHE, "cache.policy": policy},
        [tools.sluice, "workload", "chase", "--size", WORKING_SET, "--stride", stride,
         "--passes", PASSES, "--out", program])
    told = _load(program)
    # Part of the first pass is still the echo of building the chain.
    later = told["passes"][1:]
    accesses = sum(one["accesses"] for one in later)
    hits = sum(one["below_1us"] * one["accesses"] for one in later) / accesses
    what = f"chase, stride {stride} B, {policy.upper()}"
    return _row(folder, what, units.percent(hits), told["mismatches"])


def _redis_row(folder: Path, redis: RedisResult) -> Row:
    sampled = _load(folder / "stats.json")["cache"]["sampled"]
    hits = "-" if sampled is None else units.percent(sampled["hit_ratio"])
    return _row(folder, "redis-server, YCSB-C", hits,
                redis.wrong + redis.failed + redis.rdb_wrong)


def _row(folder: Path, what: str, hits: str, wrong: int) -> Row:
    stats = _load(folder / "stats.json")
    latency = stats["latency_ns"]
    return Row(what, hits, units.duration(latency["modelled"]["p50"]),
               units.duration(latency["achieved"]["p50"]), units.percent(stats["late"]["ratio"]),
               wrong)


def _print_table(rows: list[Row], redis: RedisResult) -> None:
    heads = ("program", "hits", "miss p50: model", "achieved", "late", "wrong")
    cells = [heads, *[(row.what, row.hits, row.modelled, row.achieved, row.late, str(row.wrong))
                      for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    print()
    for row in cells:
        first, *rest = (cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths, strict=True)))
        print("  ".join([first, *rest]))
    print(f"\nredis-server: {redis.checked:,} values checked, {redis.wrong} wrong,"
          f" {redis.failed} requests failed")
    print(f"BGSAVE under load: {redis.save_s:.1f} s; a plain redis-server loaded the file:"
          f" {redis.rdb_checked:,} values checked, {redis.rdb_wrong} wrong")
    print("hits of the chase: accesses under 1 µs by its own clock; of Redis: of the pages used\n"
          "within 100 ms, the share that was cached, by sampling")


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _show(page: Path) -> None:
    opener = shutil.which("xdg-open")
    if opener and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        subprocess.Popen([opener, str(page)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sluice.demo",
        description="Run real programs on an emulated CXL-SSD and write a report.")
    parser.add_argument("--sluice", metavar="FILE", type=Path, required=True,
                        help="the sluice command")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("demo-out"),
                        help="where the run folders and the report go (default: %(default)s)")
    parser.add_argument("--records", metavar="N", type=_records,
                        default=os.environ.get("DEMO_RECORDS", "100000"),
                        help="records of 1 KiB in Redis (default: DEMO_RECORDS, or 100000)")
    return parser


def _records(text: str) -> int:
    if not text.isdecimal() or not 1_000 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1000 to 10000000")
    return int(text)
