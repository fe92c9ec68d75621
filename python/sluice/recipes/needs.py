"""What a recipe needs besides Sluice: printed, and then installed."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys

from sluice.errors import ExperimentError
from sluice.recipes.recipe import Recipe


def told(one: Recipe) -> str:
    """In words."""
    needs = [f"{name} of PyPI" for name in one.python]
    needs += [f"Debian's {package}" for package in dict.fromkeys(one.debian.values())]
    return f"needs {' and '.join(needs)}" if needs else "needs nothing more"


def install(one: Recipe) -> None:
    """Says what is missing, and installs it: into this Python's environment, and Debian's packages
    when root. Raises ``ExperimentError`` if it cannot."""
    missing = [name for name in one.python if not _is_there(name)]
    if missing:
        print(f"{one.name}: installing {', '.join(missing)} from PyPI into {sys.prefix}",
              file=sys.stderr)
        _run(one, [sys.executable, "-m", "pip", "install", "--quiet",
                   "--disable-pip-version-check", *missing])
    packages = sorted({package for program, package in one.debian.items()
                       if not shutil.which(program)})
    if packages:
        by_hand = f"apt-get install {' '.join(packages)}"
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise ExperimentError(f"{one.name} needs {', '.join(packages)}; sudo {by_hand}")
        print(f"{one.name}: {by_hand}", file=sys.stderr)
        _run(one, ["apt-get", "install", "-qqy", "--no-install-recommends", *packages])


def _is_there(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _run(one: Recipe, command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise ExperimentError(f"{one.name}: `{' '.join(command)}` failed: {last}")
