"""Do the pictures of experiments show all that is in them?"""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from sluice import quantity
from sluice.report import sizes, svg, units
from sluice.report.charts import Chart
from sluice.reproduce import draw
from sluice.reproduce.tolerance import Tolerance


def test_a_stack_that_ends_with_nothing_has_room_above() -> None:
    axes = Figure().subplots()
    axes.bar([0], [1.5])
    draw._rest_on_others(axes.bar([0], [0.0], bottom=[1.5]))
    bottom, top = axes.get_ylim()
    assert bottom == 0 and top > 1.5


@pytest.mark.parametrize(("values", "least", "most"), [
    ([100.0, 100.1], 0.0, 104.0), ([1.0, 3.0], 0.0, 3.1), ([-2.0, 1.0], -2.0, 1.1)])
def test_lines_lie_within_their_axis(values: list[float], least: float, most: float) -> None:
    axes = Figure().subplots()
    axes.plot([0, 1], values)
    draw._from_nothing([axes])
    bottom, top = axes.get_ylim()
    assert bottom <= least and top >= most and (bottom == 0) == (least == 0)


@pytest.mark.parametrize(("heights", "scale", "bottom"), [
    ([0.4, 0.6], "linear", 0.0), ([1.0, 20.0], "log", 0.5), ([0.0, 0.0], "log", None)])
def test_bars_are_as_long_as_they_are_high(
        heights: list[float], scale: str, bottom: float | None) -> None:
    """Of 0.4 and 0.6 the first was a line, and the second the height of the picture."""
    axes = Figure().subplots()
    draw.log_scale(axes, "y")
    axes.bar([0, 1], heights)
    draw._feet([axes])
    assert axes.get_yscale() == scale
    assert bottom is None or axes.get_ylim()[0] == bottom


def test_what_was_published_is_within_the_picture() -> None:
    """The axis ended above the bars, and lines across them that lay higher were cut off."""
    axes = Figure().subplots()
    draw.log_scale(axes, "y")
    axes.bar([0, 1], [600.0, 600.0])
    axes.hlines([770.0, 920.0], [-0.4, 0.6], [0.4, 1.4])
    draw._feet([axes])
    assert axes.get_yscale() == "linear" and axes.get_ylim()[1] > 920
    axes.hlines([57_000.0], [0.6], [1.4])
    draw.log_scale(axes, "y")
    draw._feet([axes])
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize(("names", "read"), [
    ("abc", ["abc"]), ("abcdef", ["abc", "def"]), ("abcdefgh", ["abcd", "efgh"]),
    ("abcdefghijk", ["abcd", "efgh", "ijk"])])
def test_a_legend_is_read_along_its_rows(names: str, read: list[str]) -> None:
    figure = Figure()
    axes = figure.subplots()
    lines = [axes.plot([], [])[0] for _ in names]
    legend = figure.legend(lines, draw._by_rows(names), ncols=draw._columns(len(names)))
    figure.draw_without_rendering()
    boxes = [(text.get_window_extent(), text.get_text()) for text in legend.get_texts()]
    lines_of: dict[int, str] = {}
    for _, text in sorted((box.x0, text) for box, text in boxes):
        row = next(round(box.y0) for box, name in boxes if name == text)
        lines_of[row] = lines_of.get(row, "") + text
    assert [lines_of[row] for row in sorted(lines_of, reverse=True)] == read


def test_long_names_are_cut_where_a_legend_has_no_room() -> None:
    """The second of two paths of traces lay beyond the picture."""
    paths = [f"trace:{'folder/' * 15}{number}.slt" for number in range(2)]
    cut = draw._legend_names(paths, 2, 100)
    assert [len(name) for name in cut] == [50, 50]
    assert [(name[:6], name[-5:]) for name in cut] == [("trace:", "0.slt"), ("trace:", "1.slt")]
    # One long name among short ones has their room.
    names = ["x" * 80, "y", "z"]
    assert draw._legend_names(names, 3, 100) == names
    assert [svg.brief("0123456789", most) for most in (10, 9, 4)] == ["0123456789", "0123…6789",
                                                                     "0…89"]


@pytest.mark.parametrize(("panels", "shape"), [
    (1, (1, 1)), (4, (1, 4)), (5, (2, 3)), (7, (2, 4)), (9, (3, 3))])
def test_rows_of_panels_are_alike(panels: int, shape: tuple[int, int]) -> None:
    """Of five panels the fifth stood alone below the others."""
    assert draw._rows_and_columns(panels) == shape


@pytest.mark.parametrize(("count", "told"), [(1, 1), (50, 50), (51, 26), (2000, 50)])
def test_very_many_places_have_some_of_their_words(count: int, told: int) -> None:
    axes = Figure().subplots()
    words = [str(number) for number in range(count)]
    draw._places(axes, np.arange(count), words)
    shown = {int(place): label.get_text() for place, label
             in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)}
    assert len(shown) == told
    assert all(words[place] == word for place, word in shown.items())


