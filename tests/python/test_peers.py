"""``scripts/peers``, with programs that only print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "peers"

VICTIM = """print('cache_capacity = 1\\nq_capacity = 1\\ninterleave_param = 1')
print('log_name = ""\\noutput_dir = ""')
"""


def peers(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


def prints(path: Path, text: str, stream: str = "stdout") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport sys\nprint({text!r}, file=sys.{stream})\n")
    path.chmod(0o755)
    return path


def test_what_was_counted_is_compared(tmp_path: Path) -> None:
    prints(tmp_path / "build" / "Xerxes", " * Evict count: 200", "stderr")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "victim.py").write_text(VICTIM)
    ours = prints(tmp_path / "sluice", json.dumps({"coherence": {"filter_evictions": 150}}))
    done = peers("--xerxes", tmp_path, "--sluice", ours)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[2:5] for row in rows] == [["200", "150", "0.750"]] * 5


def test_a_folder_without_the_program_is_named(tmp_path: Path) -> None:
    ours = prints(tmp_path / "sluice", "{}")
    for name, program in [("mqsim", "MQSim"), ("dramsim3", "build/dramsim3main"),
                          ("ramulator2", "libramulator.so"), ("xerxes", "build/Xerxes")]:
        done = peers(f"--{name}", tmp_path, "--sluice", ours)
        assert done.returncode == 2
        assert done.stderr == (f"peers: {tmp_path / program}: no such program; build it there, or "
                               "name another folder\n")


def test_a_peer_that_says_nothing_is_no_result(tmp_path: Path) -> None:
    prints(tmp_path / "build" / "Xerxes", "nothing")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "victim.py").write_text(VICTIM)
    done = peers("--xerxes", tmp_path, "--sluice", prints(tmp_path / "sluice", "{}"))
    assert done.returncode == 2
    assert "says no Evict count" in done.stderr


def test_nothing_to_compare_with() -> None:
    done = peers()
    assert done.returncode == 2
    assert "give --mqsim, --dramsim3, --ramulator2 or --xerxes" in done.stderr
