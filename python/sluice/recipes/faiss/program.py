"""Nearest neighbours in clusters of normal distributions: three indices, recall by the flat one."""

import json
import sys
import time

import faiss
import numpy as np

count, width, queries, nearest = int(sys.argv[1]), 128, 400, 10
faiss.omp_set_num_threads(1)
draw = np.random.default_rng(7)
centres = draw.normal(size=(count // 100, width), scale=4)


def clustered(many: int) -> np.ndarray:
    return (centres[draw.integers(len(centres), size=many)]
            + draw.normal(size=(many, width))).astype(np.float32)


data, asked = clustered(count), clustered(queries)
flat = faiss.IndexFlatL2(width)
lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, 64)
lists.train(data)
lists.nprobe = 4
graph = faiss.IndexHNSWFlat(width, 12)
graph.hnsw.efConstruction = 24
found, seconds = {}, 0.0
for name, index in {"flat": flat, "ivf": lists, "hnsw": graph}.items():
    index.add(data)
    started = time.monotonic()
    found[name] = index.search(asked, nearest)[1]
    seconds += time.monotonic() - started
for one, best in zip(asked[:5], found["flat"], strict=False):
    assert np.linalg.norm(data - one, axis=1).argmin() == best[0], "the flat index is exact"
recall = {name: float(np.mean([np.isin(ours, exact).mean() for ours, exact
                               in zip(of, found["flat"], strict=True)]))
          for name, of in found.items()}
assert recall["flat"] == 1 and min(recall.values()) > 0.3, recall
print(json.dumps({"seconds": seconds, "operations": 3 * queries,
                  "told": {f"recall of {name}": share for name, share in recall.items()},
                  "answer": [recall, {name: of.tolist() for name, of in found.items()}]}))
