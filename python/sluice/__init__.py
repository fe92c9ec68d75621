"""Sluice: real programs on an emulated CXL-SSD, from Python.

``sluice.report`` writes pages about runs. The functions here speak to the device model itself,
the one that live runs and the simulator use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sluice.device import Device
    from sluice.errors import (
        BadValueError,
        BusyError,
        ConfigError,
        ControlError,
        Error,
        ImpossibleError,
        InputError,
        PolicyError,
        ResultError,
        RunError,
        RunFolderError,
        TableError,
        TraceError,
        UnknownDeviceError,
        UnknownKeyError,
        WorkloadError,
    )
    from sluice.explicit import alloc
    from sluice.live import Control, attach, run
    from sluice.marks import mark
    from sluice.model import (
        fabric_params,
        fabrics,
        host_params,
        optimum,
        params,
        policies,
        policy_misses,
        presets,
        replay,
        resolve,
        resolve_system,
        systems,
        version,
    )
    from sluice.parquet import Runs, read_runs
    from sluice.policy import Evictable, Policy, PolicySpace, Prefetcher, PrefetchSpace
    from sluice.result import Result
    from sluice.simulation import simulate, simulate_fabric, simulate_system
    from sluice.trace import Trace, read_trace

_FROM = {
    "device": "Device",
    "errors": "BadValueError BusyError ConfigError ControlError Error ImpossibleError "
              "InputError PolicyError ResultError RunError RunFolderError TableError "
              "TraceError UnknownDeviceError UnknownKeyError WorkloadError",
    "explicit": "alloc",
    "live": "Control attach run",
    "marks": "mark",
    "model": "fabric_params fabrics host_params optimum params policies "
             "policy_misses presets replay resolve resolve_system systems version",
    "parquet": "Runs read_runs",
    "policy": "Evictable Policy PolicySpace Prefetcher PrefetchSpace",
    "result": "Result",
    "simulation": "simulate simulate_fabric simulate_system",
    "trace": "Trace read_trace",
}
"""Which module has which names. Each is imported when a name of it is first used: NumPy and what
reads results take longer to import than most commands need to begin."""

__all__ = [
    "BadValueError",
    "BusyError",
    "ConfigError",
    "Control",
    "ControlError",
    "Device",
    "Error",
    "ImpossibleError",
    "InputError",
    "Evictable",
    "Policy",
    "PolicyError",
    "PolicySpace",
    "PrefetchSpace",
    "Prefetcher",
    "Result",
    "ResultError",
    "RunError",
    "RunFolderError",
    "Runs",
    "TableError",
    "Trace",
    "TraceError",
    "UnknownDeviceError",
    "UnknownKeyError",
    "WorkloadError",
    "alloc",
    "attach",
    "fabric_params",
    "fabrics",
    "host_params",
    "mark",
    "optimum",
    "params",
    "policies",
    "policy_misses",
    "presets",
    "read_runs",
    "read_trace",
    "replay",
    "resolve",
    "resolve_system",
    "run",
    "simulate",
    "simulate_fabric",
    "simulate_system",
    "systems",
    "version",
]


def __getattr__(name: str) -> Any:
    for module, names in _FROM.items():
        if name in names.split():
            value = getattr(import_module(f"sluice.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
