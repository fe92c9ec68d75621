"""Values of parameters by key, as simulations and runs take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sluice.errors import InputError
from sluice.quantity import written


def given(overrides: Mapping[str, object] | None) -> dict[str, object]:
    """A ``dict`` of any mapping. A truth value is the ``yes`` or ``no`` of the command line. Raises
    ``InputError`` for what is no mapping, such as a workload in the wrong place.

    >>> given({"device.persistent": True, "nand.channels": 4})
    {'device.persistent': 'yes', 'nand.channels': 4}
    """
    if overrides is not None and not isinstance(overrides, Mapping):
        raise InputError(f"bad overrides: {overrides!r}; expected a mapping such as"
                         ' {"cache.capacity": "16MiB"}')
    return {key: _value(value) for key, value in (overrides or {}).items()}


def _value(value: object) -> object:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return written(value) if isinstance(value, float | np.floating) else value
