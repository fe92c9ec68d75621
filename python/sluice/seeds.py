"""Seeds and other whole numbers, as a device takes them."""

from __future__ import annotations

import operator

from sluice.errors import BadValueError

MOST = 2**64 - 1


def whole(key: str, value: object, most: int = MOST, least: int = 0) -> int:
    """The value of an argument. Raises ``BadValueError`` for what is no whole number, or one that
    is too small or too large.

    >>> whole("warmup", 7)
    7
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not least <= number <= most:
        expected = f"a whole number from {least} to {most}"
        raise BadValueError(f"bad value for `{key}`: {value!r}; expected {expected}", key=key,
                            value=str(value), expected=expected)
    return number


def checked(seed: object) -> int:
    """The seed. Raises ``BadValueError`` for what is none.

    >>> checked(7)
    7
    """
    return whole("seed", seed)
