"""Tokens through two of many experts each. Popularity falls off as rank to the power of -1, and a
token likes the experts of the one before with a chance of one in two."""

import json
import sys
import time

import numpy as np

experts, width, tokens = int(sys.argv[1]), 512, 400
draw = np.random.default_rng(7)
weights = np.empty((experts, width, width), dtype=np.float32)
for expert in range(experts):
    weights[expert] = draw.normal(size=(width, width)) / width ** 0.5
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
    assert (weights[expert] == (again.normal(size=(width, width)) / width ** 0.5).astype(np.float32)
            ).all(), f"expert {expert} is not what was drawn"
print(json.dumps({"seconds": seconds, "operations": tokens,
                  "answer": [sums.tolist(), used.tolist()]}))
