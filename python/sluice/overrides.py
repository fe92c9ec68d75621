"""Values of parameters by key, as simulations and runs take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def given(overrides: Mapping[str, object] | None) -> dict[str, object]:
    """A ``dict`` of any mapping. A truth value is the ``yes`` or ``no`` of the command line.

    >>> given({"device.persistent": True, "nand.channels": 4})
    {'device.persistent': 'yes', 'nand.channels': 4}
    """
    return {key: _value(value) for key, value in (overrides or {}).items()}


def _value(value: object) -> object:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return value
