"""Results: the objects that commands print with ``--json``, with attributes and pictures."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from sluice.frames import library

_SHOWN = ("kind", "device", "system", "workload", "time_s", "sim_time_s", "wall_s", "ipc",
          "cache.hit_ratio", "cache.hits", "cache.misses", "latency_ns.accesses.mean",
          "latency_ns.accesses.p99", "latency_ns.achieved.mean", "latency_ns.achieved.p99",
          "latency_ns.mean", "latency_ns.p99", "bandwidth_mb_s")
_PARTS = 12
# What the parts of a latency are of, by the kind of a result.
_WHOSE = {"run": "a trap", "vm": "a trap", "fabric": "a request",
          "system": "an access that the device saw"}


class Result(dict[str, Any]):
    """A result as a ``dict`` whose keys are attributes too, however deep and in lists.

    >>> result = Result({"cache": {"hits": 3, "misses": 1}, "time_s": 0.5})
    >>> result.cache.hits
    3
    >>> result.flat()
    {'cache.hits': 3, 'cache.misses': 1, 'time_s': 0.5}
    """

    output: str
    errors: str
    """What a program of :func:`sluice.run` printed, with ``capture``; no fields of the result."""

    def __getattr__(self, name: str) -> Any:
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(
                f"no {name!r} in this result; there are {', '.join(sorted(self))}") from None
        if isinstance(value, list):
            return [Result(one) if isinstance(one, dict) else one for one in value]
        return Result(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def flat(self) -> dict[str, Any]:
        """Numbers and texts by their keys with dots; lists are left out."""
        return dict(_leaves(self))

    def to_polars(self) -> Any:
        """A frame of Polars with one row; Polars must be installed."""
        return library("polars").DataFrame([self.flat()])

    def to_pandas(self) -> Any:
        """A frame of pandas with one row; pandas must be installed."""
        return library("pandas").DataFrame([self.flat()])

    def plot(self) -> Any:
        """Draw where the time of an access goes, of a trap of a live run, or of a request of a
        fabric (``latency_parts_ns``): a figure of matplotlib.

        Raises ``ValueError`` for a result without such parts.
        """
        from sluice.picture import Picture

        parts = {name: value for name, value in self.get("latency_parts_ns", {}).items() if value}
        if not parts:
            raise ValueError("this result has no latency_parts_ns above zero; nothing to draw")
        figure = Picture(figsize=(7, 0.6 + 0.35 * len(parts)), layout="constrained")
        axes = figure.subplots()
        axes.barh(list(parts), list(parts.values()))
        axes.invert_yaxis()
        saw = "an access" if self.get("hits_visible", "all") == "all" else _WHOSE["system"]
        axes.set_xlabel(f"time of {_WHOSE.get(self.get('kind', ''), saw)}, mean, ns")
        return figure

    def _repr_html_(self) -> str:
        flat = self.flat()
        keys = [key for key in _SHOWN if flat.get(key) is not None] or list(flat)[:_PARTS]
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
                       f"<td>{html.escape(_text(flat[key]))}</td></tr>" for key in keys)
        return f"<table>{rows}</table>"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves(below, f"{path}.{key}" if path else key)
    elif not isinstance(value, list):
        yield path, value


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
