"""Tokens through two of many experts each. Their weights are a mapped file. Popularity falls off as
rank to the power of -1. A token likes the experts of the one before with a chance of one in two.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

experts, width = int(sys.argv[1]), 512
tokens = 40 * experts
draw = np.random.default_rng(7)


def expert_of(source: np.random.Generator) -> np.ndarray:
    return (source.normal(size=(width, width)) / width ** 0.5).astype(np.float32)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "moe.weights")
    with path.open("wb") as file:
        for _ in range(experts):
            file.write(expert_of(draw).tobytes())
    weights = np.memmap(path, np.float32, "r", shape=(experts, width, width))
    share = 1 / np.arange(1, experts + 1)
    order, chosen = draw.permutation(experts), None
    sums, used = np.zeros(width), np.zeros(experts, dtype=int)
    started = time.monotonic()
    for _ in range(tokens):
        if chosen is None or draw.random() < 0.5:
            chosen = order[draw.choice(experts, size=2, replace=False, p=share / share.sum())]
        state = draw.normal(size=width).astype(np.float32)
        sums += sum(np.tanh(weights[expert] @ state) for expert in chosen)
        used[chosen] += 1
    seconds = time.monotonic() - started
    again = np.random.default_rng(7)
    for expert in range(experts):
        assert (weights[expert] == expert_of(again)).all(), f"expert {expert} is not what was drawn"
print(json.dumps({"seconds": seconds, "operations": tokens,
                  "answer": [sums.tolist(), used.tolist()]}))
