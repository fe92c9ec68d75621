"""Libraries of frames, which only those need who want frames."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def library(name: str) -> Any:
    """The module ``polars`` or ``pandas``. Raises ``ModuleNotFoundError`` that says what installs
    it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"{name} is not installed; `pip install 'sluice-cxl[frames]'`"
                                  " installs it", name=name) from None
