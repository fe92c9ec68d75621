"""Types of the native module; its documentation is in crates/sluice-py/src/lib.rs."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from sluice.policy import Policy, PolicySpace, Prefetcher, PrefetchSpace

__all__ = [
    "Device", "PolicyEvent", "TraceReader", "fabric_params", "fabrics", "host_params",
    "optimum", "params", "policies", "policy_misses", "presets", "replay", "resolve",
    "resolve_system", "simulate", "simulate_fabric", "simulate_system", "systems", "version",
]

_Told = Callable[[int, int | None], None]

@final
class PolicyEvent:
    @property
    def now_ps(self) -> int: ...
    @property
    def thread(self) -> int | None: ...
    @property
    def is_store(self) -> bool: ...
    @property
    def is_dirty(self) -> bool: ...
    @property
    def trigger(self) -> str: ...

@final
class Device:
    def __new__(
        cls,
        device: str,
        overrides: Mapping[str, object] | None,
        seed: int,
        policy: Callable[[PolicySpace], Policy] | None,
        prefetcher: Callable[[PrefetchSpace], Prefetcher] | None,
    ) -> Device: ...
    def access(
        self,
        addresses: npt.NDArray[np.uint64],
        writes: npt.NDArray[Any] | None,
        sizes: npt.NDArray[Any] | None,
        at_ns: npt.NDArray[Any] | None,
        latencies: npt.NDArray[np.float64],
        progress: _Told | None,
    ) -> None: ...
    def block(
        self,
        op: str,
        pages: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.uint64],
        at_ns: npt.NDArray[Any] | None,
        latencies: npt.NDArray[np.float64],
    ) -> None: ...
    def now_ns(self) -> float: ...
    def stats(self) -> str: ...

@final
class TraceReader:
    accesses: int
    cpus: list[int]
    unfinished: str | None
    header: str
    def __new__(cls, path: str) -> TraceReader: ...
    def read(self, start: int, count: int) -> bytes: ...

def version() -> str: ...
def presets() -> list[dict[str, str]]: ...
def params() -> list[dict[str, Any]]: ...
def systems() -> list[dict[str, str]]: ...
def host_params() -> list[dict[str, Any]]: ...
def policies() -> list[dict[str, Any]]: ...
def resolve(device: str, overrides: Mapping[str, object] | None = None) -> dict[str, str]: ...
def resolve_system(
    system: str,
    overrides: Mapping[str, object] | None = None,
    scale: int = 1,
) -> dict[str, str]: ...
def fabrics() -> list[dict[str, str]]: ...
def fabric_params() -> list[dict[str, Any]]: ...
def simulate_fabric(
    fabric: str,
    overrides: Mapping[str, object] | None = None,
    warmup: int = 100_000,
    requests: int = 256_000,
    seed: int = 1,
    progress: _Told | None = None,
) -> dict[str, Any]: ...
def simulate_system(
    system: str,
    workload: str,
    overrides: Mapping[str, object] | None = None,
    scale: int | None = None,
    warmup: int | None = None,
    instructions: int | None = None,
    timeline: str | None = None,
    seed: int = 1,
    check: bool = False,
    progress: _Told | None = None,
) -> dict[str, Any]: ...
def simulate(
    device: str,
    overrides: Mapping[str, object] | None = None,
    workload: str = ...,
    hits: str = "all",
    seed: int = 1,
    bound: bool = False,
    policy: Callable[[PolicySpace], Policy] | None = None,
    warmup: int = 0,
    prefetcher: Callable[[PrefetchSpace], Prefetcher] | None = None,
    progress: _Told | None = None,
) -> dict[str, Any]: ...
def replay(
    device: str,
    overrides: Mapping[str, object] | None,
    pages: npt.NDArray[np.uint32],
    seed: int = 1,
    policy: Callable[[PolicySpace], Policy] | None = None,
    prefetcher: Callable[[PrefetchSpace], Prefetcher] | None = None,
) -> dict[str, Any]: ...
def optimum(pages: npt.NDArray[np.uint32], cache_pages: int, ways: int | None = None) -> int: ...
def policy_misses(
    device: str,
    overrides: Mapping[str, object] | None,
    pages: npt.NDArray[np.uint32],
    seed: int = 1,
) -> dict[str, Any]: ...
