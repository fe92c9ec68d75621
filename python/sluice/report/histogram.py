"""Latency histograms: cumulative shares and percentiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts by latency: ``values_ns`` rises strictly, every count is above zero."""

    values_ns: np.ndarray
    counts: np.ndarray

    @classmethod
    def from_pairs(cls, pairs: Iterable[Iterable[float]]) -> Histogram:
        """From (nanoseconds, count) in any order; equal values are added, zero counts dropped."""
        table = np.asarray(list(pairs), dtype=float).reshape(-1, 2)
        table = table[table[:, 1] > 0]
        values, index = np.unique(table[:, 0], return_inverse=True)
        counts = np.bincount(index.reshape(-1), weights=table[:, 1], minlength=len(values))
        return cls(values, counts)

    @property
    def total(self) -> int:
        """How many latencies were counted."""
        return int(self.counts.sum())

    def shares(self) -> np.ndarray:
        """At each value, the share of all latencies that are no longer than it."""
        return np.cumsum(self.counts) / self.counts.sum()

    def quantile(self, share: float) -> float:
        """The smallest value that at least ``share`` of the latencies do not exceed."""
        index = int(np.searchsorted(self.shares(), share - 1e-12))
        return float(self.values_ns[min(index, len(self.values_ns) - 1)])

    def share_below(self, limit_ns: float) -> float:
        """The share of latencies shorter than ``limit_ns``."""
        return float(self.counts[self.values_ns < limit_ns].sum() / self.counts.sum())
