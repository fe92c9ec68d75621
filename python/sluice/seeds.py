"""Seeds, as a device takes them."""

from __future__ import annotations

import operator

from sluice.errors import BadValueError

EXPECTED = "a whole number from 0 to 18446744073709551615"


def checked(seed: object) -> int:
    """The seed. Raises ``BadValueError`` for what is none.

    >>> checked(7)
    7
    """
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < 2**64:
        raise BadValueError(f"bad value for `seed`: {seed!r}; expected {EXPECTED}", key="seed",
                            value=str(seed), expected=EXPECTED)
    return number
