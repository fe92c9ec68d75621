"""Do the recipes run at a small size, and is a wrong answer noticed? `make recipes` runs all."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from sluice.recipes import FOLDER, main, needs, session
from sluice.recipes.recipe import find, load

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
LIARS = {
    "right": 'print(json.dumps({"seconds": 1.0, "answer": 7}))',
    # It answers otherwise where its memory is on a device.
    "wrong": 'print(json.dumps({"seconds": 1.0, "answer": os.environ.get("LD_PRELOAD")}))',
    "fails": 'sys.exit("its sums differ" if os.environ.get("LD_PRELOAD") else print(json.dumps('
             '{"seconds": 1.0, "answer": 7})))',
}


def own(folder: Path, program: str) -> list[str]:
    home = folder / "recipes" / "mine"
    home.mkdir(parents=True)
    (home / "program.py").write_text(f"import json, os, sys\n{program}\n")
    (home / "recipe.toml").write_text(
        'title = "Mine"\nquestion = "How large?"\nprogram = ["{python}", "{folder}/program.py"]\n'
        "size = { default = 1, small = 1 }\nfootprint_mib = { default = 8, small = 8 }\n")
    return ["run", "--recipes", str(home.parent), "--sluice", str(SLUICE), "--small", "--out",
            str(folder / "out"), "mine"]


@pytest.mark.parametrize("name", [one for one in find(FOLDER) if not load(FOLDER, one).python])
def test_a_recipe_answers_its_question(name: str, tmp_path: Path) -> None:
    assert main(["run", "--small", "--sluice", str(SLUICE), "--out", str(tmp_path), name]) == 0
    told = json.loads((tmp_path / name / "result.json").read_text())
    assert [row["problem"] for row in told["rows"]] == ["", ""]
    small, large = (row["misses"] for row in told["rows"])
    assert small > large > 0, "a smaller cache misses more"
    page = (tmp_path / name / "index.html").read_text()
    assert page.count("<svg") == 2 * (1 + len(told["draw"])), "each for two widths"
    assert told["question"] in page and told["answer"] in page


def test_a_wrong_answer_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(own(tmp_path / "a", LIARS["right"])) == 0
    capsys.readouterr()
    assert main(own(tmp_path / "b", LIARS["wrong"])) == 1
    assert "its answer is another one than without a device" in capsys.readouterr().err
    assert main(own(tmp_path / "c", LIARS["fails"])) == 1
    assert "fifo: its sums differ" in capsys.readouterr().err


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_run_that_takes_too_long_leaves_nothing_behind(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str) -> None:
    monkeypatch.setattr(session, "LIMIT_S", 2)
    monkeypatch.setattr(session, "GRACE_S", 2)
    # Whoever has the lock is still there, whatever its parent is.
    lock = tmp_path / "lock"
    script = f"{trap}exec 9>{lock}; flock 9; while :; do sleep 0.1; done"
    told = session._told([str(SLUICE), "run", "--json", "--", "bash", "-c", script])
    assert told == "it took longer than 2 s" and lock.exists()
    with lock.open() as file:
        deadline = time.monotonic() + 60
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, "the program goes on"
                time.sleep(0.05)


def test_recipes_are_listed_with_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == find(FOLDER)
    assert any(line.endswith("needs faiss-cpu of PyPI") for line in told)


def test_what_is_missing_is_told_first(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "_is_there", lambda _: False)
    monkeypatch.setattr(needs, "_run", lambda _, command: print(" ".join(command)))
    needs.install(load(FOLDER, "duckdb"))
    told = capsys.readouterr()
    assert "duckdb: installing duckdb from PyPI into" in told.err and told.out.endswith("duckdb\n")


@pytest.mark.parametrize(("arguments", "said"), [
    (["run"], "no recipe was named; there are dlrm, duckdb,"),
    (["run", "memcachd"], "no recipe 'memcachd' (did you mean memcached?); there are"),
    (["list", "--recipes", "/nowhere"], "no recipes in /nowhere"),
    (["run", "moe", "--sluice", "nosuch"], "--sluice nosuch: no such file; give the path of"),
    (["run", "moe", "--sluice", __file__], f"--sluice {__file__}: not an executable file; give"),
    (["run", "moe", "--sluice", "/bin/true", "--out", "/proc/none"],
     "--out /proc/none: No such file or directory; name another folder"),
    (["run", "moe", "--sluice", "/bin/true", "--out", __file__],
     "a file is where the folder of results would be; name another folder by --out"),
])
def test_bad_input_is_told(
        capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "said"), [
    (["moe"], "moe is a recipe; `sluice recipe run moe` runs it; see `sluice recipe --help`"),
    (["run", "moe", "--smal"], "unrecognized arguments: --smal; see `sluice recipe --help`"),
    (["lst"], "argument list|run: invalid choice: 'lst' (choose from 'list', 'run'); see"),
])
def test_a_mistake_of_the_command_line_is_one_line(
        capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    told = capsys.readouterr().err
    assert ended.value.code == 2 and told.startswith(f"sluice recipe: {said}"), told
    assert told.count("\n") == 1
