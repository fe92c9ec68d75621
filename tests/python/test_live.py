"""Live runs from Python, commands for them, and results with attributes."""

from __future__ import annotations

import doctest
import fcntl
import importlib
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import sluice
from sluice import parquet, results

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
DEVICE = {"device.capacity": "64MiB", "cache.capacity": "4MiB"}
WALK = "x = bytearray(8 << 20); x[::4096] = b'1' * 2048; print(sum(x))"
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE", str(SLUICE))


def test_a_run_returns_its_result() -> None:
    result = sluice.run([sys.executable, "-c", WALK], overrides=DEVICE, capture=True)
    assert result.output == f"{2048 * ord('1')}\n"
    assert result.cache.misses == result["cache"]["misses"] >= 2048
    assert result.config["cache.capacity"] == "4MiB" and result.kind == "run"
    assert result.processes[0].misses == result["processes"][0]["misses"] > 0
    assert results.read(result).cache.misses == result.cache.misses


def test_what_a_program_prints_need_not_be_text() -> None:
    printed = ("import sys; sys.stdout.buffer.write(b'a\\xff\\r1 %\\r\\n');"
               " sys.stderr.buffer.write(b'\\xfe')")
    result = sluice.run([sys.executable, "-c", printed], overrides=DEVICE, capture=True)
    # A bar that is drawn in place stays on its line.
    assert (result.output, result.errors.startswith("\ufffd")) == ("a\ufffd\r1 %\r\n", True)


def test_failures_are_of_their_kinds() -> None:
    with pytest.raises(sluice.RunError, match="ended with status 3") as failed:
        sluice.run([sys.executable, "-c", "raise SystemExit(3)"], overrides=DEVICE)
    assert failed.value.status == 3 and failed.value.result.cache.misses > 0
    with pytest.raises(sluice.InputError, match="bad command: 'true'; expected a list"):
        sluice.run("true")
    with pytest.raises(sluice.InputError, match="cache.polcy"):
        sluice.run(["true"], overrides={"cache.polcy": "lru"}, capture=True)
    # The reason is there without what the command prints, and where it can be it has parts.
    with pytest.raises(sluice.UnknownKeyError, match="did you mean `cache.policy`") as unknown:
        sluice.run(["true"], overrides={"cache.polcy": "lru", "host.on_long_delay": "spin"})
    assert unknown.value.key == "cache.polcy"
    for capture in (False, True):
        with pytest.raises(sluice.InputError, match="^/no/such/program: no such program; "):
            sluice.run(["/no/such/program"], overrides=DEVICE, capture=capture)
        with pytest.raises(sluice.InputError, match="^invalid value 'even' for '--trap <TRAP>'"):
            sluice.run(["true"], overrides=DEVICE, trap="even", capture=capture)
        # What ends the command leaves no reason but what was printed.
        killed = "import os; os.write(2, b'why\\n'); os.kill(os.getppid(), 9)"
        says = "why" if capture else "what it printed says why"
        with pytest.raises(sluice.InputError, match=f"ended with status -9 and no result: {says}$"):
            sluice.run([sys.executable, "-c", killed], overrides=DEVICE, capture=capture)
    with pytest.raises(sluice.ControlError):
        sluice.attach(os.getpid())
    with pytest.raises(sluice.BadValueError, match="bad value for `pid`: '--help'"):
        sluice.attach("--help")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["polars", "pandas"])
