"""What the conformance runner makes of outcomes. `make test` runs none of the suites."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "conformance"
RUN = FOLDER / "run.py"

UNITTESTS = """
test_one (test.x.T.test_one) ... ok
FAIL: test_two (test.x.T.test_two)
ERROR: test_three (test.x.T.test_three)
Ran 3 tests in 0.1s
"""


def answer(code: str) -> str:
    """Runs code beside the runner's modules, and returns what it prints."""
    script = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import run, suites, reasons\n{code}"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                         check=False, timeout=60)
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


@pytest.mark.parametrize(
    ("native", "live", "told"),
    [
        ("(0, {})", "(0, {})", "same"),
        ("(0, {})", "(-11, {})", "-11"),
        ("(1, {'a': 'FAIL', 'tests': '3'})", "(1, {'a': 'FAIL', 'tests': '3'})", "same"),
        ("(0, {'tests': '3'})", "(1, {'a': 'FAIL', 'tests': '3'})", "1: a"),
        ("(0, {'line 1': 'x'})", "(0, {'line 1': 'y'})", "0: line 1"),
        ("(0, {})", "('hung (9 s)', {})", "hung (9 s)"),
    ],
)
def test_outcomes_are_compared_with_the_native_one(native: str, live: str, told: str) -> None:
    make = "lambda of: run.Outcome(*of, seconds=1, said='')"
    assert answer(f"make = {make}\nprint(make({live}).against(make({native})))") == told


def test_results_of_single_tests_are_read() -> None:
    found = answer(f"print(sorted(suites.unittests({UNITTESTS!r}).items()))")
    assert found == "[('test_three', 'ERROR'), ('test_two', 'FAIL'), ('tests', '3')]"


def test_rows_of_other_suites_stay_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = ["node", "heap", "0", "same", "same", "", "abc"]
    second = ["sqlite", "sqlite", "0", "1: line 2", "same", "event: not known", "abc"]
    again = ["node", "heap", "0", "same", "-7", "signal: not known", "def"]
    answer(f"import pathlib; p = pathlib.Path({str(page)!r}); run.write_page(p, [{first}])\n"
           f"run.write_page(p, [{second}]); run.write_page(p, [{again}])")
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| node", "| sql"))]
    assert rows == [
        "| sqlite | sqlite | 0 | 1: line 2 | same | event: not known | abc |",
        "| node | heap | 0 | same | -7 | signal: not known | def |",
    ]


def test_a_suite_that_is_none_is_refused() -> None:
    out = subprocess.run([sys.executable, RUN, "--only", "sqlight"], capture_output=True, text=True,
                         check=False, timeout=60)
    assert out.returncode == 2 and "sqlight" in out.stderr and "'sqlite'" in out.stderr


def test_every_case_can_be_named() -> None:
    out = subprocess.run([sys.executable, RUN, "--list"], capture_output=True, text=True,
                         check=False, timeout=60)
    assert out.returncode == 0
    assert len(out.stdout.splitlines()) == int(answer("print(len(suites.suites()))"))
