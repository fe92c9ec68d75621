"""A file of shared memory that the runs of an experiment place on a device (`--place dax:`)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sluice.errors import ExperimentError

FOLDER = Path("/dev/shm")


def path(experiment: str) -> Path:
    """Its name, which is always the same: finished runs are found by their arguments."""
    return FOLDER / f"sluice-reproduce-{experiment.replace('/', '-')}"


@contextmanager
def there(experiment: str, size: int) -> Iterator[None]:
    """While runs need it, the file is there, empty. Raises ``ExperimentError`` if another session
    or user has it."""
    place = path(experiment)
    with _locked(place) as file:
        os.ftruncate(file.fileno(), 0)
        os.ftruncate(file.fileno(), size)
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def _locked(place: Path) -> IO[bytes]:
    """The file, which no other session has."""
    while True:
        try:
            file = place.open("ab")
        except OSError as error:
            raise ExperimentError(f"{place}: {error.strerror}; expected nothing there, or a"
                                  " file of yours") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ExperimentError(f"{place}: another `sluice reproduce` measures with this file;"
                                  " wait for its end") from None
        # Between the two the session that had it may have ended, and removed it.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
