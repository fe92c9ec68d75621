"""Eight tables of rows of 32 numbers; each request sums 20 rows of each. Popularity falls off as
rank to the power of -1.05, ranks are scattered over the rows."""

import json
import sys
import time

import numpy as np

tables, width, bag, requests = 8, 32, 20, 1000
rows = int(sys.argv[1]) // tables
draw = np.random.default_rng(7)
weight = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -1.05)
# A row is a function of its number, so that sums are checked without a second table.
data = (np.arange(tables * rows, dtype=np.float32) % 4093)[:, None] + np.zeros(
    width, dtype=np.float32)
places = [draw.permutation(rows) for _ in range(tables)]
total, seconds = 0.0, 0.0
for _ in range(requests):
    ranks = np.searchsorted(weight / weight[-1], draw.random((tables, bag)))
    at = np.stack([place[one] for place, one in zip(places, ranks, strict=True)])
    at += rows * np.arange(tables)[:, None]
    started = time.monotonic()
    sums = np.array([data[one].sum(axis=0) for one in at])
    seconds += time.monotonic() - started
    assert (sums[:, 0] == (at % 4093).sum(axis=1)).all(), "a row is not what was written"
    total += float(sums.sum())
print(json.dumps({"seconds": seconds, "operations": requests * tables, "answer": total}))
