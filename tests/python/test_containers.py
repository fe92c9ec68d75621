"""What a container refuses by its default profile does not keep a live run from its memory."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
USERFAULTFD = 323  # on x86-64
PROGRAM = "x = bytearray(8 << 20); x[::4096] = b'1' * 2048; print(sum(x))"


def refusing(call: int, errno: int) -> Callable[[], None]:
    """A filter of seccomp that answers one system call with an error, set before `exec`."""
    load, equal, back, allow, error = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
    code = b"".join(struct.pack("HBBI", *one) for one in [
        (load, 0, 0, 0), (equal, 0, 1, call), (back, 0, 0, error | errno), (back, 0, 0, allow)])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None)

    def apply() -> None:
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and buffer
        assert libc.prctl(22, 2, program, 0, 0) == 0

    return apply


def test_a_refused_system_call_leaves_the_device_of_userfaultfd() -> None:
    run = [SLUICE, "run", "--set", "device.capacity=64MiB", "--set", "cache.capacity=4MiB", "--",
           sys.executable, "-c", PROGRAM]
    # Container profiles answer EPERM or ENOSYS.
    for errno in (1, 38):
        done = subprocess.run(run, capture_output=True, text=True, check=False,
                              preexec_fn=refusing(USERFAULTFD, errno))
        if os.access("/dev/userfaultfd", os.R_OK | os.W_OK):
            assert (done.returncode, done.stdout) == (0, f"{2048 * ord('1')}\n"), done.stderr
        else:
            assert done.returncode == 2 and "userfaultfd" in done.stderr
