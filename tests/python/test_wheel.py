"""The wheel, in an empty environment and away from the checkout: it has everything."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEVICE = ["--set", "device.capacity=64MiB", "--set", "cache.capacity=4MiB"]
NOTEBOOK = """
import nbclient, nbformat
cells = ["import sluice; assert sluice.presets()", "1 / 0"]
for source, fails in zip(cells, [False, True]):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    try:
        nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
        failed = False
    except nbclient.exceptions.CellExecutionError:
        failed = True
    assert failed == fails, source
print("notebook ran")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made as `make wheel` makes it, of what `make setup` has built."""
    folder = tmp_path_factory.mktemp("wheel")
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    _done([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
           "--wheel-dir", folder, ROOT], env=env)
    [made] = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The programs of an environment that has the wheel, what it needs, and a notebook's kernel."""
    folder = tmp_path_factory.mktemp("venv")
    _done([sys.executable, "-m", "venv", folder])
    _done([folder / "bin" / "python", "-m", "pip", "install", "--quiet",
           "--disable-pip-version-check", wheel, "nbclient", "ipykernel"])
    yield folder / "bin"


def _done(command: list[str | Path], **how: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                          stdin=subprocess.DEVNULL, **how)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def _env() -> dict[str, str]:
    """No variable that names a checkout or an environment."""
    return {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}


def test_its_name_is_ours_and_its_files_are_those_that_are_promised(wheel: Path) -> None:
    assert wheel.name.startswith("sluice_cxl-"), "`sluice` is a stranger's"
    assert "abi3-manylinux" in wheel.name
    names = {name.split(".data/")[-1] for name in zipfile.ZipFile(wheel).namelist()}
    for name in ["scripts/sluice", "scripts/sluice-guest", "data/lib/libsluice_preload.so",
                 "data/lib/libsluice_qemu.so", "data/lib/libsluice.so", "data/include/sluice.h",
                 "data/share/bash-completion/completions/sluice",
                 "data/share/zsh/site-functions/_sluice", "data/share/man/man1/sluice-run.1",
                 "data/share/fish/vendor_completions.d/sluice.fish",
                 "sluice/recipes/moe/recipe.toml", "sluice/recipes/moe/program.py",
                 "sluice/experiments/cylon/table3/experiment.toml"]:
        assert name in names
    headers = {f"data/include/{path.name}" for path in ROOT.glob("crates/*/include/*.h")}
    assert headers and headers == {name for name in names if name.endswith(".h")}
    for laid_out in ["sluice._core.data", "python/sluice/experiments"]:
        assert not (ROOT / laid_out).exists(), "it goes when the wheel is made"


def test_a_live_run_needs_no_checkout(bin_folder: Path, tmp_path: Path) -> None:
    program = "x = bytearray(8 << 20); x[::4096] = b'1' * 2048; print(sum(x))"
    run = [bin_folder / "sluice", "run", *DEVICE, "--out", tmp_path / "out", "--",
           bin_folder / "python", "-c", program]
    assert _done(run, cwd=tmp_path, env=_env()) == f"{2048 * ord('1')}\n"
    assert "misses" in (tmp_path / "out" / "stats.json").read_text()


def test_a_report_and_an_experiment_need_no_checkout(bin_folder: Path, tmp_path: Path) -> None:
    told = _done([bin_folder / "sluice", "recipe", "list"], cwd=tmp_path, env=_env())
    assert "kv-cache" in told
    told = _done([bin_folder / "sluice", "reproduce", "--list", "cylon"], cwd=tmp_path, env=_env())
    assert "cylon/table3" in told
    _done([bin_folder / "sluice", "reproduce", "--quick", "--out", tmp_path / "out",
           "cylon/table3"], cwd=tmp_path, env=_env())
    assert (tmp_path / "out" / "index.html").is_file()


def test_a_notebook_imports_it(bin_folder: Path, tmp_path: Path) -> None:
    done = _done([bin_folder / "python", "-c", NOTEBOOK], cwd=tmp_path, env=_env())
    assert done == "notebook ran\n"
