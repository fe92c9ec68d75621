"""Are runs that have ended there for the next process, and only whole?"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import IO

import pytest

from sluice.reproduce import memory
from sluice.reproduce.engines import Program
from sluice.reproduce.engines.local import Local
from sluice.reproduce.kept import Kept
from sluice.reproduce.runner import Runner, put

ONE, TWO, THREE = (str(digit) * 24 for digit in (1, 2, 3))


def result(kept: Kept, key: str) -> object:
    run = kept.run(key)
    return run and run["result"]


def test_what_was_added_is_there_for_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "out" / "runs.jsonl"
    kept = Kept(path)
    assert (len(kept), result(kept, ONE)) == (0, None)
    kept.add(ONE, {"wall_s": 0.5}, '{"a": 1}')
    kept.add(TWO, {"wall_s": 1.5}, '{"a": 2}')
    kept.add(ONE, {"wall_s": 2.5}, '{"a": 3}')
    for found in (kept, Kept(path)):
        assert len(found) == 2
        assert (result(found, ONE), result(found, TWO)) == ({"a": 3}, {"a": 2})
        assert result(found, THREE) is None
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["wall_s"] for one in told] == [0.5, 1.5, 2.5]


@pytest.mark.parametrize("left", range(1, 58))
def test_a_line_that_was_cut_off_anywhere_costs_itself_only(tmp_path: Path, left: int) -> None:
    path = tmp_path / "runs.jsonl"
    kept = Kept(path)
    kept.add(ONE, {}, '{"a": 1}')
    whole = path.read_bytes()
    kept.add(TWO, {}, '{"a": {}}')
    path.write_bytes(path.read_bytes()[:len(whole) + left])
    is_whole = path.read_bytes().rstrip().endswith(b"}}}")
    again = Kept(path)
    assert (result(again, ONE), result(again, TWO)) == ({"a": 1}, {"a": {}} if is_whole else None)
    again.add(THREE, {}, '{"a": 3}')
    for found in (again, Kept(path)):
        assert (result(found, ONE), result(found, THREE)) == ({"a": 1}, {"a": 3})


def test_lines_of_two_processes_stand_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    one, two = Kept(path), Kept(path)
    for _ in range(3):
        one.add(ONE, {}, '{"a": 1}')
        two.add(TWO, {}, '{"a": 2}')
    assert (result(one, ONE), result(two, TWO), len(Kept(path))) == ({"a": 1}, {"a": 2}, 2)


def test_a_full_disk_is_told_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.jsonl"
    kept, write = Kept(path), os.write
    room = [7]

    def full(file: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[:room.pop()])

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
            kept.add(ONE, {}, '{"a": 1}')
    assert result(kept, ONE) is None
    kept.add(TWO, {}, '{"a": 2}')
    assert (result(kept, TWO), result(Kept(path), TWO), result(Kept(path), ONE)) == (
        {"a": 2}, {"a": 2}, None)


def test_what_ends_a_write_leaves_no_half_of_a_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C left the new file beside the old one, under a name that nobody looks for."""
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    put(tmp_path / "results.json", b"old")
    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        put(tmp_path / "results.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_bytes() == b"old"


def test_results_share_the_texts_of_their_settings(tmp_path: Path) -> None:
    """They were half of what thousands of results took."""
    sluice = tmp_path / "sluice"
    sluice.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\n"
                      'echo "{\\"n\\": $1, \\"config\\": {\\"cache.capacity\\": \\"64 MiB\\"}}"\n')
    sluice.chmod(0o755)
    runner = Runner(Program(sluice), tmp_path / "runs.jsonl", Local(1))
    runner.run([("1",), ("2",)], lambda *_: None)
    again = Runner(Program(sluice), tmp_path / "runs.jsonl", Local(1))
    again.run([("2",)], lambda *_: None)
    one, two = runner.results["1",]["config"], runner.results["2",]["config"]
    three = again.results["2",]["config"]
    assert one == {"cache.capacity": "64 MiB"}
    assert {id(text) for config in (one, two, three) for text in config.values()} == {
        id(one["cache.capacity"])}


def test_the_file_of_a_session_that_has_just_ended_is_no_longer_there(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening it and locking it it was removed, and all runs failed without it."""
    lock, left = fcntl.flock, [1]

    def flock(file: IO[bytes], how: int) -> None:
        if left and left.pop():
            (tmp_path / "sluice-reproduce-a-b").unlink()
        lock(file, how)

    monkeypatch.setattr(memory, "FOLDER", tmp_path)
    monkeypatch.setattr("fcntl.flock", flock)
    with memory.there("a/b", 4096):
        assert memory.path("a/b").stat().st_size == 4096
    assert not memory.path("a/b").exists()
