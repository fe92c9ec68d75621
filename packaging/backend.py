"""Builds the wheel `sluice-cxl`: maturin's, with the command and its libraries in it.

The wheel needs no checkout. It carries the `sluice` command, the experiments, and the libraries for
live runs, guests and programs in C, with their headers. cargo builds them first. Then they lie in
two folders which maturin takes along, and which go when the wheel is made.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).parents[1]
DATA = ROOT / "sluice._core.data"
"""maturin puts what is in `scripts` beside Python, and what is in `data` into its prefix."""
EXPERIMENTS = ROOT / "python" / "sluice" / "experiments"
COMMANDS = ["sluice", "sluice-guest"]
LIBRARIES = [
    "libsluice_preload.so", "libsluice_qemu.so", "libsluice.so", "libsluice_control.so",
    "libsluice_control.a",
]
COMPLETIONS = {
    "bash": "bash-completion/completions/sluice",
    "zsh": "zsh/site-functions/_sluice",
    "fish": "fish/vendor_completions.d/sluice.fish",
}
HEADERS = [
    "crates/sluice-abi/include/sluice_memory.h",
    "crates/sluice-abi/include/sluice_policy.h",
    "crates/sluice-abi/include/sluice_prefetcher.h",
    "crates/sluice-capi/include/sluice.h",
    "crates/sluice-control/include/sluice_control.h",
]


def build_wheel(wheel_directory: str, config_settings: Any = None,
                metadata_directory: str | None = None) -> str:
    """PEP 517: the name of the wheel that was made."""
    with _staged(_build()):
        os.environ.setdefault("MATURIN_PEP517_ARGS", f"--compatibility {_platform()}")
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def _platform() -> str:
    """What the wheel runs on: systems whose C library is not older than this one's."""
    library, version = platform.libc_ver()
    return f"manylinux_{version.replace('.', '_')}" if library == "glibc" else "off"


def _build() -> Path:
    """Builds what is not Python. Returns the folder where it is."""
    target = Path(os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))).absolute()
    subprocess.run(["scripts/build", "--release", "--workspace", "--locked"], cwd=ROOT, check=True)
    return target / "release"


@contextmanager
def _staged(built: Path) -> Iterator[None]:
    """The folders that maturin takes along, for as long as it builds."""
    try:
        for name in COMMANDS:
            _copy(built / name, DATA / "scripts" / name)
        for name in LIBRARIES:
            _copy(built / name, DATA / "data" / "lib" / name)
        for name in HEADERS:
            _copy(ROOT / name, DATA / "data" / "include" / Path(name).name)
        _manners(built / "sluice")
        shutil.copytree(ROOT / "experiments", EXPERIMENTS)
        yield
    finally:
        shutil.rmtree(DATA, ignore_errors=True)
        shutil.rmtree(EXPERIMENTS, ignore_errors=True)


def _manners(sluice: Path) -> None:
    """Completions and pages of manual, where shells and `man` look below a prefix."""
    share = DATA / "data" / "share"
    for shell, place in COMPLETIONS.items():
        script = subprocess.run([sluice, "completions", shell], check=True, capture_output=True)
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).write_bytes(script.stdout)
    subprocess.run([sluice, "man", share / "man" / "man1"], check=True)


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, to)
    if source.suffix != ".h":
        # Most of a file is debug information: the command has 8 MB without, and 50 with it.
        subprocess.run(["strip", "--strip-debug", to], check=True)