def test_a_few_long_words_have_lines_and_are_not_turned() -> None:
    """Turned, they took a third of the picture's height."""
    axes = Figure().subplots()
    words = ["loads in order", "non-temporal stores, stride of 16 KiB", *["stores in order"] * 3]
    draw._places(axes, np.arange(len(words)), words)
    shown = axes.get_xticklabels()
    assert [label.get_text() for label in shown[:2]] == [
        "loads in order", "non-temporal stores,\nstride of 16 KiB"]
    assert all(label.get_rotation() == 0 for label in shown)


@pytest.mark.parametrize(("values", "unit", "words"), [
    ([5710.2, 6100.0], "ns", "5,710 → 6,100 ns"), ([0.6, 0.5991], "fraction", "60 → 59.9 %"),
    ([1.0, 0.585], "", "1 → 0.585"), ([1e7], "", "10,000,000")])
def test_a_row_of_numbers_has_no_exponent(values: list[float], unit: str, words: str) -> None:
    assert quantity.row(values, unit) == words


@pytest.mark.parametrize(("told", "words"), [
    (quantity.number(9999.6), "10,000"), (quantity.number(9999.4, "ns"), "9999 ns"),
    (quantity.number(123.456, "fraction"), "12,346 %"), (quantity.number(-99999), "-99,999"),
    (quantity.number(2**64 - 1), "18,446,744,073,709,551,615"),
    (quantity.short(999.6), "1,000"), (quantity.short(-1234.5, "+"), "-1,234"),
    (quantity.short(0.12345, "+"), "+0.123"), (units.size(16 << 40), "16 TiB"),
    (units.size(20_000 << 40), "20,000 TiB"), (units.size(1023.99 * (1 << 20)), "1024 MiB"),
    (units.short_duration(1.5e12), "1,500 s"), (units.short_duration(999.6), "1 µs"),
    (sizes.size(999.6 * (1 << 20)), "1000 MiB"), (sizes.size(999.4 * (1 << 20)), "999 MiB"),
    (Tolerance.read("factor 2").distance(0.5, 700), "× 1,400"),
    (Tolerance.read("by 2").distance(0, 12345), "+12,345")])
def test_large_numbers_have_no_exponent(told: str, words: str) -> None:
    assert told == words


@pytest.mark.parametrize(("ours", "word"), [
    (2.0, "+100.0 %"), (0.5, "-50.0 %"), (9.9, "+890.0 %"), (251.0, "× 251"), (1e6, "× 1,000,000")])
def test_a_distance_of_many_times_is_a_factor(ours: float, word: str) -> None:
    assert quantity.change(ours, 1.0) == word


@pytest.mark.parametrize(("value", "most", "word"), [
    (0.0, 1.0, "0"), (0.1 + 0.2, 1.0, "0.3"), (1e-6, 1.0, "0.000001"), (2500.0, 5e4, "2,500"),
    (99_000.0, 99_000.0, "99,000"), (500.0, 1e5, "500"), (2500.0, 1e5, "2.5 k"),
    (1e6, 1e6, "1 M"), (-2e6, 2e6, "-2 M"), (1e3, 1e6, "1 k"), (3e9, 5e9, "3 G"),
    (4e15, 4e15, "4,000 T")])
def test_a_number_of_an_axis_is_a_plain_one(value: float, most: float, word: str) -> None:
    assert units.on_axis(value, most) == word


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_no_axis_has_an_exponent(scale: str) -> None:
    canvas = Figure()
    axes = canvas.subplots()
    axes.plot([1, 2e6], [1, 3e7])
    if scale == "log":
        draw.log_scale(axes, "x")
        draw.log_scale(axes, "y")
    else:
        svg.numbers(axes.xaxis)
        svg.numbers(axes.yaxis)
    canvas.draw_without_rendering()
    words = [label.get_text() for axis in (axes.xaxis, axes.yaxis)
             for label in axis.get_ticklabels()]
    assert not [word for word in words if "e" in word or "10^" in word]
    assert [word for word in words if word.endswith(" M")]
    assert axes.yaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize(("ends", "told"), [
    ((0, 35), ["0 B", "8 MiB", "16 MiB", "24 MiB", "32 MiB"]),
    ((0, 0.25), ["0 B", "64 KiB", "128 KiB", "192 KiB", "256 KiB"]),
    ((1000, 3000), ["1 GiB", "1.5 GiB", "2 GiB", "2.5 GiB"])])
def test_places_of_a_heat_map_are_round(ends: tuple[float, float], told: list[str]) -> None:
    """A map of 256 KiB had 51.2 and 153.6 KiB at its axis."""
    chart = Chart("heat", "", "", "", "", "time", "mebibytes", (0, 1), ends, [])
    figure = Figure()
    axes = figure.add_subplot()
    svg._axes(axes, chart, svg.SHAPES[0])
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_yticklabels()] == told