def test_a_frame_without_its_library_says_what_installs_it(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = sluice.simulate("cxl-ssd", workload="zipf:size=1MiB,ops=10")
    table = tmp_path / "runs.parquet"
    table.write_bytes(parquet.encode([parquet.axis("x", ["1"])], {"schema": parquet.SCHEMA}))
    runs = sluice.read_runs(table)
    monkeypatch.setitem(sys.modules, name, None)
    for one in (result, runs):
        with pytest.raises(ModuleNotFoundError, match=f"{name} is not installed; `pip install"):
            getattr(one, f"to_{name}")()


def test_neither_the_program_nor_the_record_of_a_run_has_the_file_for_refusals() -> None:
    script = "import os; print([name for name in os.environ if 'REFUSAL' in name])"
    assert sluice.run([sys.executable, "-c", script], overrides=DEVICE,
                      capture=True).output == "[]\n"


def test_a_run_that_is_given_up_ends_what_does_not_want_to(tmp_path: Path) -> None:
    """Programs that ignore the request went on without the command, one in its own session."""
    lock = tmp_path / "lock"
    program = ("import fcntl, os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
               f"lock = os.open({str(lock)!r}, os.O_CREAT | os.O_RDWR); "
               "fcntl.flock(lock, fcntl.LOCK_EX); os.fork() or os.setsid(); "
               "os.write(lock, b'%d ' % os.getpid()); os.write(1, b'ready\\n'); time.sleep(600)")
    script = ("import sys, sluice.live; sluice.live._GRACE_S = 1\n"
              f"try: sluice.run([sys.executable, '-c', {program!r}], overrides={DEVICE})\n"
              "except KeyboardInterrupt: print('interrupted')")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                          text=True, start_new_session=True) as child:
        assert [child.stdout.readline() for _ in range(2)] == 2 * ["ready\n"]
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "interrupted\n"
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            for pid in file.read().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            raise


