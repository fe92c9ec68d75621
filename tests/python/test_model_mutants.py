"""Do the mutants of the model still fit the tree, and is their table what they came to?"""

from __future__ import annotations

import subprocess
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from sluice.reproduce import spec

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "scripts/model_mutants.toml").read_text())


def script() -> Any:
    loader = SourceFileLoader("model_mutants", str(ROOT / "scripts/model_mutants"))
    found = spec_from_loader("model_mutants", loader)
    assert found is not None
    module = module_from_spec(found)
    loader.exec_module(module)
    return module


def test_every_mutant_has_its_place() -> None:
    reference = "".join(path.read_text() for path in (ROOT / "docs/reference").glob("*.md"))
    experiments = spec.find(ROOT / "experiments")
    for names in TABLE["papers"].values():
        assert set(names) <= set(experiments)
    for mutant in TABLE["mutants"]:
        assert mutant["of"] in TABLE["papers"] and ("set" in mutant) != ("file" in mutant)
        for key in mutant.get("set", {}):
            assert f"| `{key}` |" in reference, mutant["name"]
        if "file" in mutant:
            assert (ROOT / mutant["file"]).read_text().count(mutant["old"]) == 1, mutant["name"]
            assert mutant["new"] != mutant["old"]


def test_a_setting_is_overridden_where_there_is_one(tmp_path: Path) -> None:
    program = tmp_path / "plain"
    program.write_text('#!/bin/sh\ncase "$*" in *log.size*) [ "$2" = log ] || exit 2;; esac\n'
                       'echo "$@"\n')
    program.chmod(0o755)
    mutant = {"name": "no log", "of": "device", "set": {"log.size": "none"}}
    broken = script().behind(program, mutant, tmp_path)

    def said(*words: str) -> str:
        return subprocess.run([broken, *words], capture_output=True, text=True, check=True).stdout

    assert said("--version") == "--version\n"
    assert said("sim", "log", "--json") == "sim log --json --set log.size=none\n"
    # A run without a log is as before, and is counted apart.
    assert said("sim", "memory", "--json") == "sim memory --json\n"
    assert script().broken_runs(mutant, tmp_path) == "1"


def test_the_table_tells_who_notices_and_who_never_does() -> None:
    before = {"device": {("a/1", "fast"): True, ("a/1", "small"): True, ("a/2", "off"): False}}
    slow = {("a/1", "fast"): False, ("a/1", "small"): True, ("a/2", "off"): False}
    after = [({"name": "slow", "of": "device"}, "3", slow),
             ({"name": "quiet", "of": "device"}, "3", before["device"])]
    assert script().killed(before["device"], {}) == [("a/1", "fast"), ("a/1", "small")]
    page = script().page(before, after, ["idle"])
    assert "| idle |  | not run |  |" in page
    assert "| slow | 3 | 1 of 2 | a/1: fast |" in page
    assert "| quiet | 3 | 0 of 2 | **nothing notices** |" in page
    assert "| a/1 | small |" in page and "a/2" not in page


def test_what_was_judged_before_is_of_another_simulator(tmp_path: Path) -> None:
    """Where nothing could be judged, the results that lay there were taken for the mutant's."""
    (tmp_path / "results.json").write_text('{"results": []}')
    with pytest.raises(SystemExit, match="judged nothing, status 2"):
        script().judged(tmp_path / "missing", tmp_path, ["skybyte/table1"], "1")
