"""STREAM's four kernels, with its check of the sums, and a chase through pages in one cycle."""

import json
import sys
import time

import numpy as np

count = int(sys.argv[1]) * (1 << 20) // 8
a, b, c = np.full(count, 1.0), np.full(count, 2.0), np.zeros(count)
pages = int(sys.argv[1]) * 256
order = np.random.default_rng(7).permutation(pages)
chain = np.zeros(pages * 512, dtype=np.int64)
chain[order * 512] = np.roll(order, -1) * 512
expected, rounds, kernels = [1.0, 2.0, 0.0], 2, {}
started = time.monotonic()
for _ in range(rounds):
    for name in ("copy", "scale", "add", "triad"):
        begun = time.monotonic()
        if name == "copy":
            c[:] = a
        elif name == "scale":
            np.multiply(c, 3.0, out=b)
        elif name == "add":
            np.add(a, b, out=c)
        else:
            np.multiply(c, 3.0, out=a)
            a += b
        kernels[name] = (3 if name in ("add", "triad") else 2) * 8 * count / (
            time.monotonic() - begun) / 1e6
    x, y, z = expected
    z = x
    y = 3 * z
    z = x + y
    expected = [y + 3 * z, y, z]

at, begun = int(order[0]) * 512, time.monotonic()
for _ in range(pages):
    at = int(chain[at])
latency = (time.monotonic() - begun) / pages * 1e9
seconds = time.monotonic() - started
assert at == int(order[0]) * 512, "the chase ends where it began"
for array, value in zip((a, b, c), expected, strict=True):
    assert (array == value).all(), "STREAM's check of the results"
print(json.dumps({"seconds": seconds, "operations": 4 * rounds + pages,
                  "answer": expected, "told": {"latency, ns": latency, **{
                      f"{name}, MB/s": rate for name, rate in kernels.items()}}}))
