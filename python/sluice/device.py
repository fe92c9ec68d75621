"""A simulated device that is asked by arrays."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sluice import _core
from sluice import progress as bars
from sluice.arrays import array, of_kind
from sluice.errors import BadValueError, BusyError, UnknownKeyError
from sluice.overrides import given
from sluice.paths import Name, text
from sluice.policy import Policy, PolicySpace, Prefetcher, PrefetchSpace, named
from sluice.result import Result
from sluice.seeds import checked


class Device:
    """A device in virtual time, with every access visible to it: what ``sluice sim`` simulates.

    Settings are keywords, ``cache_capacity="16MiB"`` for ``cache.capacity``, or values by key in
    ``overrides``; texts with units as on the command line. ``seed`` is that of its random streams,
    ``policy`` and ``prefetcher`` are classes as of :func:`sluice.simulate`. Raises
    :class:`sluice.ConfigError`.

    >>> import numpy as np, sluice
    >>> device = sluice.Device("cxl-ssd", device_capacity="64MiB", cache_capacity="1MiB")
    >>> pages = np.arange(256, dtype=np.uint64) * 4096
    >>> misses, hits = device.access(pages), device.access(pages)
    >>> bool(hits.max() < misses.min())             # in nanoseconds; 256 pages fit in the cache
    True
    >>> device.stats.cache.hit_ratio
    0.5
    """

    def __init__(self, preset: Name, overrides: Mapping[str, object] | None = None, *,
                 seed: int = 1, policy: Callable[[PolicySpace], Policy] | None = None,
                 prefetcher: Callable[[PrefetchSpace], Prefetcher] | None = None,
                 **settings: object) -> None:
        values = given(overrides) | given(_by_key(settings))
        self.preset = text(preset)
        self._core = _core.Device(self.preset, values, checked(seed), policy, prefetcher)
        self._own = policy, prefetcher
        self._lock = threading.Lock()

    def access(self, addresses: npt.ArrayLike, writes: npt.ArrayLike | None = None,
               sizes: npt.ArrayLike | None = None, *, at_ns: npt.ArrayLike | None = None,
               progress: bool | None = None) -> npt.NDArray[np.float64]:
        """Make an access after the other, and return how long each took, in nanoseconds.

        ``addresses`` are bytes of the device. ``writes`` says of each whether it is a store
        (default: all are loads), ``sizes`` how many bytes it takes (default: no more than its line
        of 64 bytes); either may be one value for all. An access of several lines asks for them
        together, and ends with the last; :attr:`stats` counts each line. The next access is made
        when the one before is done, the first at :attr:`now_ns`; or each at its own time in
        ``at_ns``, nanoseconds that never go back: several are under way then.

        ``progress`` shows a bar (default: in a notebook, if it takes longer than a second). Ctrl-C
        ends it after the accesses that were made; a device whose ``policy`` or ``prefetcher`` was
        interrupted goes on no more. Raises :class:`sluice.BadValueError` before anything is asked
        for, if an array has no such values or another length.

        >>> import numpy as np, sluice
        >>> device = sluice.Device("cxl-ssd", device_capacity="64MiB", cache_capacity="1MiB")
        >>> took = device.access([0, 0, 4096], writes=[False, True, False], sizes=128)
        >>> took.shape, bool(took[1] < took[0])
        ((3,), True)
        """
        places = _whole("addresses", addresses)
        count = len(places)
        stores = None if writes is None else _spread("writes", _truths(writes), count)
        bytes_ = None if sizes is None else _spread("sizes", _whole("sizes", sizes), count)
        at = None if at_ns is None else _spread("at_ns", _times(at_ns), count, one_for_all=False)
        took = np.empty(count)
        with _Alone(self._lock), bars.Bar(bars.of(progress, "accesses")) as told:
            self._core.access(places, stores, bytes_, at, took, told)
        return took

    def block(self, op: str, pages: npt.ArrayLike, counts: npt.ArrayLike = 1, *,
              at_ns: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Read, write, trim or flush whole pages, as an NVMe drive does: this device's block door.

        ``op`` is ``"read"``, ``"write"``, ``"trim"`` or ``"flush"``, ``pages`` the first page of
        each request, of ``device.page`` each, and ``counts`` how many it is about; one value
        may stand for all. Returns how long each took, in nanoseconds. ``at_ns`` is as for
        :meth:`access`.

        A page that is cached is read from there. Others are read from flash and do not enter the
        cache. A write or trim ends the cached copy (Cylon 4.6). A flush programs what the cache
        has of its pages that was written, and waits for that. Raises
        :class:`sluice.BadValueError` before anything is asked for, and
        :class:`sluice.WorkloadError` if the device has no flash or takes no more writes.

        >>> import sluice
        >>> device = sluice.Device("cxl-ssd", device_capacity="64MiB", cache_capacity="1MiB")
        >>> flash = device.block("read", [0, 8])
        >>> _ = device.access([0])                      # now the page is cached
        >>> bool(device.block("read", [0])[0] < flash.min())
        True
        """
        first = _flat("pages", _whole("pages", pages))
        many = _spread("counts", _whole("counts", counts), len(first))
        at = None if at_ns is None else _spread("at_ns", _times(at_ns), len(first),
                                                one_for_all=False)
        took = np.empty(len(first))
        with _Alone(self._lock):
            self._core.block(op, first, many, at, took)
        return took

    @property
    def now_ns(self) -> float:
        """The device's time: when all that was asked for is done, in nanoseconds.

        >>> import sluice
        >>> device = sluice.Device("cxl-ssd", device_capacity="64MiB", cache_capacity="1MiB")
        >>> float(device.access([0]).sum()) == device.now_ns
        True
        """
        with _Alone(self._lock):
            return self._core.now_ns()

    @property
    def stats(self) -> Result:
        """All accesses so far, with the fields of :func:`sluice.simulate`'s results.

        >>> import sluice
        >>> device = sluice.Device("cxl-ssd", device_capacity="64MiB", cache_capacity="1MiB")
        >>> _ = device.access([0, 64, 4096])
        >>> device.stats.accesses, device.stats.cache.misses
        (3, 2)
        """
        with _Alone(self._lock):
            return Result(named(json.loads(self._core.stats()), *self._own))

    def __repr__(self) -> str:
        return f"Device({self.preset!r})"

    def __reduce__(self) -> NoReturn:
        """Neither copied nor pickled: ``copy.copy`` would give the same device a second name."""
        raise TypeError("a device can be neither copied nor pickled; make another one with the same"
                        " settings, and give it the same accesses")


