"""Random steps of a Python program. What they print depends on the seed alone.

Contents are made anew from small numbers when they are compared, so that an error is found where it
is.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable
from multiprocessing import get_context

PAGE = 4096


def content(version: int, size: int) -> bytes:
    """Bytes of a version: a block of its hash, repeated."""
    block = hashlib.sha512(str(version).encode()).digest() * 64
    return (block * (size // len(block) + 1))[:size]


class Torture:
    """Objects by number, each with the version and size that it must have."""

    def __init__(self, seed: int, without: set[str], only: set[str]) -> None:
        self.random = random.Random(seed)
        self.versions = 0
        self.things: dict[int, tuple[int, int, bytearray]] = {}
        self.maps: dict[int, tuple[list[int], mmap.mmap]] = {}
        self.ticks = 0
        self.counts = [0] * 50000
        self.deep = 0
        names = [name[5:] for name in dir(self) if name.startswith("step_")]
        chosen = [name for name in names if name.replace("_", "-") not in without]
        if only:
            # Beside the plainest, as in the program in C: some names are that one's.
            chosen = [name for name in chosen if name.replace("_", "-") in only | {"make"}]
        self.steps: list[tuple[str, Callable[[], None]]] = [
            (name, getattr(self, "step_" + name)) for name in chosen
        ]

    def version(self) -> int:
        self.versions += 1
        return self.versions

    def check(self) -> str:
        total = 0
        for key, (version, size, thing) in sorted(self.things.items()):
            if bytes(thing) != content(version, size):
                raise SystemExit(f"object {key} of version {version} is wrong")
            total = zlib.crc32(thing, total)
        for key, (versions, memory) in sorted(self.maps.items()):
            for page, version in enumerate(versions):
                found = memory[page * PAGE : (page + 1) * PAGE]
                if found != (content(version, PAGE) if version else bytes(PAGE)):
                    raise SystemExit(f"page {page} of mapping {key} is wrong")
                total = zlib.crc32(found, total)
        return f"{total:08x}"

    def step_make(self) -> None:
        for _ in range(20):
            size = self.random.choice([10, 1000, 30000, 400000])
            size = self.random.randrange(1, size)
            version = self.version()
            thing = bytearray(content(version, size))
            self.things[self.random.randrange(40)] = (version, size, thing)

    def step_grow(self) -> None:
        for key, (version, size, thing) in list(self.things.items())[:10]:
            if size < 500000:
                thing += content(version, 2 * size)[size:]
                self.things[key] = (version, 2 * size, thing)

    def step_map(self) -> None:
        key = self.random.randrange(6)
        if key in self.maps:
            self.maps.pop(key)[1].close()
        pages = self.random.randrange(32, 500)
        self.maps[key] = ([0] * pages, mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE))

    def step_write(self) -> None:
        for versions, memory in self.maps.values():
            for _ in range(60):
                page = self.random.randrange(len(versions))
                versions[page] = self.version()
                memory[page * PAGE : (page + 1) * PAGE] = content(versions[page], PAGE)

    def step_advise(self) -> None:
        for versions, memory in self.maps.values():
            start = self.random.randrange(len(versions))
            memory.madvise(mmap.MADV_DONTNEED, start * PAGE)
            versions[start:] = [0] * (len(versions) - start)

    def step_resize(self) -> None:
        for versions, memory in self.maps.values():
            pages = self.random.randrange(32, 500)
            try:
                memory.resize(pages * PAGE)
            except (SystemError, ValueError, OSError) as error:
                print("resize:", type(error).__name__)
                continue
            versions[:] = (versions + [0] * pages)[:pages]

    def step_objects(self) -> None:
        table = {str(n): [n, {"half": n // 2}, (n,) * (n % 7)] for n in range(4000)}
        table["self"] = table
        text = ",".join(sorted(key for key in table if key != "self"))
        del table
        print("objects", zlib.crc32(text.encode()), gc.collect() > 0)

    def step_sort(self) -> None:
        numbers = [self.random.random() for _ in range(30000)]
        again = sorted(sorted(numbers, reverse=True))
        print("sorted", all(a <= b for a, b in zip(again, again[1:], strict=False)))

    def step_zlib(self) -> None:
        data = content(self.version(), 700000)
        print("packed", zlib.decompress(zlib.compress(data)) == data)

    def step_threads(self) -> None:
        answers: list[int] = []

        def work(number: int) -> None:
            data = bytearray(content(number, 200000))
            answers.append(number if bytes(data) == content(number, 200000) else -1)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("threads", sorted(answers))

    def step_fork(self) -> None:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            self.check()
            for key, (_, size, thing) in list(self.things.items()):
                thing[:] = content(7, size)
                self.things[key] = (7, size, thing)
            self.check()
            os._exit(0)
        self.step_write()
        print("fork", os.waitpid(child, 0)[1])

    def step_multiprocessing(self) -> None:
        with get_context("fork").Pool(2) as pool:
            print("pool", pool.map(abs, range(-20, 0))[-1])

    def step_subprocess(self) -> None:
        code = "import sys; d = bytes(range(256)) * 8000; sys.stdout.buffer.write(d[::-1])"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        print("subprocess", out.returncode, len(out.stdout), zlib.crc32(out.stdout))

    def step_spawn(self) -> None:
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 9"], os.environ)
        print("spawn", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def step_close(self) -> None:
        os.closerange(3, 256)
        with tempfile.TemporaryFile("w+") as file:
            file.writelines(f"line {n}\n" for n in range(3000))
            file.seek(0)
            print("lines", sum(1 for _ in file))

    def step_file(self) -> None:
        version = self.version()
        data = content(version, 900000)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            got = bytearray(len(data))
            pieces = [memoryview(got)[n : n + 77777] for n in range(0, len(got), 77777)]
            print("readv", os.readv(file.fileno(), pieces), bytes(got) == data)

    def step_pipe(self) -> None:
        out, into = os.pipe()
        data = content(self.version(), 300000)
        thread = threading.Thread(target=lambda: (os.write(into, data), os.close(into)))
        thread.start()
        with open(out, "rb") as file:
            print("pipe", file.read() == data)
        thread.join()

    def on_tick(self, *_: object) -> None:
        self.ticks += 1
        self.counts[self.ticks * 7919 % len(self.counts)] += 1

    def step_tick(self) -> None:
        signal.signal(signal.SIGALRM, self.on_tick)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        self.step_objects()
        self.check()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("ticks", sum(self.counts) == self.ticks)

    def run(self, steps: int) -> None:
        for number in range(1, steps + 1):
            name, step = self.random.choice(self.steps)
            print(number, name, flush=True)
            step()
            if number % 10 == 0:
                print("all is well:", self.check(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--without", default="")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    torture = Torture(given.seed, set(given.without.split(",")), only)
    # A step of this program takes as long as several of the one in C.
    torture.run(max(10, given.steps // 4))
    torture.check()
    print("well")


if __name__ == "__main__":
    main()
