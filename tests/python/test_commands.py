"""Does Ctrl-C end a command quietly, wherever it is?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sluice.reproduce import program

ROOT = Path(__file__).parents[2]
# As pip's scripts begin. Ctrl-C comes while the module of the first argument is imported.
SCRIPT = """
import os, signal, sys

_, module, of, *_ = sys.argv
del sys.argv[:2]

class Pressed:
    def find_spec(self, name, *_):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
from sluice import commands
sys.exit(getattr(commands, of)())
"""


def ended(module: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SCRIPT, module, *command], capture_output=True,
                          text=True, check=False, timeout=60)


@pytest.mark.parametrize("command", [
    ["sweep", "--over", "seed=1", "--", "sim"], ["report", "run"], ["reproduce", "--list"],
    ["recipe", "list"]])
@pytest.mark.parametrize("module", ["argparse", "sluice.arguments"])
def test_ctrl_c_while_python_imports_is_no_traceback(command: list[str], module: str) -> None:
    done = ended(module, *command)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("name", ["report", "sweep", "reproduce", "recipes"])
def test_neither_is_one_of_a_command_as_a_module(name: str, tmp_path: Path) -> None:
    """The package was imported first, and took Ctrl-C as a traceback."""
    hook = SCRIPT.partition("from sluice")[0].replace("_, module, of, *_ = sys.argv", "")
    hook = hook.replace("del sys.argv[:2]", "module = 'argparse'")
    (tmp_path / "sitecustomize.py").write_text(hook, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-m", f"sluice.{name}", "--help"], capture_output=True,
                          env={**os.environ, "PYTHONPATH": path}, text=True, check=False,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_sluice_holds_ctrl_c_back_until_python_can_take_it(tmp_path: Path) -> None:
    script = tmp_path / "sluice-sweep"
    script.write_text(f"#!{sys.executable}\nimport signal\n"
                      "print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))\n")
    script.chmod(0o755)
    # A command of the package is looked for beside it.
    own = shutil.copy(program.find(None), tmp_path / "sluice")
    done = subprocess.run([own, "sweep"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"


def test_ctrl_c_that_was_held_back_ends_it_as_soon_as_it_is_taken() -> None:
    """``sluice`` holds it until there is somebody to take it."""
    press = ("import os, signal\n"
             "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
             "os.kill(os.getpid(), signal.SIGINT)\n"
             "from sluice import commands\ncommands.report()")
    done = subprocess.run([sys.executable, "-c", press], capture_output=True, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_later_says_what_is_kept(tmp_path: Path) -> None:
    done = ended("sluice.report.folder", "report", str(tmp_path))
    assert done.returncode == 130
    assert done.stderr == "\nsluice report: interrupted; nothing was written\n"


def test_what_ignores_ctrl_c_goes_on_ignoring_it(tmp_path: Path) -> None:
    """As in the background of a shell."""
    ignore = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", ignore, "argparse", "report",
                           str(tmp_path / "none")], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 2 and "does not exist" in done.stderr


def test_every_command_of_the_package_begins_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert all(place.startswith("sluice.commands:") for place in scripts["scripts"].values())
