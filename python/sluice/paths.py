"""Names of files as a caller gives them: any path, and any bytes that a file's name may have."""

from __future__ import annotations

import os
from typing import TypeAlias

from sluice.errors import UnknownDeviceError

Name: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""Of a file; where one can be named instead, the name of what comes with Sluice."""


def shown(name: str) -> str:
    """A name with a question mark for each byte that is no text: pictures take nothing else.

    >>> shown("a\\udcff.trace")
    'a?.trace'
    """
    return name.encode(errors="replace").decode()


def text(name: Name) -> str:
    """A name that is shown as well: of a device, a system or a fabric, or of its file. Raises
    ``UnknownDeviceError`` for one that is no text.

    >>> from pathlib import Path
    >>> text(Path("my.toml")), text("cxl-ssd")
    ('my.toml', 'cxl-ssd')
    """
    found = os.fsdecode(name)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise UnknownDeviceError(f"the name {found!r} is no UTF-8, as a result has it; rename"
                                 " the file", value=found, expected="a name in UTF-8") from None
    return found