class _Alone:
    """One caller at a time. Another one gets an error instead of a wait, which could last for ever:
    a policy may ask the device whose policy it is."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise BusyError("this device is being asked by another thread, or by its own policy")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _by_key(settings: Mapping[str, object]) -> dict[str, object]:
    """Keywords by the keys that they stand for."""
    known = {str(param["key"]).replace(".", "_"): str(param["key"]) for param in _core.params()}
    for name in settings:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 4, 0.5) or ["cache_capacity"]
            raise UnknownKeyError(f"no setting {name!r}; near are {', '.join(near)}", key=name,
                                  expected=", ".join(near))
    return {known[name]: value for name, value in settings.items()}


def _whole(key: str, given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    values = array(key, given)
    if values.dtype.kind not in "iu" and values.size:
        raise BadValueError(f"bad {key}: an array of {values.dtype}; expected whole numbers",
                            key=key, value=str(values.dtype), expected="whole numbers")
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise BadValueError(f"bad {key}: {values.min()}; expected 0 or more", key=key,
                            value=str(values.min()), expected="0 or more")
    values = of_kind(values, np.uint64)
    return _flat(key, values) if key == "addresses" else values


def _truths(given: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    values = array("writes", given)
    try:
        # Complex numbers and spans of time may equal 0 and 1, too.
        is_good = not values.size or (values.dtype.kind in "biufO"
                                      and bool(np.isin(values, (0, 1)).all()))
    except TypeError:
        # What pandas has where a value is missing, and records, compare with nothing.
        is_good = False
    if not is_good:
        raise BadValueError("bad writes: expected true and false, or 0 and 1", key="writes",
                            expected="true and false, or 0 and 1")
    return of_kind(values, np.uint8)


def _times(given: npt.ArrayLike) -> npt.NDArray[np.float64]:
    values = array("at_ns", given)
    if values.dtype.kind not in "iuf" and values.size:
        raise BadValueError(f"bad at_ns: an array of {values.dtype}; expected nanoseconds",
                            key="at_ns", value=str(values.dtype), expected="nanoseconds")
    return of_kind(values, np.float64)


def _flat(key: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.ndim != 1:
        raise BadValueError(f"bad {key}: an array of shape {values.shape}; expected one dimension",
                            key=key, value=str(values.shape), expected="one dimension")
    return values


def _spread(key: str, values: npt.NDArray[Any], count: int, one_for_all: bool = True
            ) -> npt.NDArray[Any]:
    """As many values as there are addresses; one stands for all."""
    if one_for_all and values.ndim == 0:
        return np.full(count, values)
    if len(_flat(key, values)) != count:
        raise BadValueError(f"bad {key}: {len(values)} values; expected {count}, one for each"
                            " address or request", key=key, value=str(len(values)),
                            expected=str(count))
    return values
