"""Does the page work in a real browser? Loaded, measured and photographed in Chromium."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import runs
from browser import Browser
from matplotlib.image import imread

from sluice.report import write_report

WIDTHS = {"wide": 1280, "tablet": 820, "phone": 390}

# Every text and figure that should be seen: its box and, inside a figure, the figure's box.
BOXES = """[...document.querySelectorAll('svg, svg text, h1, h2, dt, dd, th, td, figcaption, li')]
  .filter(e => !e.closest('svg.wide, svg.narrow') ||
               getComputedStyle(e.closest('svg.wide, svg.narrow')).display !== 'none')
  .filter(e => e.tagName === 'svg' || e.textContent.trim() !== '')
  .map(e => { const b = e.getBoundingClientRect(), f = e.closest('figure > svg');
    const o = f ? f.getBoundingClientRect() : null;
    return {tag: e.tagName, text: e.textContent.trim().slice(0, 40), figure: f ? f.ariaLabel : '',
      box: [b.left, b.top, b.right, b.bottom], outer: o && [o.left, o.top, o.right, o.bottom],
      size: parseFloat(getComputedStyle(e).fontSize) * (f ? o.width / f.viewBox.baseVal.width : 1)
    }})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    single = runs.run(root / "chase-fifo")
    runs.program(single)
    lifo = runs.run(root / "chase-lifo", late=0.03,
                    config=runs.CONFIG | {"cache.policy": "lifo"})
    runs.program(lifo, hits=0.6)
    redis = runs.run(root / "redis", soft=4000)
    runs.program(redis, "redis", passes=1, suffix="-load", requests=60_000, errors=0, mismatches=0)
    runs.program(redis, "redis", passes=1, suffix="-run", requests=60_000, errors=0, mismatches=0)
    made = {"one": root / "one.html", "three": root / "three.html"}
    write_report([single], made["one"])
    write_report([single, lifo, redis], made["three"])
    return made


@pytest.mark.parametrize("name", ["one", "three"])
def test_nothing_is_loaded_and_nothing_complained(
        browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name], 1280, 900)
    assert browser.messages == []
    outside = [url for url in browser.requests if not url.startswith("data:")]
    assert outside == [pages[name].resolve().as_uri()]


def test_the_page_policy_stops_what_it_should_not_load(
        browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """Shows that the test above can fail: the same page with one external image."""
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(pages["one"].read_text().replace(
        "</main>", '<img src="http://127.0.0.1:9/x.png"><script>1</script></main>'))
    browser.open(spoilt, 1280, 900)
    assert len(browser.messages) >= 2
    assert all("Content Security Policy" in message for message in browser.messages)


@pytest.mark.parametrize("name", ["one", "three"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_everything_is_seen_and_legible(
        browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    browser.open(pages[name], width, 900)
    boxes = browser.evaluate(BOXES)
    assert {"svg", "text", "td", "dd"} <= {box["tag"].lower() for box in boxes}
    for one in boxes:
        left, top, right, bottom = one["box"]
        assert right - left > 0 and bottom - top > 0, f"not seen: {one}"
        if one["tag"] == "text":
            assert one["size"] >= 11, f"too small: {one}"
            outer = one["outer"]
            assert left >= outer[0] - 1 and right <= outer[2] + 1, f"cut off: {one}"
            assert top >= outer[1] - 1 and bottom <= outer[3] + 1, f"cut off: {one}"


@pytest.mark.parametrize("name", ["one", "three"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_no_words_of_a_figure_overlap(
        browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    browser.open(pages[name], width, 900)
    words: dict[str, list[dict]] = {}
    for one in browser.evaluate(BOXES):
        if one["tag"] == "text":
            words.setdefault(one["figure"], []).append(one)
    assert len(words) == 6
    for inside in words.values():
        for index, one in enumerate(inside):
            for other in inside[index + 1:]:
                assert not overlap(one["box"], other["box"]), f"{one} over {other}"


def overlap(one: list[float], other: list[float], slack: float = 2.0) -> bool:
    """A line's box is a little taller than its letters: ``slack`` allows for that."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across > slack and down > slack


@pytest.mark.parametrize("name", ["one", "three"])
@pytest.mark.parametrize("drawn", WIDTHS)
def test_each_width_has_its_own_figures_and_none_scrolls_sideways(
        browser: Browser, pages: dict[str, Path], name: str, drawn: str) -> None:
    browser.open(pages[name], WIDTHS[drawn], 844)
    assert browser.evaluate("document.documentElement.scrollWidth") <= WIDTHS[drawn]
    seen = browser.evaluate("[...document.querySelectorAll('figure > svg')].filter("
                            "e => e.getBoundingClientRect().width > 0).map(e => e.classList[0])")
    assert seen == ["narrow" if drawn == "phone" else "wide"] * 6


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_the_picture_is_not_blank(
        browser: Browser, pages: dict[str, Path], width: int, dark: bool) -> None:
    browser.open(pages["three"], width, 900, dark)
    picture = pixels_of(browser, "body")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    background = np.array([int(part) for part in paper[4:-1].split(",")])
    assert (background.mean() < 60) == dark
    plain = np.all(picture == background, axis=2).mean()
    assert 0.3 < plain < 0.97, "blank, or not the page's own background"
    lines = pixels_of(browser, "#program-cdf > svg." + ("narrow" if width < 560 else "wide"))
    for index in range(3):
        colour = browser.evaluate(
            f"getComputedStyle(document.documentElement).getPropertyValue('--c{index}')").strip()
        wanted = np.array([int(colour[at:at + 2], 16) for at in (1, 3, 5)])
        near = np.abs(lines - wanted).max(axis=2) <= 8
        assert near.sum() > 100, f"no line of run {index} to be seen in {colour}"


def pixels_of(browser: Browser, selector: str) -> np.ndarray:
    """The pixels of an element as rows of red, green and blue."""
    left, top, width, height = browser.evaluate(
        f"(e => (b => [b.left, b.top + scrollY, b.width, b.height])(e.getBoundingClientRect()))"
        f"(document.querySelector('{selector}'))")
    png = browser.screenshot(x=left, y=top, width=width, height=height)
    return (imread(io.BytesIO(png))[..., :3] * 255).round().astype(int)


def test_pages_stand_alone(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """Moved to an empty folder, the page looks the same."""
    alone = tmp_path / "alone.html"
    browser.open(pages["three"], 1280, 900)
    before = browser.screenshot()
    shutil.copy(pages["three"], alone)
    browser.open(alone, 1280, 900)
    assert browser.screenshot() == before
