"""Sluice: real programs on an emulated CXL-SSD, from Python.

``sluice.report`` writes pages about runs. The device model itself is in ``sluice._core``; its
functions stand here.
"""

from sluice.errors import (
    BadValueError,
    ConfigError,
    Error,
    ImpossibleError,
    RunFolderError,
    UnknownDeviceError,
    UnknownKeyError,
    WorkloadError,
)

__all__ = [
    "BadValueError",
    "ConfigError",
    "Error",
    "ImpossibleError",
    "RunFolderError",
    "UnknownDeviceError",
    "UnknownKeyError",
    "WorkloadError",
]
