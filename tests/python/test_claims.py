"""Is a verdict what the numbers say, on both sides of every limit?"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.errors import ExperimentError
from sluice.reproduce import spec
from sluice.reproduce.claims import (
    CONSISTENT,
    CONTRADICTS,
    DIFFERS,
    MATCH,
    TREND,
    UNCHECKED,
    Claim,
    Judged,
    read_claim,
)
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid, number_of, numbers_of
from sluice.reproduce.judge import judge
from sluice.reproduce.section import Section
from sluice.reproduce.tolerance import Tolerance
from sluice.reproduce.verdict import Counts, verdict

ROOT = Path(__file__).parents[2] / "experiments"
BECAUSE = [{"says": "s", "value": "1"}]
LINE = Grid({"x": ("1us", "2us", "4us")}, {("1us",): 1.0, ("2us",): 2.0, ("4us",): 4.0})
TABLE = Grid({"w": ("a", "b"), "s": ("one", "two")}, {
    ("a", "one"): 8.0, ("a", "two"): 2.0, ("b", "one"): 9.0, ("b", "two"): 1.0})
GAPS = Grid(TABLE.axes, {cell: v for cell, v in TABLE.cells.items() if cell != ("b", "two")})
KNOWN = {"line": LINE, "gaps": GAPS, "spaces": Grid({"w": ("a", "a b"), "s": ("b c", "c")}, {
            ("a", "b c"): 1.0, ("a b", "c"): 2.0, ("a", "c"): 3.0, ("a b", "b c"): 4.0}),
         "other": Grid({"x": ("1us", "2us")}, {("1us",): 1.0, ("2us",): 2.0}),
         "table": TABLE, "five": Grid.one(5),
         "held": Grid.one([[1, 2], [10, 1], [100, 1]]), "nothing": Grid.one([[5, 0], [6, 0]]),
         "counts": Grid.one([0, 3, 1]),
         "points": Grid.one([[0, 1], [1, 3], [2, 5.5], [3, None]])}


def value(text: str) -> object:
    return Formula(text)(KNOWN).only


@pytest.mark.parametrize(("text", "wanted"), [
    ("1 + 2 * five", 11), ("-five + 2 ** 3", 3), ("sum(known(gaps))", 19),
    ("sum(line)", 7), ("mean(line, 'x')", 7 / 3), ("geomean(line, 'x')", 2),
    ("harmean(line, 'x')", 3 / 1.75), ("argmin(abs(line - 2), 'x')", 2e-6),
    ("at(table, w='a', s='two')", 2),
    ("geomean(at(table, s='one') / at(table, s='two'), 'w')", 6),
    ("count(table > 1, 'w', 's')", 3), ("max(min(table, 's'), 'w')", 2),
    ("sum(pick(table, s=('two',)))", 3), ("all(table > 0) and five > 4", True),
    ("share_within(held, 10)", 0.75), ("quantile(held, 0.5)", 1), ("quantile(held, 0.51)", 10),
    ("share_within(pairs(counts), 1)", 0.75), ("total(counts)", 4),
    ("slope(points)", 2.25), ("correlation(points)", 0.997949),
    ("at(line, x='2us') == 2", True),
    # Labels whose words are the same in a row are still two places.
    ("sum(spaces)", 10), ("count(spaces > 0)", 4), ("argmax(line)", 4e-6),
    ("sum(pick(line, x=('1us', '2us')) * other)", 5),
    ("sum(where(line, line > 1))", 6), ("sum(where(table, at(table, s='one') > 8))", 10),
])
def test_formulas(text: str, wanted: object) -> None:
    assert value(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", [
    "__import__('os')", "five.real", "[1, 2]", "open('x')", "line[0]", "(lambda: 1)()", "five +",
    "at(line, y='2us')", "at(line, x='3us')", "line", "at()", "'text'", "where(line)",
    # A truth is no number to divide by, and a number no truth.
    "five / (five > 9)", "1 + (five > 1)", "-(five > 1)", "count(line)", "all(line)",
    "where(line, line)", "five and five > 1",
    # No mean of a line with a gap, no labels that one side lacks, no label of two axes.
    "mean(gaps)", "max(mean(gaps, 'w'), 's')", "sum(line * other)", "argmax(table)",
    # Nor an argument that would be passed over.
    "sum(at(line, '2us'))", "sum(pick(line, '2us'))", "sum(mean(table, axis='w'))", "abs(five, 3)",
    "known(five, 'x')", "sum(where(line, line > 1, x='2us'))", "at(five)"])
def test_what_a_formula_cannot_do_is_an_error(text: str) -> None:
    with pytest.raises(ExperimentError):
        value(text)


@pytest.mark.parametrize("text", [
    "five / 0 > 1", "five / 0 != 1", "count(line / (line - 1) > 0)", "all(line / (line - 1) > 0)",
    "five / 0 > 1 and five > 1", "mean(line / (line - 1))",
    # One run that counted nothing must not take the results of the others with it.
    "log(five - five)", "log(1 - five)", "harmean(line - 1)", "harmean(table - table)",
    "(five - five) ** (1 - 2)", "(1 - five) ** 0.5", "five ** five ** five",
    "quantile(nothing, 0.5) > 1", "share_within(nothing, 9) > 0"])
def test_of_what_is_no_number_nothing_is_true(text: str) -> None:
    assert math.isnan(float(value(text)))  # type: ignore[arg-type]


def test_what_does_not_depend_on_the_unknown_is_known() -> None:
    assert value("five / 0 > 1 or five > 1") is True
    assert value("five / 0 > 1 and five > 9") is False


def test_numbers_in_labels() -> None:
    assert [number_of(text) for text in ("2us", "64MiB", "24", "1.5ms", "2TB", "3kB")] == \
        pytest.approx([2e-6, 2**26, 24, 1.5e-3, 2e12, 3e3])
    assert math.isnan(number_of("ULL2")) and math.isnan(number_of("2x"))


@pytest.mark.parametrize(("labels", "wanted"), [
    (["4K", "1M", "1GiB"], [2**12, 2**20, 2**30]), (["500kB", "2M"], [5e5, 2**21]),
    (["500k", "2M"], [5e5, 2e6]), (["1T"], [2**40]), (["\N{MICRO SIGN}s", "2\N{MICRO SIGN}s"],
                                                      [math.nan, 2e-6]),
    (["8GB/s", "16GB/s"], [8e9, 16e9])])
def test_a_short_unit_is_of_sizes_where_others_are(labels: list[str], wanted: list[float]) -> None:
    assert numbers_of(labels) == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize(("text", "near", "far"), [
    ("25 %", (4, 4.99), (4, 5.01)), ("25 %", (4, 3.01), (4, 2.99)),
    ("10 points", (0.75, 0.849), (0.75, 0.851)), ("factor 3", (6, 2.01), (6, 1.99)),
    ("factor 3", (6, 17.9), (6, 18.1)), ("by 0.5", (0, -0.49), (0, 0.51)),
])
def test_both_sides_of_a_tolerance(
        text: str, near: tuple[float, float], far: tuple[float, float]) -> None:
    allowed = Tolerance.read(text)
    assert allowed.allows(*near) and not allowed.allows(*far)
    assert not allowed.allows(1, math.nan) and not allowed.allows(math.nan, 1)


@pytest.mark.parametrize("text", ["25", "% 25", "", "ten %", "-5 %", "1.2.3 %", ". %"])
def test_other_words_are_no_tolerance(text: str) -> None:
    with pytest.raises(ValueError, match="25 %"):
        Tolerance.read(text)


def claim(kind: str, ours: Grid, published: Grid | None = None, **more: object) -> Judged:
    formula = Formula("published") if published else None
    known = {"ours": ours, **({"published": published} if published else {})}
    made = Claim("claims[1]", kind, "says", "place", "", "", "why", Tolerance.read("10 %"),
                 published=formula, ours=Formula("ours"), axis="x")
    return judge(replace(made, **more), known)


def along(*values: float) -> Grid:
    return Grid({"x": tuple("abcdef"[:len(values)])}, dict(zip(
        [(one,) for one in "abcdef"], values, strict=False)))


@pytest.mark.parametrize(("ours", "outcome"), [
    ((1.0, 2.0, 3.0), MATCH), ((1.0, 2.0, 1.9), DIFFERS), ((1.0, 1.05, 3.0), MATCH),
    # Published a and b are 5 % apart: they may be in any order.
    ((1.3, 1.0, 3.0), MATCH),
])
def test_orders_of_published_values(ours: tuple[float, ...], outcome: str) -> None:
    assert claim("order", along(*ours), along(1.0, 1.05, 2.0)).outcome == outcome


def test_ties_do_not_depend_on_the_order_of_labels() -> None:
    # 1.0 is 10.7 % below 1.12, which is 12 % above it: a tolerance of 11 % is of the larger one.
    for names in ("ab", "ba"):
        told = {"a": 1.0, "b": 1.12}
        grid = Grid({"x": tuple(names)}, {(name,): told[name] for name in names})
        with pytest.raises(ExperimentError, match="nothing to bring into an order"):
            claim("order", grid, grid, tolerance=Tolerance.read("11 %"))
        assert claim("trend", grid, trend="flat", tolerance=Tolerance.read("11 %")).outcome == MATCH


@pytest.mark.parametrize(("ours", "outcome"), [((2.0, 1.0), MATCH), ((1.05, 1.0), DIFFERS)])
def test_as_good_as_equal_is_not_larger(ours: tuple[float, ...], outcome: str) -> None:
    order = ((",", "a"), (",", "b"))
    assert claim("order", along(*ours), order=order).outcome == outcome
    assert claim("order", along(*ours), along(2.0, 1.0)).outcome == outcome


@pytest.mark.parametrize("kind", ["value", "ratio", "order"])
def test_what_was_published_and_not_measured_does_not_pass(kind: str) -> None:
    with pytest.raises(ExperimentError, match="c"):
        claim(kind, along(1.0, 2.0), along(1.0, 2.0, 3.0))
    gap = Grid({"x": ("a", "b")}, {("a",): 1.0})
    with pytest.raises(ExperimentError, match="b"):
        claim(kind, gap, along(1.0, 2.0))
    # What nobody published has nothing to stand beside.
    assert claim(kind, along(1.0, 2.0, 9.0), along(1.0, 2.0)).outcome == MATCH


@pytest.mark.parametrize(("ours", "outcome"), [
    ((3, 2, 2.1, 1), MATCH), ((3, 2, 2.3, 1), DIFFERS), ((2, 3, 3, 1), DIFFERS),
    ((3, 2, 2, 2.1), DIFFERS), ((3, 2, 2, 1.9), DIFFERS),
])
def test_orders_in_words(ours: tuple[float, ...], outcome: str) -> None:
    order = (("=", "a"), ("=", "b", "c"), (",", "d"))
    assert claim("order", along(*ours), order=order).outcome == outcome


@pytest.mark.parametrize(("trend", "ours", "good"), [
    ("rises", (1, 2, 3), True), ("rises", (1, 2, 1.9), True), ("rises", (1, 2, 1.7), False),
    ("rises", (1, 1.05), False), ("falls", (3, 2, 1), True), ("falls", (1, 2), False),
    ("flat", (1, 1.05, 1.1), True), ("flat", (1, 1.2, 1), False),
    ("valley", (3, 1, 2), True), ("valley", (1, 2, 3), False), ("peak", (1, 3, 2), True),
    ("rises", (1, math.nan, 3), False),
    # Small steps back add up, also beside a turn.
    ("rises", (100, 95, 90, 85, 80, 120), False), ("falls", (50, 54, 58, 62, 40), False),
    ("peak", (1, 3, 2.8, 2.6, 4, 1), False), ("valley", (9, 5, 5.2, 5.5, 1, 3), True),
    ("rises", (0, 1, 1, 2), True),
])
def test_trends(trend: str, ours: tuple[float, ...], good: bool) -> None:
    assert claim("trend", along(*ours), trend=trend).outcome == (MATCH if good else DIFFERS)


def test_verdict_of_several_claims() -> None:
    value_off = claim("value", along(2.0), along(1.0))
    ratio_off = claim("ratio", along(3.0), along(2.0))
    ratio_wrong = claim("ratio", along(0.9), along(2.0))
    range_off = claim("range", along(3.0), high=Formula("1"))
    order = claim("order", along(1.0, 2.0), along(1.0, 2.0))
    against = replace(value_off, outcome=CONTRADICTS)
    unknown = replace(value_off, outcome=UNCHECKED)
    assert (value_off.outcome, ratio_off.outcome, ratio_wrong.outcome) == (DIFFERS, TREND, DIFFERS)
    assert verdict([order]) == verdict([order, unknown]) == MATCH
    assert verdict([order, ratio_off]) == TREND
    # Each of these breaks "trend only", and a contradiction breaks a match.
    for worse in (value_off, ratio_wrong, range_off):
        assert worse.outcome == DIFFERS and verdict([order, ratio_off, worse, against]) == DIFFERS
    assert verdict([order, ratio_off, against]) == CONTRADICTS
    assert verdict([unknown]) == UNCHECKED and verdict([]) == DIFFERS
    # A claim that is not consistent shows nothing, and without claims nothing matches.
    assert verdict([order], [value_off]) == DIFFERS and verdict([], [order]) == CONSISTENT
    assert verdict([], [value_off]) == DIFFERS
    # A check that this host cannot show counts no more than such a claim.
    assert verdict([order], [unknown]) == MATCH and verdict([], [unknown, order]) == CONSISTENT
    assert verdict([], [unknown]) == UNCHECKED
    assert verdict([order], [unknown, value_off]) == DIFFERS


def test_what_is_no_number_is_the_worst_of_a_range() -> None:
    judged = claim("range", along(9.0, math.nan, 2.0), low=Formula("1"), high=Formula("3"))
    assert judged.outcome == DIFFERS
    worst = judged.worst()
    assert (worst.where, worst.distance, worst.excess) == (("b",), "no number", math.inf)


@pytest.mark.parametrize(("own", "problem"), [
    ({"kind": "range", "ours": "1", "why": "w"}, "claims.from: a range has from, to or both"),
    ({"kind": "contradiction", "holds": "1 < 2"}, "claims.because: a contradiction has a reason"),
    ({"kind": "contradiction", "holds": "1 < 2", "because": BECAUSE}, "claims.ours: is missing"),
    ({"kind": "contradiction", "holds": "1 < 2", "because": BECAUSE, "ours": "1", "why": "w"},
     "claims.from: a contradiction compares ours with published"),
    ({"kind": "contradiction", "holds": "1 < 2", "because": BECAUSE, "ours": "1", "why": "w",
      "published": "2"}, "claims.tolerance: is missing")])
def test_a_claim_that_cannot_fail_is_refused(own: dict[str, object], problem: str) -> None:
    with pytest.raises(ExperimentError, match=problem):
        read_claim(Section(Path("e.toml"), "claims", {"says": "s", "place": "p", **own}))


@pytest.mark.parametrize(("ours", "holds", "outcome"), [
    (1.05, "1 < 2", MATCH), (1.05, "2 < 1", MATCH), (1.2, "1 < 2", CONTRADICTS),
    (1.2, "2 < 1", DIFFERS), (math.nan, "1 < 2", DIFFERS)])
def test_what_matches_contradicts_nothing(ours: float, holds: str, outcome: str) -> None:
    measured = Grid.one(ours)
    told = claim("contradiction", measured, Grid.one(1.0), holds=Formula(holds))
    bounds = claim("contradiction", measured, low=Formula("0.9"), high=Formula("1.1"),
                   holds=Formula(holds))
    assert told.outcome == bounds.outcome == outcome
    # The comparison is there to be read, and says whether it will do.
    assert [one.good for one in [*told.findings, *bounds.findings]] == [outcome == MATCH] * 2


@pytest.mark.parametrize(("last", "outcome"), [
    ((3.0, 4.0), MATCH), ((), DIFFERS), ((3.0, math.nan), DIFFERS)])
def test_a_line_of_which_nothing_is_left_does_not_move(
        last: tuple[float, ...], outcome: str) -> None:
    cells = {("p", "a"): 1.0, ("p", "b"): 2.0, **dict(zip(
        [("q", "a"), ("q", "b")], last, strict=False))}
    grid = Grid({"w": ("p", "q"), "x": ("a", "b")}, cells).thin()
    assert claim("trend", grid, trend="rises").outcome == outcome


def test_hops_without_a_latency_do_not_rise() -> None:
    experiment = spec.load(ROOT, "esf/fig11")
    of = next(one for one in experiment.claims if one.trend)
    axes = {"topology": ("chain", "tree"), "placement": ("alternate",), "hops": tuple("1234")}
    counts = Grid(axes, {(t, "alternate", h): float(h != "4") for t in ("chain", "tree")
                         for h in axes["hops"]})

    def judged(of_tree: float) -> str:
        told = {"1": 1.0, "2": 2.0, "3": 3.0, "4": math.nan}
        cells = {(t, "alternate", h): of_tree if (t, h) == ("tree", "2") else told[h]
                 for t, _, h in counts.cells}
        return judge(of, {"requests": counts, "latency": Grid(axes, cells)}).outcome

    # A group of which nobody has requests is none; one that has them and no latency is no rise.
    assert (judged(2.0), judged(math.nan), judged(0.5)) == (MATCH, DIFFERS, DIFFERS)


def test_a_loss_is_not_the_direction_of_a_gain() -> None:
    of = next(one for one in spec.load(ROOT, "esf/fig20").claims if "gain" in one.says)
    assert judge(of, {"gain": Grid.one(0.09)}).outcome == MATCH
    assert judge(of, {"gain": Grid.one(-0.3)}).outcome == DIFFERS


def test_a_factor_that_nothing_can_keep_is_no_tolerance() -> None:
    assert Tolerance.read("factor 1").allows(2.0, 2.0)
    with pytest.raises(ValueError, match="no tolerance: 'factor 0.5'"):
        Tolerance.read("factor 0.5")


def test_counts_of_claims() -> None:
    told = [(MATCH, "strong"), (MATCH, "weak"), (TREND, "strong"), (CONTRADICTS, "medium"),
            (DIFFERS, "strong"), (UNCHECKED, None)]
    assert str(Counts.read(told)) == (
        "2 of 6 claims match, of these 1 strong; 1 only in direction; 1 contradict; 1 differ;"
        " 1 unchecked")
    assert str(Counts.read(told[:1])) == (
        "1 of 1 claims match, of these 1 strong; 0 contradict; 0 differ; 0 unchecked")

    assert Counts.read(told, [MATCH]).sentence == (
        "2 of 6 claims match, 1 matches only in direction, 1 contradicts the paper's set-up,"
        " 1 differs, 1 cannot be checked here, 1 of 1 checks hold")
    assert Counts.read([*told[:1], *told[4:5] * 2]).sentence == "1 of 3 claims match, 2 differ"


def test_what_claims_nothing_counts_its_checks() -> None:
    alone = Counts.read([], [MATCH, MATCH, DIFFERS])
    assert (str(alone), alone.matching) == ("2 of 3 checks hold", "2 of 3 checks")
    both = Counts.read([(MATCH, "weak")], [MATCH])
    assert both.matching == "1 of 1" and str(both) == (
        "1 of 1 claims match, of these 0 strong; 0 contradict; 0 differ; 0 unchecked;"
        " 1 of 1 checks hold")
    neither = Counts.read([])
    assert neither.matching == "0 of 0" and str(neither).startswith("0 of 0 claims match")


def published(name: str) -> dict[str, Grid]:
    """What follows from the published numbers alone."""
    experiment = spec.load(ROOT, name)
    known = experiment.known()
    for derived, formula in experiment.derived.items():
        try:
            known[derived] = formula(known)
        except ExperimentError:
            continue
    return known


def test_sensitivities_may_stand_in_a_file_that_is_included() -> None:
    found = spec.load(ROOT, "skybyte/fig14").sensitivity
    assert found is not None and "host.device_store_index" in [one.name for one in found.opens]


@pytest.mark.parametrize(("name", "count"), [
    ("fig3", 1), ("fig14", 9), ("fig15", 2), ("fig17", 4), ("fig17-dram", 2), ("fig18", 4),
    ("fig23", 1), ("table3", 1)])
def test_what_skybyte_s_numbers_say_of_each_other_follows_from_them(name: str, count: int) -> None:
    known = published(f"skybyte/{name}")
    remarks = spec.load(ROOT, f"skybyte/{name}").remarks
    assert len(remarks) == count
    for one in remarks:
        assert one.holds(known).truth, one.says
        assert all(math.isfinite(formula(known).only) for _, formula, _ in one.because)


def test_published_data_of_skybyte_have_the_means_printed_with_them() -> None:
    """The last row of the data of Figure 14, and the page counts of Figure 18."""
    known = published("skybyte/fig14")
    means = {"skybyte-p": 0.55595, "skybyte-c": 0.66604, "skybyte-w": 0.47033,
             "skybyte-cp": 0.35897, "skybyte-wp": 0.33921, "skybyte-full": 0.21893,
             "dram-only": 0.16975}
    for system, mean in means.items():
        told = Formula(f"1 / at(told_mean, system='{system}')")(known).only
        assert told == pytest.approx(mean, abs=2e-5)
    writes = published("skybyte/fig18")
    assert Formula("geomean(told_full, 'workload')")(writes).only == pytest.approx(20.06, abs=0.01)
    amat = published("skybyte/fig17")
    ratio = "sum(at(told, system='base-cssd')) / sum(at(told, system='skybyte-full'))"
    assert Formula(ratio)(amat).only == pytest.approx(14.13, abs=0.01)


def test_a_collection_of_table_ii_in_numbers() -> None:
    known = published("skybyte/fig3")
    assert known["pages_freed"].only == 5_032_960
    assert known["most_written"].only == 185_067
    assert Formula("given.gc_blocks * given.erase_ms / given.dies")(known).only == \
        pytest.approx(19.2, abs=0.01)
