"""Where `sluice report` writes its page, and what it leaves as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import runs

from sluice.report import main


def test_default_output_and_its_path_printed(
        tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = runs.run(tmp_path / "a"), runs.run(tmp_path / "b")
    monkeypatch.chdir(tmp_path)
    assert main([str(first)]) == 0
    assert capsys.readouterr().out == f"{first / 'report.html'}\n"
    assert (first / "report.html").exists()
    assert main([str(first), str(second)]) == 0
    assert capsys.readouterr().out == "report.html\n"
    assert (tmp_path / "report.html").exists()


def test_a_page_goes_to_standard_output(
        tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """As by other tools: it was a file of the name ``-``."""
    folder = runs.run(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert main([str(folder), "-o", "-"]) == 0
    page, said = capfdbinary.readouterr()
    assert main([str(folder), "-o", "./-"]) == 0
    assert (page, said) == ((tmp_path / "-").read_bytes(), b"")


def test_a_file_of_the_users_is_not_replaced_unasked(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, notes = runs.run(tmp_path / "a"), tmp_path / "notes.html"
    notes.write_text("<p>mine")
    assert main([str(folder), "-o", str(notes)]) == 2
    assert capsys.readouterr().err == (
        f"sluice report: {notes}: it is there already and no page of Sluice's; replace it with "
        "--force\n")
    assert notes.read_text() == "<p>mine"
    assert main([str(folder), "-o", str(notes), "--force"]) == 0
    # A page of ours is drawn anew.
    assert main([str(folder), "-o", str(notes), "--title", "Again"]) == 0
    assert "Again" in notes.read_text()


def test_a_name_that_no_file_can_have_is_one_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = runs.run(tmp_path / "a"), "x" * 300
    for out in (tmp_path / name, tmp_path / name / "page.html"):
        assert main([str(folder), "-o", str(out)]) == 2
        assert capsys.readouterr().err == (
            f"sluice report: {out}: File name too long; expected a file that can be written\n")
    assert main([str(tmp_path / name)]) == 2
    assert "does not exist; expected the --out folder of a sluice run" in capsys.readouterr().err


def test_closed_pipe_ends_it_quietly(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run([sys.executable, "-m", "sluice.report", str(folder)], stdout=writer,
                           stderr=subprocess.PIPE, text=True,
                           env={"PATH": "", "PYTHONPATH": ":".join(sys.path)})
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (folder / "report.html").exists()