def test_a_run_that_is_given_up_ends_its_program() -> None:
    """Ctrl-C that only this process hears, as in a notebook. The output's reader still runs."""
    program = "import time; print('ready', flush=True); time.sleep(600)"
    script = (f"import sluice, sys\ntry: sluice.run([sys.executable, '-c', {program!r}], "
              f"overrides={DEVICE})\nexcept KeyboardInterrupt: print('interrupted')")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                          text=True, start_new_session=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def test_a_persistent_device_is_flushed_and_loses_its_power(tmp_path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as memory:
        memory.truncate(1 << 20)
        program = ("import mmap, sys; file = open(sys.argv[1], 'r+b'); "
                   "device = mmap.mmap(file.fileno(), 0)\n"
                   # One store a page: some processors' copies come back to the first.
                   "for at in range(0, len(device), 4096): device[at:at + 1] = b'1'\n"
                   "print('ready', flush=True); sys.stdin.read()")
        words = ["--place", f"dax:{memory.name}", "--store", f"file:{tmp_path / 'store'}",
                 "--set", "device.persistent=yes", "--set", "device.capacity=4MiB",
                 "--set", "cache.capacity=128KiB"]
        for is_flushed, lost in [(True, 0), (False, 22)]:
            text = program if is_flushed else program.replace("b'1'", "b'2'")
            with subprocess.Popen([SLUICE, "run", *words, "--", sys.executable, "-c", text,
                                   memory.name], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout.readline() == "ready\n"
                control = sluice.attach(child.pid)
                if is_flushed:
                    assert control.flush().ranges[0]["status"] == "done"
                with pytest.raises(ValueError, match="expected one of them"):
                    control.powercut(pages=1, joules="1")
                cut = control.powercut(joules="0.0005")
                assert (cut.most, cut.lost) == (10, lost)
                assert sum(one["length"] for one in cut.lost_ranges) == lost * 4096
            assert child.returncode == -9


def test_a_running_program_is_commanded() -> None:
    program = "import sys; x = bytearray(8 << 20); print('ready', flush=True); sys.stdin.read()"
    sets = [word for key, value in DEVICE.items() for word in ("--set", f"{key}={value}")]
    with subprocess.Popen([SLUICE, "run", *sets, "--", sys.executable, "-c", program],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        control = sluice.attach(child.pid)
        before = control.resident()
        assert before.dtype == np.bool_ and before.size == (64 << 20) // 4096
        assert 0 < before.sum() <= (4 << 20) // 4096
        control.pin("0..64KiB")
        assert control.resident()[:16].all()
        control.unpin("all")
        control.evict("0..64KiB")
        assert not control.resident()[:16].any()
        control.policy("lru")
        control.set({"nand.read": "20us"})
        with pytest.raises(sluice.ControlError, match="polcy"):
            control.set({"cache.polcy": "lru"})
        with pytest.raises(sluice.ControlError, match="15872 of 16384 pages refused: as many pages"
                                                      " of its set are pinned as cache.pin_max"):
            control.pin("all")
        with pytest.raises(sluice.ControlError, match=r"0x40000000\+0x40000000 refused: bad"
                                                      " range; the device has 67108864 bytes"):
            control.pin("1GiB..2GiB")
        assert control.stats().counters.misses > 0
        child.stdin.close()
        assert child.wait(60) == 0


def test_a_result_is_shown_drawn_and_a_row() -> None:
    result = sluice.simulate("cxl-ssd", DEVICE, "zipf:size=16MiB,ops=20000")
    shown = result._repr_html_()
    assert f">{result.cache.misses}<" in shown and "cache.hit_ratio" in shown
    picture = result.plot()
    assert picture._repr_mimebundle_()["image/png"].startswith(b"\x89PNG")
    bars = picture.axes[0].patches
    assert [bar.get_width() for bar in bars] == [
        value for value in result["latency_parts_ns"].values() if value]
    assert result.to_polars()["cache.misses"].to_list() == [result.cache.misses]
    assert result.to_pandas()["config.cache.capacity"][0] == "4MiB"
    assert picture.axes[0].get_xlabel() == "time of an access, mean, ns"
    trapped = sluice.Result({"kind": "run", "latency_parts_ns": {"link": 1.0}}).plot()
    assert trapped.axes[0].get_xlabel() == "time of a trap, mean, ns"
    # A host's hits in its own caches have no part in it, nor mapped pages where they are hidden.
    for kind, more, of in (("system", {}, "an access that the device saw"),
                           ("sim", {"hits_visible": "misses"}, "an access that the device saw"),
                           ("fabric", {}, "a request")):
        drawn = sluice.Result({"kind": kind, "latency_parts_ns": {"dram": 1.0}, **more}).plot()
        assert drawn.axes[0].get_xlabel() == f"time of {of}, mean, ns"
    with pytest.raises(AttributeError, match="no 'cahce' in this result; there are accesses"):
        _ = result.cahce
    with pytest.raises(ValueError, match="nothing to draw"):
        sluice.Result({"time_s": 1.0}).plot()


@pytest.mark.parametrize("name", sorted(
    one.name for one in pkgutil.walk_packages(sluice.__path__, "sluice.")
    if not one.name.endswith("__main__") and ".recipes." not in one.name
    and ">>>" in Path(importlib.util.find_spec(one.name).origin).read_text(errors="replace")
    and not one.name.endswith("_core")))
def test_examples_in_docstrings_run(name: str) -> None:
    told = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert told.attempted > 0 and told.failed == 0


@pytest.mark.parametrize("name", [
    name for name in sluice.__all__
    if not (isinstance(getattr(sluice, name), type) and (
        issubclass(getattr(sluice, name), Exception) or name.endswith("Space")))])
def test_what_the_package_offers_has_an_example(name: str) -> None:
    """Errors and what policies are given are shown by what raises and takes them."""
    assert ">>> " in (getattr(sluice, name).__doc__ or "")


def blocks() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        found += [(page, code) for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    return found


def test_blocks_of_python_in_pages_run(tmp_path: Path) -> None:
    """One after another, page by page, in a folder with the files that they name."""
    assert len(blocks()) >= 9
    run = [SLUICE, "trace", "convert", "--from", "lackey", "-", "prog.trace"]
    subprocess.run(run, input=" L 1000,8\n S 2000,8\n", text=True, cwd=tmp_path, check=True,
                   capture_output=True)
    found = {**os.environ, "PATH": f"{SLUICE.parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-m", "sluice.sweep", "--over", "cache.policy=lru,fifo",
                    "--measure", "cache.hit_ratio", "--", "sim", "--workload",
                    "zipf:size=16MiB,ops=2000"], cwd=tmp_path, check=True, capture_output=True)
    for page in dict.fromkeys(page for page, _ in blocks()):
        code = "\n".join(code for of, code in blocks() if of == page)
        # Only a program that runs on the device can ask for memory there.
        on = [SLUICE, "run", "--"] if "sluice.alloc" in code else []
        done = subprocess.run([*on, sys.executable, "-c", code], cwd=tmp_path, capture_output=True,
                              text=True, check=False, env=found, timeout=240)
        assert done.returncode == 0, f"{page}: {done.stderr}"
