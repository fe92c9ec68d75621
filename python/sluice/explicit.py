"""Memory of the device by name: see ``sluice run --place explicit`` and docs/placement.md."""

import ctypes
import errno
import os
import weakref

import numpy as np
import numpy.typing as npt

from sluice.errors import Error
from sluice.seeds import whole

_WHY = {
    errno.ENODEV: "this program is not under `sluice run`",
    errno.ENOTSUP: "the device is a file (--place dax:), of which a program maps parts itself",
    errno.ENOMEM: "the device is full (raise device.capacity)",
}


def alloc(size: int) -> npt.NDArray[np.uint8]:
    """Take ``size`` bytes of the device's memory, as an array of zeros.

    Only under ``sluice run``, whatever else it places; with ``--place explicit`` nothing else is on
    the device. The memory is given back when the last array that uses it is gone. Raises
    :class:`sluice.BadValueError` for what is no size of one byte or more, and
    :class:`sluice.Error` where there is no device or no room.

    >>> import sluice
    >>> sluice.alloc(4096)                  # not under `sluice run`
    Traceback (most recent call last):
    sluice.errors.Error: no memory of the device: this program is not under `sluice run`
    """
    size = whole("size", size, 2**63 - 1, 1)
    library = ctypes.CDLL(None, use_errno=True)
    take = getattr(library, "sluice_alloc", None)
    address = None
    why = errno.ENODEV
    if take is not None:
        take.argtypes, take.restype = [ctypes.c_size_t], ctypes.c_void_p
        ctypes.set_errno(0)
        address = take(size)
        why = ctypes.get_errno()
    if address is None:
        raise Error(f"no memory of the device: {_WHY.get(why) or os.strerror(why)}")
    memory = (ctypes.c_uint8 * size).from_address(address)
    give = library.sluice_free
    give.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    # What is left at the end goes with the process, and may still be used until then.
    weakref.finalize(memory, give, address, size).atexit = False
    return np.ctypeslib.as_array(memory)
