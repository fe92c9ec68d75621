"""Is a policy written in Python asked and obeyed as a built-in one?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sluice

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
SLUICE = TARGET / "release" / "sluice"
EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"device.capacity": "16MiB", "cache.capacity": "1MiB"}
SPEC = "uniform:size=4MiB,ops=20000,seed=5,write=1"


class Lru(sluice.Policy):
    """Slots in the order of their last access: a dict keeps the order of insertion."""

    def __init__(self, space: sluice.PolicySpace) -> None:
        self.order: list[dict[int, None]] = [{} for _ in range(space.sets)]

    def insert(self, set_: int, slot: int, lpn: int) -> None:
        self.order[set_][slot] = None

    def hit(self, set_: int, slot: int) -> None:
        self.order[set_][slot] = self.order[set_].pop(slot)

    def victim(self, set_: int, evictable: Callable[[int], bool]) -> int | None:
        slot = next((slot for slot in self.order[set_] if evictable(slot)), None)
        if slot is not None:
            del self.order[set_][slot]
        return slot

    def remove(self, set_: int, slot: int) -> None:
        self.order[set_].pop(slot, None)


def test_a_result_names_the_classes_that_decided() -> None:
    class Next(sluice.Prefetcher):
        def access(self, lpn: int, outcome: str, at_ns: float, degree: int) -> list[int]:
            return [lpn + 1]

    def config(**own: Any) -> list[str]:
        told = sluice.simulate("cylon", SMALL | {"prefetch.degree": 1}, SPEC, **own).config
        device = sluice.Device("cylon", SMALL | {"prefetch.degree": 1}, **own)
        device.access([0])
        keys = ("cache.policy", "prefetch.policy")
        assert [device.stats.config[key] for key in keys] == [told[key] for key in keys]
        return [told[key] for key in keys]

    assert config() == ["fifo", "none"]
    assert config(policy=Lru) == ["python:Lru", "none"]
    assert config(policy=partial(Lru), prefetcher=Next) == ["python:partial", "python:Next"]


def without_name(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key != "config"}


@pytest.mark.parametrize("hits", ["all", "misses"])
@pytest.mark.parametrize("ways", ["full", 8, 1])
def test_lru_in_python_is_lru(ways: object, hits: str) -> None:
    device = SMALL | {"cache.ways": ways}
    own = sluice.simulate("cylon", device, SPEC, hits, policy=Lru)
    built_in = sluice.simulate("cylon", device | {"cache.policy": "lru"}, SPEC, hits)
    fifo = sluice.simulate("cylon", device, SPEC, hits)
    assert without_name(own) == without_name(built_in)
    assert own["cache"]["evictions"] > 1000
    if (ways, hits) == ("full", "all"):
        assert own["hash"] != fifo["hash"]


def test_a_trace_runs_on_the_whole_device(tmp_path: Path) -> None:
    """With its stores: a policy in Python was asked for loads of pages only."""
    lines = [f"{at},{'W' if at % 3 else 'R'},{at * at % 997 * 4096},4096" for at in range(20_000)]
    source, trace = tmp_path / "own.csv", tmp_path / "own.trace"
    source.write_text("\n".join([*lines, ""]))
    subprocess.run([SLUICE, "trace", "convert", source, trace, "--columns",
                    "time,op,address,size"], check=True, capture_output=True)
    lru = SMALL | {"cache.policy": "lru"}
    own = sluice.simulate("cylon", SMALL, f"trace:{trace}", policy=Lru)
    built_in = sluice.simulate("cylon", lru, f"trace:{trace}")
    assert without_name(own) == without_name(built_in)
    assert own["cache"]["dirty_evictions"] > 1000
    assert own["flash"]["programs"] >= own["cache"]["dirty_evictions"]
    words = ["--set", "device.capacity=16MiB", "--set", "cache.capacity=1MiB"]
    words += ["--set", "cache.policy=lru"]
    told = subprocess.run([SLUICE, "sim", "--device", "cylon", "--trace", trace, *words, "--json"],
                          check=True, capture_output=True, text=True)
    assert json.loads(told.stdout) == built_in
    with pytest.raises(sluice.TraceError, match="none.trace"):
        sluice.simulate("cylon", SMALL, f"trace:{tmp_path / 'none.trace'}")
    with pytest.raises(sluice.WorkloadError, match="device.capacity"):
        sluice.simulate("cylon", {"device.capacity": "1MiB", "cache.capacity": "64KiB"},
                        f"trace:{trace}")


def test_a_trace_is_replayed_by_it() -> None:
    from array import array
    pages = array("I", [page * page % 997 for page in range(20_000)])
    told = sluice.replay("cylon", SMALL, pages, policy=Lru)
    built_in = sluice.replay("cylon", SMALL | {"cache.policy": "lru"}, pages)
    assert told["misses"] == built_in["misses"]


def test_it_is_told_the_space() -> None:
    seen = []

    class Told(Lru):
        def __init__(self, space: sluice.PolicySpace) -> None:
            super().__init__(space)
            seen.append(space)

    sluice.simulate("cylon", SMALL | {"cache.ways": 16}, SPEC, seed=9, policy=Told)
    assert seen == [sluice.PolicySpace(sets=16, ways=16, pages=4096, seed=9)]


@pytest.mark.parametrize("method", ["__init__", "miss", "insert", "hit", "victim"])
def test_what_it_raises_comes_out_as_it_is(method: str) -> None:
    class Mistake(Exception):
        pass

    thrown = Mistake("of mine")

    def fail(*_: object) -> None:
        raise thrown

    with pytest.raises(Mistake) as caught:
        sluice.simulate("cylon", SMALL, SPEC, policy=type("Broken", (Lru,), {method: fail}))
    assert caught.value is thrown


@pytest.mark.parametrize(("answer", "error", "says"), [
    (1 << 20, sluice.PolicyError, "answered slot 1048576"),
    (None, sluice.PolicyError, "found no page"),
    ("three", sluice.PolicyError, "answered 'three'; expected a slot, or None"),
    (1.0, sluice.PolicyError, "answered 1.0"),
    (-1, sluice.PolicyError, "victim of set 0 answered -1"),
    (1 << 40, sluice.PolicyError, "answered 1099511627776"),
])
def test_nonsense_is_refused(answer: object, error: type[Exception], says: str) -> None:
    class Wrong(Lru):
        def victim(self, set_: int, evictable: Callable[[int], bool]) -> Any:
            return answer

    with pytest.raises(error, match=says):
        sluice.simulate("cylon", SMALL, SPEC, policy=Wrong)


def test_a_time_that_is_none_is_refused() -> None:
    class Wrong(Lru):
        def tick(self, now_ps: int) -> Any:
            return -1

    with pytest.raises(sluice.PolicyError, match="tick answered -1; expected a time in pico"):
        sluice.simulate("cylon", SMALL, SPEC, policy=Wrong)


def test_a_page_in_flight_may_not_leave() -> None:
    """One page in the cache, and it is still on its way when the next is asked for."""
    asked = []

    class Watcher(Lru):
        def victim(self, set_: int, evictable: Callable[[int], bool]) -> int | None:
            asked.append(evictable(next(iter(self.order[set_]))))
            return super().victim(set_, evictable)

    device = SMALL | {"cache.capacity": "4KiB"}
    sluice.simulate("cylon", device, SPEC + ",threads=4", policy=Watcher)
    assert {True, False} == set(asked)


def test_evictable_is_good_while_victim_is_called() -> None:
    kept = []

    class Keeper(Lru):
        def victim(self, set_: int, evictable: Callable[[int], bool]) -> int | None:
            kept.append(evictable)
            return super().victim(set_, evictable)

    sluice.simulate("cylon", SMALL, SPEC, policy=Keeper)
    with pytest.raises(ValueError, match="only while victim"):
        kept[0](0)


def test_a_shared_object_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.so"
    path.write_text("no object")
    with pytest.raises(sluice.BadValueError, match="cannot be loaded") as caught:
        sluice.simulate("cylon", SMALL | {"cache.policy": path}, SPEC)
    assert caught.value.key == "cache.policy"


INTERRUPTED = """
import _thread, threading, sluice
from tests.python.test_policy import Lru, SMALL
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    sluice.simulate("cylon", SMALL, "uniform:size=4MiB,ops=100000000000", policy=Lru)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_it() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True,
                          timeout=60, check=True)
    assert done.stdout == "interrupted\n"


