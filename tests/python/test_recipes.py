"""Do the recipes run at a small size, and is a wrong answer noticed? `make recipes` runs all."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sluice.recipes import FOLDER, main, needs, session
from sluice.recipes.recipe import filled, find, load

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
    assert "<th class=\"number\">misses, whole program</th>" in page
    assert f"<td>{small:,}</td>" in page


@pytest.mark.parametrize("name", [one for one in find(FOLDER)
                                  if not (load(FOLDER, one).python or load(FOLDER, one).debian)])
def test_a_footprint_is_what_the_program_touches(name: str) -> None:
    """Shares of the cache are of it: with twice as much, half of them hold the whole program."""
    one = load(FOLDER, name)
    footprint = int(one.footprint_mib["default"])
    words = [filled(one, word, SLUICE, one.size["default"]) for word in one.program]
    command = [SLUICE, "run", "--json", *(f"--place={what}" for what in one.place),
               "--set", f"device.capacity={8 * footprint}MiB",
               "--set", f"cache.capacity={2 * footprint}MiB", "--", *words]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    misses = [process["misses"] for process in json.loads(told.splitlines()[-1])["processes"]]
    touched = sum(misses) * 4096 / 2**20
    assert 0.65 * footprint < touched < 1.05 * footprint


def test_a_wrong_answer_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(own(tmp_path / "a", LIARS["right"])) == 0
    capsys.readouterr()
    assert main(own(tmp_path / "b", LIARS["wrong"])) == 1
    assert "its answer is another one than without a device" in capsys.readouterr().err
    assert main(own(tmp_path / "c", LIARS["fails"])) == 1
    told = capsys.readouterr()
    assert "fifo: its sums differ" in told.err
    # It answered that no cache was large enough.
    assert told.out.startswith("mine: No run ended well, so nothing is known: its sums differ\n")


@pytest.mark.parametrize(("slowdowns", "warns"), [((1.4, 0.95), False), ((1.4, 0.22), True)])
def test_an_answer_says_that_times_vary_wherever_a_ratio_shows_it(
        slowdowns: tuple[float, ...], warns: bool) -> None:
    """The answer's own ratio passed for good where those of larger caches could not be."""
    rows = [{"problem": "", "slowdown": slowdown, "cache_mib": 8.0 * n, "policy": "fifo"}
            for n, slowdown in enumerate(slowdowns, 1)]
    told = session._answer({"rows": rows, "footprint_mib": 16})
    assert told.startswith("8 MiB of cache with fifo are the least")
    assert ("The least, 0.22 times, shows how much times vary" in told) == warns


@pytest.mark.parametrize(("said", "problem"), [
    ({"seconds": 0, "answer": 1}, "its seconds is 0; a number above 0 was needed"),
    ({"seconds": float("nan"), "answer": 1}, "its seconds is nan; a number above 0"),
    ({"seconds": "fast", "answer": 1}, "its seconds is 'fast'; a number above 0"),
    ({"answer": 1}, "its last line has no seconds"),
    ({"seconds": 1}, "its last line has no answer"),
    ({"seconds": 1, "answer": 1, "told": {"rate": "high"}}, "its rate is 'high'; a number was"),
    ({"seconds": 1, "answer": 1, "told": [2]}, "its told is [2]; an object with numbers"),
    ([1], "its last line is no JSON object"),
])
def test_what_a_program_says_amiss_is_told(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], said: object, problem: str) -> None:
    assert main(own(tmp_path, f"print({json.dumps(said)!r})")) == 2
    told = capsys.readouterr().err
    assert f"failed without a device: {problem}" in told and told.count("\n") == 1


def test_a_brace_that_nothing_fills_is_told(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = own(tmp_path, "")
    file = tmp_path / "recipes" / "mine" / "recipe.toml"
    file.write_text(file.read_text().replace("{folder}", "{floder}"))
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "recipe.toml: program: {floder}/program.py: in braces there are python" in told


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_run_that_takes_too_long_leaves_nothing_behind(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str) -> None:
    monkeypatch.setattr(session, "LIMIT_S", 2)
    monkeypatch.setattr(session, "GRACE_S", 2)
    # A process that has the lock is still there, whatever its parent is.
    lock = tmp_path / "lock"
    script = f"{trap}exec 9>{lock}; flock 9; while :; do sleep 0.1; done"
    told = session._told([str(SLUICE), "run", "--json", "--", "bash", "-c", script])
    assert told == "it took longer than 2 s" and lock.exists()
    await_end(lock)


def await_end(lock: Path) -> None:
    """Waits until nobody has the lock any more."""
    with lock.open() as file:
        deadline = time.monotonic() + 60
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, "the program goes on"
                time.sleep(0.05)


def test_a_program_that_fails_leaves_no_server_and_says_why(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LIMIT_S", 20)
    lock = tmp_path / "lock"
    script = f"exec 9>{lock}; flock 9; sleep 600 & echo 'no memory' >&2; exit 3"
    assert session._told(["bash", "-c", script]) == "no memory"
    await_end(lock)


def test_a_mistake_in_attention_by_pages_is_noticed(tmp_path: Path) -> None:
    text = (FOLDER / "kv-cache" / "program.py").read_text()
    for right in ("keys[layer, one])", "(values[layer, one] for one"):
        assert text.count(right) == 1
        wrong = tmp_path / "program.py"
        wrong.write_text(text.replace(right, right.replace("one]", "table[0]]")))
        done = subprocess.run([sys.executable, wrong, "2"], capture_output=True, text=True,
                              check=False, timeout=60)
        assert "2 of 2 differ from attention without pages" in done.stderr


# A server that answers as no other does, and stays.
ODD_SERVER = """#!{python}
import fcntl, os, socket, sys, time
fcntl.flock(os.open({lock!r}, os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[sys.argv.index("-s" if "-s" in sys.argv else "--unixsocket") + 1])
time.sleep(0.3)
door.listen()
one, _ = door.accept()
one.sendall(b"no\\r\\n")
time.sleep(600)
"""


@pytest.mark.parametrize("name", ["redis", "memcached"])
def test_a_recipe_ends_its_server_whatever_comes(tmp_path: Path, name: str) -> None:
    """A server whose socket is there before it listens was one that refuses connections."""
    lock = tmp_path / "lock"
    server = tmp_path / ("redis-server" if name == "redis" else name)
    server.write_text(ODD_SERVER.format(python=sys.executable, lock=str(lock)))
    server.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen([sys.executable, FOLDER / name / "program.py", "200"],
                          env=os.environ | {"PATH": path}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as program:
        try:
            assert program.wait(60) == 1
            await_end(lock)
            assert program.stderr and "Refused" not in program.stderr.read()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


def test_what_ctrl_c_and_a_failure_leave_is_said_as_it_is(
        tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(own(tmp_path / "a", "sys.exit('no memory')")) == 2
    assert "failed without a device: no memory" in capsys.readouterr().err
    assert not (tmp_path / "a" / "out").exists(), "an empty folder is left"
    run, again = session.run, []

    def twice(*words: object) -> object:
        if again:
            raise KeyboardInterrupt
        again.append(words)
        return run(*words)

    monkeypatch.setattr(session, "run", twice)
    command = own(tmp_path / "b", LIARS["right"])
    out = tmp_path / "b" / "out"
    assert main([*command, "mine"]) == 130
    assert f"the results of mine are in {out}; the same command begins" in capsys.readouterr().err
    assert main(command) == 130
    told = capsys.readouterr().err
    assert "interrupted; no recipe had ended;" in told and "runs are kept" not in told


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
