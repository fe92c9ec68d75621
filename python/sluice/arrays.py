"""Arrays as a caller gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sluice.errors import BadValueError


def array(key: str, given: npt.ArrayLike) -> npt.NDArray[Any]:
    """As NumPy has it. Raises ``BadValueError`` for rows of several lengths, which are no array,
    and for masked values, which NumPy would take as they stand below the mask.

    >>> array("pages", range(3)).tolist()
    [0, 1, 2]
    """
    why = "some are masked" if np.ma.is_masked(given) else ""
    try:
        if not why:
            return np.asarray(given)
    except ValueError as error:
        why = str(error)
    raise BadValueError(f"bad {key}: {why}; expected one dimension, and every value", key=key,
                        expected="one dimension, and every value")


def of_kind(values: npt.NDArray[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Numbers of a kind. An array without any may be of every other: ``[]`` is of floats.

    >>> of_kind(np.zeros(0, "c16"), np.uint64)
    array([], dtype=uint64)
    """
    return np.asarray(values if values.size else np.empty(values.shape), dtype=kind, order="C")