def test_the_example_of_the_page_is_lifo(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(code, "docs/extending.md", "exec"), names)
    device = {"device.capacity": "64MiB", "cache.capacity": "12MiB", "cache.policy": "lifo"}
    lifo = sluice.simulate("cylon", device, "chase:size=20MiB,stride=4096,passes=4")
    assert names["result"]["hash"] == lifo["hash"]
    assert capsys.readouterr().out == f"{lifo['cache']['hit_ratio']}\n"


def example(name: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    path = EXAMPLES / name
    exec(compile(path.read_text(), path, "exec"), names)
    return names


def built(folder: Path, name: str) -> Path:
    """An example in C, built as its first lines say."""
    path = folder / "object.so"
    root = EXAMPLES.parent
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    f"-I{root / 'crates/sluice-abi/include'}", EXAMPLES / name, "-o", path],
                   check=True)
    return path


@pytest.mark.parametrize("hits", ["all", "misses"])
@pytest.mark.parametrize("ways", ["full", 8])
def test_the_examples_of_a_policy_decide_the_same(tmp_path: Path, ways: object, hits: str) -> None:
    """In C and Python here; in C and Rust in `crates/sluice-plugin/tests/objects/examples.rs`."""
    in_c = SMALL | {"cache.ways": ways, "cache.policy": built(tmp_path, "policies/clean_first.c")}
    in_python = example("policies/clean_first.py")["CleanFirst"]
    device = SMALL | {"cache.ways": ways}
    spec = "uniform:size=4MiB,ops=20000,seed=5,write=0.3"
    own = sluice.simulate("cylon", device, spec, hits, policy=in_python)
    twin = sluice.simulate("cylon", in_c, spec, hits)
    assert without_name(own) == without_name(twin)
    lru = sluice.simulate("cylon", device | {"cache.policy": "lru"}, spec, hits)
    few = 0.95 if ways == "full" else 0.99
    assert own.cache.dirty_evictions < lru.cache.dirty_evictions * few


