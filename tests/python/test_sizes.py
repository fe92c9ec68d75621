"""The page of ``sluice size`` says what its result says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import runs

from sluice.report import main
from sluice.results import SCHEMAS

MIB = 1 << 20


def answer(policy: str, cache_bytes: int | None, twice_adds: float | None, *,
           asked: bool = True) -> dict[str, Any]:
    return {"policy": policy, "asked": asked, "cache_bytes": cache_bytes,
            "twice_adds": twice_adds}


def result(**more: Any) -> dict[str, Any]:
    points = [{"cache_bytes": at * MIB, "run_time_s": 9.5 / at,
               "policies": {name: {"misses": 4000 - at, "hit_ratio": at / 8 - less}
                            for name, less in (("lru", 0.0), ("fifo", 0.01))}}
              for at in (2, 4, 8)]
    return {
        "schema": "sluice.size/1", "workload": "./program 3 <b>", "target_hit_ratio": 0.9,
        "answers": [answer("lru", 6 * MIB, 0.1, asked=False), answer("fifo", 7 * MIB, 0.03)],
        "knee": {"cache_bytes": 3 * MIB, "hit_ratio": 0.5}, "sizes": points,
        "curve": [{"cache_bytes": at * MIB, "hit_ratio": at / 8} for at in range(9)],
        "footprint_bytes": 8 * MIB, "first_accesses": 2048, "accesses": 99_000,
        "accesses_are": "all of them", "config": {"cache.policy": "fifo"}, **more,
    }


def page(folder: Path, one: dict[str, Any]) -> str:
    folder.mkdir()
    made = runs.whole(SCHEMAS["size"], one)
    (folder / "stats.json").write_text(json.dumps(made), encoding="utf-8")
    assert main([str(folder)]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_has_the_answer_the_curve_and_its_knee(tmp_path: Path) -> None:
    text = page(tmp_path / "run", result())
    assert "90.0 % of accesses hit with 7 MiB (fifo), 3.00 % more with twice that." in text
    assert "<b>" not in text.split("<code>")[1].split("</code>")[0]
    for words in ("knee 3 MiB", "90.0 %: 7 MiB", "2,048 first accesses", "fifo misses", "2.38 s"):
        assert words in text, words
    assert text.count("<svg") == 4, "two pictures, each in two shapes"
    # The same result gives the same page.
    assert page(tmp_path / "again" , result()).replace("again", "run") == text


def test_sizes_that_read_the_same_have_more_digits(tmp_path: Path) -> None:
    one = result()
    for point, kib in zip(one["sizes"], (65_636, 65_640, 67_584), strict=True):
        point["cache_bytes"] = kib << 10
    text = page(tmp_path / "run", one)
    assert all(f'<th scope="row">{size}</th>' in text
               for size in ("65,636 KiB", "65,640 KiB", "66 MiB"))


def test_the_page_answers_for_each_policy_that_was_asked_for(tmp_path: Path) -> None:
    one = result()
    one["answers"] += [answer("sieve", 5 * MIB, 0.1), answer("mru", None, None)]
    text = page(tmp_path / "run", one)
    assert "90.0 % of accesses hit with 7 MiB (fifo), 5 MiB (sieve), no cache (mru)." in text
    assert "With fifo, the policy of the device." in text, "whose run time it is"
    # LRU was left out.
    one["answers"][0]["asked"] = True
    assert "6 MiB (lru), 7 MiB (fifo), 5 MiB (sieve)" in page(tmp_path / "lru", one)


def test_what_is_not_known_is_not_drawn(tmp_path: Path) -> None:
    one = result(knee=None)
    one["answers"][1]["cache_bytes"] = None
    for point in one["sizes"]:
        point["run_time_s"] = None
    text = page(tmp_path / "run", one)
    assert "No cache has 90.0 % hits." in text
    assert "knee" not in text
    assert text.count("<svg") == 2
