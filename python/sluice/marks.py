"""Marks that part a live run: see ``sluice run --count-after`` and docs/control-ring.md."""

import ctypes

from sluice.errors import BadValueError, Error

_DONE, _NOT_HERE, _INVALID = 0, -1, -6


def mark(name: str) -> bool:
    """Mark this moment of a program under ``sluice run``.

    The result of the run has the figures from each mark to the next. ``False`` if this program is
    not under ``sluice run``: nothing is marked then. Raises :class:`sluice.BadValueError` for a
    name that is not 1 to 64 letters, digits, ``-``, ``_`` or ``.``, and :class:`sluice.Error` where
    no further mark can be kept.

    >>> import sluice
    >>> sluice.mark("loaded")               # not under `sluice run`
    False
    """
    set_mark = getattr(ctypes.CDLL(None), "sluice_mark", None)
    if set_mark is None:
        return False
    # A text of C would end at the first zero.
    code = _INVALID if "\0" in name else set_mark(name.encode(errors="replace"))
    if code == _NOT_HERE:
        return False
    if code == _INVALID:
        raise BadValueError(
            f"bad mark {name!r}: expected 1 to 64 letters, digits, `-`, `_` or `.`"
        )
    if code != _DONE:
        raise Error("no further mark is kept: this program has 64, or its session has no room")
    return True
