"""Long page traces for the oracle: functions of a seed, and one recorded from a real program."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pages = npt.NDArray[np.uint32]

LINE_BYTES = 64
# Lackey writes a line for each instruction too; this is enough to sort for five million references.
SORTED_LINES_MAX = 60_000


def zipf(length: int, count: int = 0, seed: int = 1) -> Pages:
    """Popularity falls off as rank to the power of -0.9; ranks are scattered over the pages."""
    rng = np.random.default_rng(seed)
    count = count or max(length // 10, 1_000)
    weight = np.arange(1, count + 1, dtype=np.float64) ** -0.9
    rank = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(length))
    return rng.permutation(count).astype(np.uint32)[np.minimum(rank, count - 1)]


def scan_and_loop(length: int, seed: int = 2) -> Pages:
    """Loops of many lengths with some noise, uses of a hot set, and scans of pages used once."""
    rng = np.random.default_rng(seed)
    span = max(length // 25, 1_000)
    parts, total = [], 0
    while total < length:
        kind, size = rng.integers(3), int(rng.integers(span // 100, span // 4))
        start = int(rng.integers(span - size))
        if kind == 0:
            part = np.tile(np.arange(start, start + size), int(rng.integers(2, 6)))
            noisy = rng.random(part.size) < 0.1
            part[noisy] = rng.integers(span, size=int(noisy.sum()))
        elif kind == 1:
            part = rng.integers(span // 20, size=2 * size)
        else:
            part = span + total + np.arange(size)
        parts.append(part)
        total += part.size
    return dense(np.concatenate(parts)[:length])


def recorded(length: int, seed: int = 3) -> Pages:
    """Loads and stores of `sort`, in 64-byte lines, as valgrind's lackey sees them."""
    rng = random.Random(seed)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        lines = min(length // 20, SORTED_LINES_MAX) + 100
        text.writelines(f"{rng.random()}\n" for _ in range(lines))
        text.flush()
        addresses = references(["sort", "--parallel=1", text.name], length)
    if len(addresses) < length:
        raise SystemExit(f"sort made {len(addresses)} references, not {length}")
    return dense(np.array(addresses, dtype=np.uint64) // LINE_BYTES)


def references(command: list[str], limit: int) -> list[int]:
    """Addresses of the program's first loads and stores."""
    read_end, write_end = os.pipe()
    lackey = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-fd={write_end}"]
    addresses = []
    with (subprocess.Popen(lackey + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           pass_fds=[write_end], env=os.environ | {"LC_ALL": "C"}) as program,
          os.fdopen(read_end, "rb") as log):
        os.close(write_end)
        for line in log:
            # " L 1ffeffe7e,8" is a load, S a store, M both; instructions begin with "I".
            if line[:1] == b" ":
                addresses.append(int(line[3:line.index(b",")], 16))
                if len(addresses) == limit:
                    break
        program.kill()
    return addresses


def dense(keys: npt.NDArray) -> Pages:
    """Numbers from 0 instead of arbitrary keys."""
    return np.unique(keys, return_inverse=True)[1].astype(np.uint32)


MAKERS: dict[str, Callable[..., Pages]] = {
    "zipf": zipf,
    "scan-and-loop": scan_and_loop,
    "recorded": recorded,
}


def made(name: str, length: int, folder: Path, *arguments: int) -> Pages:
    """The trace of this name, from the folder if it was made before."""
    path = folder / f"{'-'.join([name, *map(str, [length, *arguments])])}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npy")
        np.save(part, MAKERS[name](length, *arguments))
        part.rename(path)
    return np.load(path)


def write_for_libcachesim(pages: Pages, path: Path) -> None:
    """The trace in libCacheSim's binary format, with the next use of each page for Belady."""
    order = np.lexsort((np.arange(pages.size), pages))
    following = np.full(pages.size, -1, dtype=np.int64)
    again = pages[order[1:]] == pages[order[:-1]]
    # Uses count from 1.
    following[order[:-1][again]] = order[1:][again] + 1
    record = np.dtype([("time", "<u4"), ("page", "<u8"), ("bytes", "<u4"), ("next_use", "<i8")])
    out = np.zeros(pages.size, dtype=record)
    out["page"], out["bytes"], out["next_use"] = pages, 1, following
    out.tofile(path)
