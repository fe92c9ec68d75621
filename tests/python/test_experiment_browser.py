"""Can a person read the page of an experiment, on a screen and on a phone? Measured in Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from experiments import EXPERIMENT, Lab

from sluice.reproduce import words

WIDTHS = {"wide": 1280, "tablet": 820, "phone": 390}
LEGIBLE = 11.0
# A figure with panels, one whose axis goes up to millions, and one with groups of stacks.
MORE = """
[[figures]]
kind = "bars"
title = "Time by load"
x = "load"
panel = "system"
y_label = "time of all accesses of a thread ÷ that of one access alone, without unit"
ours = "time"

[[figures]]
kind = "lines"
title = "Time of a million"
x = "load"
series = "system"
y_label = "time, s"
log_y = true
ours = "time * 1000000"

[[figures]]
kind = "stacked"
title = "Parts of the time"
x = "load"
series = "system"
x_label = "load of a thread"
y_label = "time, s"
[[figures.parts]]
title = "all"
ours = "time"
[[figures.parts]]
title = "as much again"
ours = "time"
"""
WORDS = """[...document.querySelectorAll('svg text')].filter(e => e.textContent.trim()).map(e => {
  const s = e.closest('svg'), b = e.getBoundingClientRect(), o = s.getBoundingClientRect();
  return {text: e.textContent.trim(), figure: s.ariaLabel,
    box: [b.left, b.top, b.right, b.bottom], outer: [o.left, o.top, o.right, o.bottom],
    size: parseFloat(getComputedStyle(e).fontSize) * o.width / s.viewBox.baseVal.width}})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lab = Lab(tmp_path_factory.mktemp("lab"), EXPERIMENT + MORE)
    assert lab.run() == 0
    return lab.out / "test" / "fig1" / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_words_of_pictures_are_legible_whole_and_apart(
        browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width, 900)
    assert browser.messages == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    words: list[dict[str, Any]] = browser.evaluate(WORDS)
    assert len({word["figure"] for word in words}) == 4
    for index, word in enumerate(words):
        left, top, right, bottom = word["box"]
        outer = word["outer"]
        assert word["size"] >= LEGIBLE, word
        assert outer[0] - 1 <= left and right <= outer[2] + 1, f"cut off: {word}"
        assert outer[1] - 1 <= top and bottom <= outer[3] + 1, f"cut off: {word}"
        for other in words[index + 1:]:
            across = min(right, other["box"][2]) - max(left, other["box"][0])
            down = min(bottom, other["box"][3]) - max(top, other["box"][1])
            assert min(across, down) <= 2, f"{word} over {other}"


def test_a_phone_shows_what_the_colours_are(browser: Browser, page: Path) -> None:
    """A picture is wider than a phone: its key is at the end that is in view."""
    browser.open(page, WIDTHS["phone"], 900)
    keys = [word for word in browser.evaluate(WORDS)
            if word["figure"] == "Time of a million" and word["text"] in ("slow", "Fast")]
    assert len(keys) == 2 and all(word["box"][2] <= WIDTHS["phone"] for word in keys)


def test_an_axis_of_millions_has_no_exponent(browser: Browser, page: Path) -> None:
    browser.open(page, WIDTHS["wide"], 900)
    words = [word["text"] for word in browser.evaluate(WORDS)
             if word["figure"] == "Time of a million"]
    assert "100 M" in words and not [word for word in words if "e+" in word or word == "10"]


def test_a_panel_says_what_its_label_is_of(browser: Browser, page: Path) -> None:
    browser.open(page, WIDTHS["wide"], 900)
    words = [word["text"] for word in browser.evaluate(WORDS)]
    assert "system: slow" in words and "system: Fast" in words


def test_what_groups_are_of_stands_below_them(browser: Browser, page: Path) -> None:
    """It stood between the words of the bars and those of their groups, or on one of these."""
    browser.open(page, WIDTHS["wide"], 900)
    boxes = {word["text"]: word["box"] for word in browser.evaluate(WORDS)
             if word["figure"] == "Parts of the time"}
    assert boxes["slow"][3] < boxes["2us"][1] and boxes["2us"][3] < boxes["load of a thread"][1] + 2


def test_a_phone_shows_a_claim_with_its_outcome(browser: Browser, page: Path) -> None:
    """The claim was a column of single words, and its outcome five columns away."""
    browser.open(page, WIDTHS["phone"], 900)
    claim, outcome = browser.evaluate("""[...document.querySelectorAll(
        '#claims tbody tr:first-child td')].slice(0, 2).map(cell => {
            const box = (cell.querySelector('.verdict') || cell).getBoundingClientRect()
            return {width: box.width, right: box.right, text: cell.textContent}})""")
    assert claim["width"] >= 170 and "match" in outcome["text"]
    assert outcome["right"] <= WIDTHS["phone"]


@pytest.mark.parametrize("name", ["index.html", "test/fig1/index.html"])
def test_a_phone_shows_every_verdict_whole(browser: Browser, page: Path, tmp_path: Path, name: str
                                           ) -> None:
    """The longest was in one line, half of it outside of view."""
    text = (page.parents[2] / name).read_text()
    longest = max(words.MARKS, key=len)
    text, changed = re.subn(r'(<span class="verdict[^>]*>)[^<]*(</span>)',
                            rf"\1{words.MARKS[longest]}&nbsp;{longest}\2", text)
    (tmp_path / "index.html").write_text(text)
    browser.open(tmp_path / "index.html", WIDTHS["phone"], 900)
    ends = browser.evaluate("""[...document.querySelectorAll('.verdict')].map(
        verdict => verdict.getBoundingClientRect().right)""")
    assert len(ends) == changed > 0 and max(ends) <= WIDTHS["phone"]
