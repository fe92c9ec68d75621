"""Does the page of an experiment speak to a stranger? Words for labels, and numbers that read."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments import EXPERIMENT, Lab
from matplotlib.figure import Figure
from test_claims import along, claim

from sluice.reproduce import draw, engines, words
from sluice.reproduce.formula import Formula
from sluice.reproduce.tolerance import Tolerance

MORE = """
[[claims]]
kind = "order"
says = "slow takes longer"
place = "3"
axis = "system"
ours = "at(time, load='4us')"
order = "slow > fast"
tolerance = "1 %"
why = "an order"

[[claims]]
kind = "range"
says = "a billion times as long"
place = "VI-B, Figure 2"
ours = "time"
from = 0
to = 1
why = "one bound"

[[claims]]
kind = "value"
says = "what nobody here can say"
place = "Table 1"
published = 0
ours = "at(time, system='slow', load='1us')"
tolerance = "by 1"
why = "an absolute bound"
needs = "given.limit > 10"
lacks = "more room"

[[claims]]
kind = "value"
says = "no time at all"
place = "Table 1"
unit = "s"
published = 0
ours = "at(time, system='slow', load='1us')"
tolerance = "by 1"
why = "an absolute bound"

[[figures]]
kind = "table"
title = "Times"
x = "load"
series = "system"
[[figures.parts]]
title = "time, s"
ours = "time"
[[figures.parts]]
title = "time of a billion, s"
ours = "time * 1000000000"
"""


def text(page: Path) -> str:
    """What a reader sees, on one line."""
    return " ".join(re.sub("<[^>]+>", " ", page.read_text(encoding="utf-8")).split())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lab = Lab(tmp_path_factory.mktemp("lab"), EXPERIMENT + MORE)
    assert lab.run() == 0
    return lab.out / "test" / "fig1" / "index.html"


def test_the_first_sentence_is_the_answer(page: Path) -> None:
    told = text(page)
    first = told.index("claims match")
    assert "In numbers, ten times faster:" in told
    assert first < told.index("In numbers") < told.index("One thread.")


def test_comparisons_name_what_they_are_of_by_titles(page: Path) -> None:
    """It said `slow > fast`, words of the file, where the picture said `Fast`."""
    assert "slow &gt; Fast" in text(page) and "slow &gt; fast" not in text(page)


def test_a_place_says_that_it_is_a_section(page: Path) -> None:
    assert "section 3 " in text(page) and "section VI-B, Figure 2" in text(page)
    assert words.place("Table III") == "Table III" and words.place("4 GHz") == "4 GHz"


def test_tables_of_several_quantities_stand_below_each_other(page: Path) -> None:
    """Beside each other three of six columns each were wider than a screen."""
    tables = re.findall(r'<table class="numbers">.*?</table>', page.read_text(), re.DOTALL)
    assert len(tables) == 2
    for table in tables:
        assert re.findall('<th class="number">(.*?)</th>', table) == ["slow", "Fast"]


def test_numbers_of_a_table_have_no_exponent(page: Path) -> None:
    cells = re.findall(r"<td>\s*([^<\s]+)", page.read_text())
    assert [cell for cell in cells if re.fullmatch(r"[0-9]{1,3}(,000){2,}", cell)]
    assert not [cell for cell in cells if re.fullmatch(r"[0-9.]+e[+-][0-9]+", cell)]


def test_a_bound_has_its_unit() -> None:
    one = claim("value", along(3.0), along(2.5), tolerance=Tolerance.read("by 1"), unit="ns")
    assert words.tolerance(one) == "± 1 ns" and words.distance(one) == "+0.5 ns"
    between = claim("range", along(3.0), low=Formula("1"), high=Formula("5"), unit="pages")
    assert words.published(between) == "1 to 5 pages"


def test_a_guest_that_fails_says_more_than_the_end_of_its_console() -> None:
    told = "sluice: the guest failed: its kernel panicked\n[ 0.06] Code: 00\n[ 0.06]  </TASK>\n"
    failed = engines.outcome(1, "", told, 1.0)
    assert failed.problem == "sluice: the guest failed: its kernel panicked"


@pytest.mark.parametrize(("groups", "series", "room"), [(1, 1, 4.0), (2, 4, 2.0), (2, 1, 4.0)])
def test_bars_have_the_room_of_a_picture(groups: int, series: int, room: float) -> None:
    """One bar is no wall; eight in two groups had half of a picture."""
    axes = Figure().subplots()
    draw.leave_room(axes, np.arange(groups), series)
    low, high = axes.get_xlim()
    assert high - low == room


def test_a_narrow_terminal_has_room_for_every_line_of_the_table(
        tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(tmp_path)
    lab.run()
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lab.run()
    narrow = capsys.readouterr().out
    at_most = {name: max(len(line) for line in told.splitlines() if "index.html" not in line)
               for name, told in (("wide", wide), ("narrow", narrow))}
    assert at_most["wide"] > 60 >= at_most["narrow"], narrow
    words = [{*told.replace(";", "").split()} for told in (wide, narrow)]
    assert words[0] - words[1] <= {"claim"}, narrow


def test_quick_and_full_results_are_not_added_up(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(tmp_path)
    shutil.copytree(lab.root / "test" / "fig1", lab.root / "test" / "fig2")
    assert lab.run("test/fig1") == 0
    capsys.readouterr()
    assert lab.run("test/fig2", "--quick") == 0
    assert "left out, for they are of full runs: test/fig1" in capsys.readouterr().err
    told = (lab.out / "results.md").read_text() + (lab.out / "index.html").read_text()
    assert "2 of 3 claims match" in told and "2 of 6" not in told and "4 of 6" not in told
    assert "test/fig2" in told and "test/fig1" not in told
    # Both of a length stand together.
    assert lab.run("test/fig2") == 0
    assert "4 of 6 claims match" in (lab.out / "results.md").read_text()


def test_a_contradiction_that_comes_out_as_published_is_a_match(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.write(EXPERIMENT.replace("published = 10\n", "published = 4\n"))
    assert lab.run() == 0
    claim = lab.result()["claims"][2]
    assert (claim["kind"], claim["outcome"]) == ("contradiction", "match")
    assert [one["good"] for one in claim["findings"]] == [True]
    assert lab.result()["verdict"] == "match"


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"schema": "other/1", "experiment": "a/b"}'])
def test_a_file_of_another_is_no_result(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """After all runs the session ended with a traceback, and wrote no list of results."""
    lab = Lab(tmp_path)
    other = lab.out / "a" / "b" / "result.json"
    other.parent.mkdir(parents=True)
    other.write_text(text)
    assert lab.run() == 0
    assert f"left out, for it is no result of an experiment: {other}" in capsys.readouterr().err
    assert "2 of 3 claims match" in (lab.out / "results.md").read_text()


@pytest.mark.parametrize(("rows", "told"), [
    ("1us,4,1\n2us,4\n4us,\n", "row 1: not as many cells as there are columns (load, speedup)"),
    ("1us,4\n2us\n4us,\n", "row 2: not as many cells as there are columns"),
    ("1us,9\n1us,4\n2us,4\n4us,\n", "row 2: 1us is in row 1, too"),
])
def test_published_numbers_stand_under_their_heads(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, told: str) -> None:
    """A row without its number was as one that was not published, and of two the last one won."""
    assert Lab(tmp_path, published=f"load,speedup\n{rows}").run() == 2
    assert f"published.csv: {told}" in capsys.readouterr().err


def test_only_a_number_has_a_factor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists, and what is true or false, were passed on without it."""
    pointer = 'time = { pointer = "/wet", factor = 2.0 }'
    assert Lab(tmp_path, EXPERIMENT.replace('time = "/time_s"', pointer)).run() == 1
    assert "metrics.time: factor: only a number can have one, not false" in capsys.readouterr().err
