"""A decoder's attention over a paged KV cache: block tables, prefixes that requests share, layer by
layer. The model is small and its weights are drawn; its attention is computed for real."""

import json
import sys
import time

import numpy as np

requests, layers, heads, width, block = int(sys.argv[1]), 4, 4, 32, 16
prompt, generated, prefixes = 256, 8, 3
draw = np.random.default_rng(7)
blocks = prefixes * prompt // block + requests * (1 + (prompt // 2 + generated) // block + 1)
shape = (layers, blocks, block, heads, width)
keys, values = (np.zeros(shape, dtype=np.float32) for _ in range(2))
project = draw.normal(size=(layers, 3, heads * width, heads * width)).astype(np.float32) / 11
free = iter(range(blocks))
known: dict[int, list[int]] = {}


def append(table: list[int], length: int, state: np.ndarray) -> None:
    """The keys and values of one more token, in each layer."""
    if length % block == 0:
        table.append(next(free))
    for layer in range(layers):
        keys[layer, table[-1], length % block] = (project[layer, 0] @ state).reshape(heads, width)
        values[layer, table[-1], length % block] = (project[layer, 1] @ state).reshape(heads, width)


def attend(table: list[int], length: int, state: np.ndarray, paged: bool = True) -> np.ndarray:
    """One token through all layers; by pages, or with the cache copied together."""
    for layer in range(layers):
        query = (project[layer, 2] @ state).reshape(heads, width)
        if paged:
            scores = np.concatenate([np.einsum("hw,bhw->bh", query, keys[layer, one])
                                     for one in table])[:length]
        else:
            scores = np.einsum("hw,bhw->bh", query, keys[layer, table].reshape(-1, heads, width)
                               )[:length]
        share = np.exp((scores - scores.max(axis=0)) / width ** 0.5)
        share /= share.sum(axis=0)
        if paged:
            parts = (values[layer, one] for one in table)
            mixed = sum(np.einsum("bh,bhw->hw", share[at:at + block], part[:length - at])
                        for at, part in zip(range(0, length, block), parts, strict=False))
        else:
            mixed = np.einsum("bh,bhw->hw", share,
                              values[layer, table].reshape(-1, heads, width)[:length])
        state = np.tanh(state + mixed.reshape(-1))
    return state


answer, wrong, started = 0.0, 0, time.monotonic()
for _request in range(requests):
    prefix = int(draw.integers(prefixes))
    if prefix not in known:
        stream, known[prefix] = np.random.default_rng(prefix), []
        for token in range(prompt):
            append(known[prefix], token, stream.normal(size=heads * width).astype(np.float32))
    table, length = list(known[prefix]), prompt
    state = draw.normal(size=heads * width).astype(np.float32)
    for _ in range(prompt // 2 + generated):
        append(table, length, state)
        length += 1
        state = attend(table, length, state) if length > prompt + prompt // 2 else np.tanh(
            draw.normal(size=heads * width).astype(np.float32))
    same = attend(table, length, state, paged=False)
    wrong += not np.allclose(attend(table, length, state), same, atol=1e-4)
    answer += float(state.sum())
seconds = time.monotonic() - started
assert wrong == 0, f"{wrong} of {requests} differ from attention without pages"
print(json.dumps({"seconds": seconds, "operations": requests * generated,
                  "answer": [answer, float(keys.sum()), blocks]}))
