"""Exceptions, one class per kind of failure. All derive from :class:`Error`."""

from __future__ import annotations

from functools import partial


class Error(Exception):
    """Base of every exception that Sluice raises on purpose."""


class InputError(Error, ValueError):
    """Something that was given is not acceptable.

    ``key``, ``value`` and ``expected`` say what was given and what would be accepted; each is
    ``None`` where it does not apply.
    """

    def __init__(
        self,
        message: str,
        *,
        key: str | None = None,
        value: str | None = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message)
        self.key = key
        self.value = value
        self.expected = expected


class ConfigError(InputError):
    """A device configuration is not acceptable."""


class UnknownKeyError(ConfigError):
    """No parameter has this name."""


class BadValueError(ConfigError):
    """A value has the wrong unit, form or range."""


class ImpossibleError(ConfigError):
    """Each value is acceptable, the combination is not. ``key`` lists the keys, by commas."""


class UnknownDeviceError(ConfigError):
    """No preset has this name and no configuration file can be read there."""


class PolicyError(InputError):
    """A policy written in Python named a page that may not leave, or none although one may; or a
    prefetcher picked more pages than its degree."""


class WorkloadError(InputError):
    """A workload is not acceptable, or does not fit on its device."""


class TraceError(InputError):
    """A trace cannot be read: it is not there, is none, or is damaged."""


class RunFolderError(Error):
    """A run folder cannot be read: something is missing, damaged or of another schema."""


class ResultError(Error):
    """A result lacks a field of its kind, or has one that its kind has not."""


class ExperimentError(InputError):
    """An experiment's file cannot be read, or its runs do not give what it asks for."""


class TableError(InputError):
    """A Parquet file cannot be read: it is not there, is none, or is of another schema."""


class RunError(Error):
    """A program under :func:`sluice.run` failed. ``status`` is how it ended, ``result`` what its
    device says."""

    def __init__(self, message: str, *, status: int, result: object) -> None:
        super().__init__(message)
        self.status = status
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        """A pool of processes hands it on: keywords have to be given again."""
        again = partial(type(self), status=self.status, result=self.result)
        return again, self.args, self.__dict__


class BusyError(Error):
    """A :class:`sluice.Device` is being asked by another thread, or by its own policy."""


class ControlError(Error):
    """A program has no control ring, or its device refused a command."""
