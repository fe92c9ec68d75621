"""What there is to simulate, and caches alone on traces of pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sluice import _core
from sluice.arrays import array, of_kind
from sluice.errors import BadValueError
from sluice.overrides import given
from sluice.paths import Name, text
from sluice.policy import Policy, PolicySpace, Prefetcher, PrefetchSpace
from sluice.result import Result
from sluice.seeds import checked, whole


def version() -> str:
    """The version of the device model.

    >>> import sluice
    >>> sluice.version().count(".")
    2
    """
    return _core.version()


def presets() -> list[dict[str, str]]:
    """The devices that come with Sluice: ``name``, ``meaning`` and ``toml`` of each.

    >>> import sluice
    >>> "cxl-ssd" in [preset["name"] for preset in sluice.presets()]
    True
    """
    return _core.presets()


def systems() -> list[dict[str, str]]:
    """The hosts with a device that come with Sluice, as :func:`sluice.presets` lists devices.

    >>> import sluice
    >>> "skybyte-full" in [system["name"] for system in sluice.systems()]
    True
    """
    return _core.systems()


def fabrics() -> list[dict[str, str]]:
    """The fabrics that come with Sluice, as :func:`sluice.presets` lists devices.

    >>> import sluice
    >>> "esf" in [fabric["name"] for fabric in sluice.fabrics()]
    True
    """
    return _core.fabrics()


def params() -> list[dict[str, Any]]:
    """Every parameter of a device: ``key``, ``default``, ``expected`` (with its units),
    ``choices``, ``meaning`` and ``source`` of each.

    >>> import sluice
    >>> [param["expected"] for param in sluice.params() if param["key"] == "nand.read"]
    ['a time from 0 to 10s in s, ms, us, ns or ps, such as 40us']
    """
    return _core.params()


def host_params() -> list[dict[str, Any]]:
    """Every parameter of a simulated host, as :func:`sluice.params` lists those of a device.

    >>> import sluice
    >>> [param["default"] for param in sluice.host_params() if param["key"] == "cpu.cores"]
    ['8']
    """
    return _core.host_params()


def fabric_params() -> list[dict[str, Any]]:
    """Every parameter of a fabric, as :func:`sluice.params` lists those of a device.

    >>> import sluice
    >>> "topology.kind" in [param["key"] for param in sluice.fabric_params()]
    True
    """
    return _core.fabric_params()


def policies() -> list[dict[str, Any]]:
    """Every policy: ``kind`` (``eviction``, ``prefetch`` or ``gc``), ``name``, ``meaning``,
    ``source`` and ``uses_hits`` of each.

    >>> import sluice
    >>> "s3fifo" in [one["name"] for one in sluice.policies() if one["kind"] == "eviction"]
    True
    """
    return _core.policies()


def resolve(device: Name, overrides: Mapping[str, object] | None = None) -> dict[str, str]:
    """The checked settings of a device (a preset, or the path of a TOML file), by key.

    ``overrides`` are values by key, texts with units as on the command line. Raises
    :class:`sluice.ConfigError`.

    >>> import sluice
    >>> sluice.resolve("cxl-ssd", {"nand.read": "5us"})["nand.read"]
    '5us'
    """
    return _core.resolve(text(device), given(overrides))


def resolve_system(system: Name, overrides: Mapping[str, object] | None = None, scale: int = 1
                   ) -> dict[str, str]:
    """The checked settings of a system (a name, or the path of a TOML file), by key, with what
    ``scale`` divides divided.

    ``overrides`` are values by key, at full size. Raises :class:`sluice.ConfigError`.

    >>> import sluice
    >>> sluice.resolve_system("skybyte-full", scale=2)["migration.capacity"]
    '1GiB'
    """
    return _core.resolve_system(text(system), given(overrides),
                                whole("scale", scale, 2**32 - 1))


def replay(device: Name, overrides: Mapping[str, object] | None, pages: npt.ArrayLike,
           seed: int = 1, policy: Callable[[PolicySpace], Policy] | None = None,
           prefetcher: Callable[[PrefetchSpace], Prefetcher] | None = None) -> Result:
    """Page numbers on a device, one load at a time: ``accesses``, ``hits``, ``misses``, and the
    ``seconds`` of this machine that it took.

    ``policy`` and ``prefetcher`` as of :func:`sluice.simulate`. Raises
    :class:`sluice.ConfigError` and :class:`sluice.PolicyError`.

    >>> import numpy as np, sluice
    >>> small = {"device.capacity": "64MiB", "cache.capacity": "1MiB"}
    >>> sluice.replay("cxl-ssd", small, np.tile(np.arange(256), 4)).hits        # 256 pages fit
    768
    """
    return Result(_core.replay(text(device), given(overrides), _numbers(pages), checked(seed),
                               policy, prefetcher))


def policy_misses(device: Name, overrides: Mapping[str, object] | None, pages: npt.ArrayLike,
                  seed: int = 1) -> Result:
    """``misses`` of a device's eviction policy on page numbers, without the rest of the device, and
    the ``seconds`` of this machine that it took. Raises :class:`sluice.ConfigError`.

    >>> import numpy as np, sluice
    >>> small = {"device.capacity": "64MiB", "cache.capacity": "1MiB", "cache.policy": "lru"}
    >>> sluice.policy_misses("cxl-ssd", small, np.tile(np.arange(257), 4)).misses
    1028
    """
    return Result(_core.policy_misses(text(device), given(overrides), _numbers(pages),
                                      checked(seed)))


def optimum(pages: npt.ArrayLike, cache_pages: int, ways: int | None = None) -> int:
    """Misses of Belady's optimum on page numbers: no cache of as many pages has fewer without
    prefetching. ``ways`` are pages in a set; by default all of them.

    >>> import numpy as np, sluice
    >>> sluice.optimum(np.tile(np.arange(4), 3), cache_pages=3)
    6
    """
    ways = None if ways is None else whole("ways", ways, 2**32 - 1)
    return _core.optimum(_numbers(pages), whole("cache_pages", cache_pages, 2**32 - 1), ways)


def _numbers(pages: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """As the device counts them. Raises ``BadValueError`` for what is no page number."""
    values = array("pages", pages)
    most = np.iinfo(np.uint32).max
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise BadValueError(f"bad pages: an array of {values.dtype} and shape {values.shape};"
                            " expected page numbers in one dimension", key="pages")
    if values.size and not 0 <= int(values.min()) <= int(values.max()) <= most:
        odd = int(values.min()) if values.min() < 0 else int(values.max())
        raise BadValueError(f"bad pages: {odd}; expected 0 to {most}", key="pages", value=str(odd),
                            expected=f"0 to {most}")
    return of_kind(values, np.uint32)
