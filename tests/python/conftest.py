"""Makes the helpers beside the tests importable, lets Ctrl-C through, and ends what hangs."""

import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A test that takes longer hangs. The machine may be busy, so this is far from what is normal.
LIMIT_S = 900

# A shell ignores SIGINT in the jobs that it starts in the background, and so does every program
# that such a job starts. Tests that press Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, ())

# Where the stacks of a test that hangs are printed: pytest captures standard error itself.
_ERRORS = os.fdopen(os.dup(2), "w")


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """Ends the tests, with every thread's stack, when one takes too long."""
    faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=_ERRORS)
    yield
    faulthandler.cancel_dump_traceback_later()