def test_the_examples_of_a_prefetcher_decide_the_same(tmp_path: Path) -> None:
    device = SMALL | {"prefetch.degree": 4}
    in_c = device | {"prefetch.policy": built(tmp_path, "prefetchers/stride.c")}
    in_python = example("prefetchers/stride.py")["Stride"]
    for spec in ("chase:size=8MiB,stride=8192,passes=2,random=0", "zipf:size=8MiB,ops=20000"):
        for hits in ("all", "misses"):
            own = sluice.simulate("cylon", device, spec, hits, prefetcher=in_python)
            twin = sluice.simulate("cylon", in_c, spec, hits)
            assert without_name(own) == without_name(twin)
            assert twin.cache.prefetch_issued > 0 and twin.cache.prefetch_refused == 0


def test_it_can_look_up_what_happens() -> None:
    seen, ticked = [], []

    class Looks(Lru):
        def __init__(self, space: sluice.PolicySpace) -> None:
            super().__init__(space)
            self.event = space.event

        def insert(self, set_: int, slot: int, lpn: int) -> None:
            super().insert(set_, slot, lpn)
            event = self.event
            assert event is not None
            seen.append((event.now_ps, event.thread, event.is_store, event.is_dirty, event.trigger))

        def tick(self, now_ps: int) -> int:
            ticked.append(now_ps)
            return now_ps + 1_000_000

    device = SMALL | {"prefetch.policy": "nextn", "prefetch.degree": 1}
    result = sluice.simulate("cylon", device, "uniform:size=4MiB,ops=20000,threads=3,write=0.3",
                             policy=Looks)
    times = [at for at, *_ in seen]
    assert times == sorted(times)
    assert {thread for _, thread, *_ in seen} == {0, 1, 2}
    demanded = [row for row in seen if row[-1] == "demand"]
    assert (len(demanded), len(seen)) == (result.cache.misses,
                                          result.cache.misses + result.cache.prefetch_issued)
    assert all(store == dirty for _, _, store, dirty, _ in demanded)
    assert {dirty for *_, dirty, trigger in seen if trigger == "prefetch"} == {False}
    gaps = [after - before for before, after in zip(ticked, ticked[1:], strict=False)]
    assert min(gaps) >= 1_000_000 and len(ticked) > 1000


def test_misses_of_a_shared_object_are_not_those_of_another_policy(tmp_path: Path) -> None:
    """They were FIFO's."""
    pages = [page * page % 400 for page in range(2_000)]
    own = SMALL | {"cache.policy": built(tmp_path, "policy-c/lru.c")}
    with pytest.raises(sluice.ConfigError, match="sluice.replay counts misses of a shared object"):
        sluice.policy_misses("cylon", own, pages)
    lru = sluice.policy_misses("cylon", SMALL | {"cache.policy": "lru"}, pages)
    assert sluice.replay("cylon", own, pages).misses == lru.misses
