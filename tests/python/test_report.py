"""Does the page say what the run folders say? Numbers, errors and partial runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import runs

from sluice.report import main, units
from sluice.report.charts import charts, requests_without_miss
from sluice.report.folder import load_runs
from sluice.report.histogram import Histogram
from sluice.results import KINDS, SCHEMAS


class Metrics(HTMLParser):
    """Text by (run, metric) in the cards and by metric in the tables."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cards: dict[tuple[str, str], str] = {}
        self.rows: dict[str, list[list[str]]] = {}
        self.ids: list[str] = []
        self.text = ""
        self._run = self._metric = ""
        self._in = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"] or "")
        self._run = found.get("data-run") or self._run
        if "data-metric" in found:
            self._metric = found["data-metric"] or ""
            if tag == "tr":
                self.rows.setdefault(self._metric, []).append([])
        if tag == "td":
            self.rows[self._metric][-1].append("")
        self._in = "value" if found.get("class") == "value" else tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in == "value":
            self.cards[self._run, self._metric] = data
        elif self._in == "td":
            self.rows[self._metric][-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def report(*folders: Path, **changes: str) -> Metrics:
    output = folders[0].parent / "page.html"
    arguments = [*map(str, folders), "-o", str(output)]
    for name, value in changes.items():
        arguments += [f"--{name}", value]
    assert main(arguments) == 0
    return Metrics(output.read_text())


def test_headline_says_what_stats_say(tmp_path: Path) -> None:
    latency = {"modelled": {"count": 20_000, "p50": 40_700, "p99": 52_000},
               "achieved": {"count": 20_000, "p50": 40_904, "p99": 1_234_567}}
    page = report(runs.run(tmp_path / "a", latency_ns=latency))
    assert page.cards["a", "traps"] == "20,000"
    assert page.cards["a", "late"] == "0.40 %"
    assert page.cards["a", "p50"] == "40.9 µs"
    assert page.cards["a", "p99"] == "1.23 ms"
    assert "modelled 40.7 µs, +0.5 %" in page.text
    assert "5,000 per second" in page.text
    assert page.cards["a", "hit-ratio"] == "2.50 %"


def test_notes_are_those_that_the_page_refers_to(tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    assert main([str(runs.run(tmp_path / "a")), "-o", str(output)]) == 0
    page = output.read_text()
    there = re.findall(r'<li id="note-(\w+)">', page)
    links = re.findall(r'<a href="#note-(\w+)">(\d+)</a>', page)
    assert "late" in there and "sampled" not in there, "this run has no sampled hits"
    assert {(slug, str(there.index(slug) + 1)) for slug in there if slug != "histograms"} \
        == set(links)


def test_tables_hold_every_run_in_its_column(tmp_path: Path) -> None:
    first = runs.run(tmp_path / "a")
    second = runs.run(tmp_path / "b", traps=1_234_567, soft=0,
                      flash={"reads": 5, "write_amplification": 1.754})
    page = report(first, second)
    assert page.rows["traps"] == [["20,000", "1,234,567"]]
    assert page.rows["hit-ratio"] == [["2.50 %", "0.00 %"]]
    assert page.rows["flash-reads"] == [["19,500", "5"]]
    assert page.rows["write-amplification"] == [["1.00", "1.75"]]
    assert page.rows["flash-programs"] == [["321", "0"]]
    assert len(page.rows["modelled"]) == len(page.rows["achieved"]) == 2


def test_differing_settings_are_marked_and_others_are_not(tmp_path: Path) -> None:
    first = runs.run(tmp_path / "a")
    second = runs.run(tmp_path / "b", config=runs.CONFIG | {"cache.policy": "lru"})
    output = tmp_path / "page.html"
    assert main([str(first), str(second), "-o", str(output)]) == 0
    marked = re.findall(r'<tr data-metric="([^"]+)" class="marked">', output.read_text())
    assert marked == ["cache.policy"]
    assert Metrics(output.read_text()).rows["cache.policy"] == [["fifo", "lru"]]
    # The others, which are many, are there for readers who open them.
    text = output.read_text()
    folded = text[text.index("<details>"):text.index("</details>")]
    assert f"The other {len(runs.CONFIG) - 1}" in folded
    assert 'data-metric="cache.policy"' not in folded
    assert folded.count("<tr data-metric=") == len(runs.CONFIG) - 1


def test_program_passes_show_their_own_hit_ratio(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    runs.program(folder, hits=0.75)
    page = report(folder)
    shares = [page.rows[f"pass-{number}"][0][7] for number in (1, 2, 3, 4)]
    assert shares == ["60.0 %", "75.0 %", "75.0 %", "75.0 %"]
    # (60 + 3 x 75) / 4 = 71.25, written with three digits.
    assert page.cards["a", "below-1us"] in ("71.2 %", "71.3 %")


def test_requests_without_a_miss_is_a_lower_bound(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "redis")
    runs.program(folder, "redis", passes=1, requests=78_000, errors=0, mismatches=0)
    assert report(folder).cards["redis", "requests-without-miss"] == "≥ 75.0 %"
    few = runs.run(tmp_path / "few")
    runs.program(few, "redis", passes=1, requests=100)
    assert requests_without_miss(load_runs([few])[0]) is None


@pytest.mark.parametrize(("errors", "mismatches", "shown"),
                         [(0, 0, "all right"), (2, 1, "3 wrong")])
def test_wrong_values_are_told(tmp_path: Path, errors: int, mismatches: int, shown: str) -> None:
    folder = runs.run(tmp_path / "a")
    runs.program(folder, "kv", errors=errors, mismatches=mismatches)
    assert report(folder).cards["a", "data-check"] == shown


def test_histogram_agrees_with_sorted_samples() -> None:
    samples = np.random.default_rng(1).integers(1, 500, size=10_000)
    histogram = Histogram.from_pairs([(value, 1) for value in samples])
    ordered = np.sort(samples)
    for share in (0.001, 0.1, 0.5, 0.9, 0.99, 0.9999, 1.0):
        assert histogram.quantile(share) == ordered[int(np.ceil(share * 10_000)) - 1]
    assert histogram.share_below(100) == (samples < 100).mean()
    assert histogram.total == 10_000


def test_curves_are_the_shares_of_the_samples(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    rows = ["latency_ns,modelled,achieved", "40000,3,0", "41000,1,2", "90000,0,2"]
    (folder / "latency.csv").write_text("\n".join(rows))
    made = {chart.slug: chart for chart in charts(load_runs([folder]))}
    modelled, achieved = made["miss-cdf"].series
    assert modelled.xs.tolist() == [40000, 40000, 41000]
    assert modelled.ys.tolist() == [0, 0.75, 1]
    assert achieved.ys.tolist() == [0, 0.5, 1]
    assert [line.ys.tolist() for line in made["miss-tail"].series] == [[1, 0.25], [1, 0.5]]


def test_rates_are_growth_over_time(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    (folder / "timeline.csv").write_text(
        "t_s,traps,misses,soft\n0,0,0,0\n0.5,100,75,25\n1.0,100,75,25\n1.5,400,75,325\n")
    made = {chart.slug: chart for chart in charts(load_runs([folder]))}
    assert made["trap-rate"].series[0].ys.tolist() == [200, 0, 600, 600]
    known = made["hit-ratio"].series[0].ys
    assert known[[0, 2]].tolist() == [0.25, 1.0]
    assert np.isnan(known[1]), "no trap, no ratio"


def test_a_long_timeline_keeps_its_totals(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    lines = [f"{index / 10},{index * 7},{index * 5},{index * 2}" for index in range(5000)]
    (folder / "timeline.csv").write_text("\n".join(["t_s,traps,misses,soft", *lines]))
    chart = {chart.slug: chart for chart in charts(load_runs([folder]))}["trap-rate"]
    assert len(chart.series[0].xs) <= 241
    assert np.allclose(chart.series[0].ys, 70)


def test_a_heat_map_has_a_rate_for_each_place_and_time(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    # Pages 128 to 255 from 0 to 0.5 s, pages 384 to 511 from 0.5 to 1 s, the last column shorter.
    (folder / "heat.csv").write_text(
        "from_s,to_s,first_page,pages,misses\n0,0.5,128,128,50\n0.5,1,384,128,100\n"
        "1,1.25,128,128,10\n")
    chart = {chart.slug: chart for chart in charts(load_runs([folder]))}["heat-0"]
    assert chart.x_range == (0, 1.25)
    assert chart.y_range == (0.5, 2), "MiB"
    assert chart.image.cells.tolist() == [[100, 0, 40], [0, 0, 0], [0, 200, 0]]
    page = report(folder)
    assert "heat-0" in page.ids and "512 KiB" in page.text


def test_programs_that_end_at_once_have_their_place_in_a_heat_map(tmp_path: Path) -> None:
    """The times of a file are rounded, so that such a program has cells without a length."""
    folder = runs.run(tmp_path / "a")
    (folder / "heat.csv").write_text(
        "from_s,to_s,first_page,pages,misses\n0,0.5,128,128,50\n0.5,0.5,128,128,10\n"
        "0.5,1,128,128,100\n")
    chart = {chart.slug: chart for chart in charts(load_runs([folder]))}["heat-0"]
    assert chart.image.cells.tolist() == [[100, 220]]
    assert chart.x_range == (0, 1)


def test_a_heat_map_of_a_steady_program_is_even_however_it_ends(tmp_path: Path) -> None:
    """A short last column once stood on top of what the one before it had."""
    folder = runs.run(tmp_path / "a")
    for end in (40.05, 40.3, 40.5, 40.95, 41):
        lines = [f"{at},{min(at + 1, end)},0,128,{100 * min(1, end - at):.3f}" for at in range(41)]
        (folder / "heat.csv").write_text(
            "\n".join(["from_s,to_s,first_page,pages,misses", *lines]))
        chart = {chart.slug: chart for chart in charts(load_runs([folder]))}["heat-0"]
        assert chart.image.cells.shape == (1, 41) and np.allclose(chart.image.cells, 100, rtol=1e-3)
        assert chart.x_range == (0, end) and chart.image.until == 41


HEADER = "t_s,traps,misses,soft\n"


@pytest.mark.parametrize("rows", ["", HEADER, HEADER + "0,1,1,0\n", None],
                         ids=["empty", "header", "one-row", "absent"])
def test_a_run_cut_short_still_has_a_page(tmp_path: Path, rows: str | None) -> None:
    folder = runs.run(tmp_path / "a")
    (folder / "timeline.csv").unlink()
    if rows is not None:
        (folder / "timeline.csv").write_text(rows)
    page = report(folder)
    assert "No timeline was recorded" in page.text
    assert "trap-rate" not in page.ids and "miss-cdf" in page.ids


def test_a_run_without_traps_still_has_a_page(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a", traps=0, latency_ns={}, late=0)
    (folder / "latency.csv").write_text("latency_ns,modelled,achieved\n")
    page = report(folder)
    assert "No miss was timed" in page.text
    assert page.cards["a", "p50"] == "–"


def test_a_field_that_no_result_has_cannot_be_asked_for(tmp_path: Path) -> None:
    stats = load_runs([runs.run(tmp_path / "a")])[0].stats
    assert stats.number("late", "ratio") == 0.004
    with pytest.raises(KeyError, match="no result has a field late.ration"):
        stats.number("late", "ration")
    with pytest.raises(KeyError, match="no result has a field soft"):
        stats.tables("processes")[0].number("soft")


def test_a_failed_program_is_told(tmp_path: Path) -> None:
    assert "exit code 3" in report(runs.run(tmp_path / "a", exit={"code": 3})).text
    assert "signal 9" in report(runs.run(tmp_path / "b", exit={"signal": 9})).text


def test_a_simulation_has_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "sim"
    folder.mkdir()
    stats = {"schema": "sluice.run/1", "kind": "sim", "device": "cylon", "config": runs.CONFIG,
             "seed": 1, "hits_visible": "all",
             "cache": {"hits": 30, "misses": 10, "hit_ratio": 0.75}}
    (folder / "stats.json").write_text(json.dumps(runs.whole(KINDS["sim"], stats)))
    page = report(folder)
    assert "1 simulated run" in page.text
    assert page.cards["sim", "hit-ratio"] == "75.0 %"
    assert page.cards["sim", "misses"] == "10", "a simulation has no traps"
    assert ("sim", "traps") not in page.cards and "traps" not in page.rows
    assert "what the program got" not in page.text, "no program ran"
    assert "No timeline" not in page.text
    assert "No miss was timed" not in page.text, "it is timed in virtual time"
    assert "access-cdf" not in page.ids


def test_a_simulation_that_counted_latencies_has_a_picture_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "sim"
    folder.mkdir()
    stats = {"schema": "sluice.run/1", "kind": "sim", "config": runs.CONFIG,
             "latency_ns": {"histogram": [[150, 30], [40_000, 10]]}}
    (folder / "stats.json").write_text(json.dumps(runs.whole(KINDS["sim"], stats)))
    chart = {chart.slug: chart for chart in charts(load_runs([folder]))}["access-cdf"]
    assert chart.series[0].xs.tolist() == [150, 150, 40_000]
    assert chart.series[0].ys.tolist() == [0, 0.75, 1]
    assert "access-cdf" in report(folder).ids


def test_a_guest_has_a_page(tmp_path: Path) -> None:
    """What a guest works at is an object, and not a name as of a simulation."""
    folder = tmp_path / "vm"
    folder.mkdir()
    stats = runs.whole(KINDS["vm"], {"schema": "sluice.run/1", "kind": "vm", "config": runs.CONFIG,
                                     "command": ["qemu", "-m", "2G"], "workload": {},
                                     "vm": {}})
    assert stats["workload"], "an object with its fields"
    (folder / "stats.json").write_text(json.dumps(stats))
    assert "qemu -m 2G" in report(folder).text
    # What the user asked for is known: QEMU's arguments are not what to repeat.
    (folder / "command.json").write_text(json.dumps(runs.whole(SCHEMAS["command"], {
        "schema": "sluice.command/1", "arguments": ["vm", "--demo", "--set", "a=b c"]})))
    told = report(folder).text
    assert "sluice vm --demo --set 'a=b c'" in told and "qemu -m 2G" not in told
    # A baseline seemed to be a run whose device nobody used.
    baseline = "The same machine without the device (--baseline): nothing was trapped."
    for emulated in (True, False):
        stats["vm"]["emulated"] = emulated
        (folder / "stats.json").write_text(json.dumps(stats))
        assert (baseline in report(folder).text) is not emulated


def test_a_device_that_sees_no_hit_has_no_picture_of_hits(tmp_path: Path) -> None:
    """A line at 0 % passed for a measurement."""
    folder = runs.run(tmp_path / "a")
    (folder / "timeline.csv").write_text("t_s,traps,misses,soft\n0,0,0,0\n0.5,100,100,0\n")
    made = {chart.slug for chart in charts(load_runs([folder]))}
    assert "trap-rate" in made and "hit-ratio" not in made


BREAK = {
    "no folder": (lambda f: f.rename(f.with_name("gone")), "does not exist"),
    "no stats": (lambda f: (f / "stats.json").unlink(), "stats.json does not exist"),
    "not JSON": (lambda f: (f / "stats.json").write_text('{"schema": '), "not valid JSON"),
    "not an object": (lambda f: (f / "stats.json").write_text("[1]"), "holds no JSON object"),
    "not UTF-8": (lambda f: (f / "stats.json").write_bytes(b"\xff\xfe{"), "cannot be read"),
    "NaN": (lambda f: (f / "stats.json").write_text('{"wall_s": NaN}'), "NaN is not"),
    "a number beyond floats": (lambda f: edit(f, traps=10**400), "is too large, expected at most"),
    "an infinite float": (lambda f: (f / "stats.json").write_text('{"wall_s": 1e400}'),
                          "the number 1e400 is too large"),
    "a large count": (lambda f: cell(f, "latency.csv", "1,1e300,0"), "latency.csv:2"),
    "deep": (lambda f: (f / "stats.json").write_text("[" * 100_000), "not valid JSON"),
    "schema": (lambda f: edit(f, schema="sluice.run/9"), 'expected "sluice.run/1"'),
    "no schema": (lambda f: edit(f, schema=None), 'schema is null, expected "sluice.run/1" or'
                  ' "sluice.size/1" or "sluice.curve/1"'),
    "a word for a number": (lambda f: edit(f, traps="many"), 'traps is "many", expected a whole'),
    "no count of traps": (lambda f: edit(f, traps=...), "stats.json: the result lacks traps"),
    "a list for a table": (lambda f: edit(f, cache=[1]), "cache is [1], expected an object"),
    "a number in a command": (lambda f: edit(f, command=[1]), "command[0] is 1, expected a text"),
    "latency cell": (lambda f: cell(f, "latency.csv", "x"), 'latency.csv:2: "x" is not a row'),
    "negative count": (lambda f: cell(f, "latency.csv", "1,-1,0"), "latency.csv:2"),
    "infinite count": (lambda f: cell(f, "latency.csv", "1,inf,0"), "latency.csv:2"),
    "latency header": (lambda f: (f / "latency.csv").write_text("a,b\n"), "no column latency_ns"),
    "timeline cell": (lambda f: cell(f, "timeline.csv", "1,2"), "timeline.csv:2"),
    "time backwards": (lambda f: (f / "timeline.csv").write_text(
        "t_s,traps,misses,soft\n2,0,0,0\n1,0,0,0\n"), "t_s goes backwards"),
    "heat cell": (lambda f: (f / "heat.csv").write_text(
        "from_s,to_s,first_page,pages,misses\n1,0.5,0,64,3\n"),
                  "its cells must end after they begin"),
    "another kind": (lambda f: edit(f, kind="fabric"),
                     'a report draws no result of kind "fabric", only run, sim, vm, size and curve;'
                     " its figures are in this file, and `sluice sweep` draws"),
    "another result": (lambda f: edit(f, schema="sluice.files/1"),
                       'a report draws no result with schema "sluice.files/1", only run, sim, vm,'),
    "program schema": (lambda f: (f / "program.json").write_text('{"schema":"x"}'),
                       'expected "sluice.workload/1"'),
    "program histogram": (lambda f: (f / "program-x.json").write_text(
        '{"schema":"sluice.workload/1","histogram":[[1]]}'), "pairs of latency in ns and count"),
}


def edit(folder: Path, **changes: object) -> None:
    path = folder / "stats.json"
    stats = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: is_ for name, is_ in stats.items() if is_ is not ...}))


def cell(folder: Path, name: str, row: str) -> None:
    lines = (folder / name).read_text().splitlines()
    lines[1] = row
    (folder / name).write_text("\n".join(lines))


@pytest.mark.parametrize("what", BREAK)
def test_bad_input_is_one_clear_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    damage, message = BREAK[what]
    folder = runs.run(tmp_path / "a")
    damage(folder)
    output = tmp_path / "out.html"
    assert main([str(folder), "-o", str(output)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("sluice report: ") and told.err.count("\n") == 1
    assert message in told.err
    assert str(tmp_path) in told.err
    assert not output.exists()


def test_one_folder_twice_is_refused(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs.run(tmp_path / "a")
    assert main([str(folder), str(folder)]) == 2
    assert "given twice" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_named(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs.run(tmp_path / "run")
    page = tmp_path / "none" / "page.html"
    assert main([str(folder), "-o", str(page)]) == 2
    assert capsys.readouterr().err == (f"sluice report: {page}: No such file or directory; "
                                       "expected a file that can be written\n")


@pytest.mark.parametrize(("page", "named"), [("stats.json", "give its folder, {0}"),
                                             ("full", "/dev/full: No space left on device;")])
def test_what_to_do_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], page: str,
                            named: str) -> None:
    folder = runs.run(tmp_path / "run")
    words = [str(folder / page)] if page == "stats.json" else [str(folder), "-o", "/dev/full"]
    assert main(words) == 2
    assert named.format(folder) in capsys.readouterr().err


def test_kinds_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, curve = runs.run(tmp_path / "run"), tmp_path / "curve"
    curve.mkdir()
    (curve / "stats.json").write_text('{"schema": "sluice.curve/1"}')
    assert main([str(folder), str(curve)]) == 2
    assert "a curve, beside a run; a report is of one kind" in capsys.readouterr().err


def test_a_folder_with_a_page_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "index.html").write_text("<p>")
    assert main([str(tmp_path)]) == 2
    assert f"open the page that is there, {tmp_path / 'index.html'}" in capsys.readouterr().err


def test_names_in_a_run_cannot_become_markup(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "<b>x&", command=["<script>alert(1)</script>"], device="<i>",
                      config={"<u>": "<s>"}, place="\"'><img>")
    output = tmp_path / "page.html"
    assert main([str(folder), "-o", str(output), "--title", "<h3>&"]) == 0
    page = output.read_text()
    for element in ("<script", "<b>x", "<i>", "<u>", "<s>", "<img", "<h3>"):
        assert element not in page
    assert "<script>alert(1)</script>" in Metrics(page).text


def test_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    folders = [runs.run(tmp_path / name) for name in "ab"]
    runs.program(folders[0])
    page = (tmp_path / "page.html")
    assert main([*map(str, folders), "-o", str(page)]) == 0
    text = page.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall(r"(?:https?:)?//[a-z]", text) == []
    assert set(re.findall(r'(?:src|href)="([^"#]*)', text)) <= {"", "data:,"}
    assert "<script" not in text
    assert re.findall(r"#f[de]00\w\w", text) == [], "a colour that follows no theme"


def test_ids_are_unique_and_links_lead_somewhere(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    runs.program(folder)
    page = report(folder)
    assert len(set(page.ids)) == len(page.ids)
    text = (tmp_path / "page.html").read_text()
    for target in re.findall(r'(?:href="|url\()#([^")]+)', text):
        assert target in page.ids


def test_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    runs.program(folder)
    pages = []
    for hash_seed in ("1", "2"):
        output = tmp_path / f"{hash_seed}.html"
        subprocess.run([sys.executable, "-m", "sluice.report", str(folder), "-o", str(output)],
                       check=True, env={"PYTHONHASHSEED": hash_seed, "PATH": "",
                                        "PYTHONPATH": ":".join(sys.path)})
        pages.append(output.read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize(("share", "told", "least"), [
    (1.0, "100.0 %", "≥ 100.0 %"), (0.99985, "99.98 %", "≥ 99.9 %"),
    (0.99996, "> 99.99 %", "≥ 99.9 %"), (0.98765, "98.8 %", "≥ 98.7 %"),
    (0.29, "29.0 %", "≥ 29.0 %"), (0.05678, "5.68 %", "≥ 5.67 %"), (0.0, "0.00 %", "≥ 0.00 %")])
def test_nearly_all_is_not_all_and_a_lower_bound_is_rounded_down(
        share: float, told: str, least: str) -> None:
    assert (units.percent(share), units.at_least(share)) == (told, least)


def test_labels_tell_folders_of_one_name_apart(tmp_path: Path) -> None:
    folders = [runs.run(tmp_path / name / "out") for name in ("x", "y")]
    assert [run.label for run in load_runs(folders)] == ["x/out", "y/out"]


def test_many_runs_fit_on_one_page(tmp_path: Path) -> None:
    folders = [runs.run(tmp_path / f"run{index}") for index in range(10)]
    page = report(*folders)
    assert len(page.rows["traps"][0]) == 10
