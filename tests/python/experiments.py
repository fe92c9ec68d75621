"""A small experiment and a program in the place of `sluice`, with known answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sluice.reproduce import main

EXPERIMENT = """
title = "Time by system"
paper = "Test"
place = "Figure 1"
setup = "One thread."

[settings]
work = "100"
[quick.settings]
work = "10"

[[axes]]
name = "system"
values = ["slow", { name = "fast", title = "Fast", set = { speed = "4" } }]

[[axes]]
name = "load"
values = ["1us", "2us", "4us"]

[runs]
command = ["--system", "{system}", "--load", "{load}", "--work", "{work}"]

[metrics]
time = "/time_s"

[derived]
speedup = "at(time, system='slow') / at(time, system='fast')"

[given]
limit = { value = 8, unit = "x", place = "2.1" }

[[published]]
file = "published.csv"
axes = ["load"]
place = "Figure 1"

[[claims]]
kind = "ratio"
says = "speed-up of fast over slow"
place = "3"
published = "published.speedup"
ours = "speedup"
tolerance = "5 %"
why = "read off a picture"

[[claims]]
kind = "trend"
says = "time grows with load"
place = "3"
axis = "load"
ours = "time"
trend = "rises"
tolerance = "1 %"
why = "noise"

[[claims]]
kind = "contradiction"
says = "ten times faster"
place = "1"
published = 10
ours = "max(speedup)"
tolerance = "5 %"
why = "as printed"
holds = "given.limit < 10 and max(speedup) < 10"
because = [{ says = "the most that the set-up allows", value = "given.limit", unit = "x" }]

[[consistency]]
kind = "value"
says = "speed as set"
place = "derived"
published = 4
ours = "speedup"
tolerance = "1 %"
why = "a closed form"

[[remarks]]
says = "ten times faster"
place = "1"
holds = "max(known(published.speedup)) < 10"
because = [{ says = "most by the data", value = "max(known(published.speedup))", unit = "x" }]

[sensitivity]
says = "speed-up at the highest load"
measure = "at(speedup, load='4us')"
axes = { load = ["4us"] }
[[sensitivity.open]]
key = "depth"
values = ["2", "3"]
why = "not stated"

[[figures]]
kind = "bars"
title = "Speed-up"
x = "load"
ours = "speedup"
published = "published.speedup"
y_label = "speed-up, times"
"""

# Time = load × work, divided by the speed; every call is counted in a file.
PROGRAM = """#!{python}
import json, os, sys, time
if "--version" in sys.argv:
    print("sluice 0.0.0")
    raise SystemExit
with open({calls!r}, "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
value = dict(zip(sys.argv[1:], sys.argv[2:]))
sets = dict(sys.argv[i + 1].split("=") for i, a in enumerate(sys.argv) if a == "--set")
if os.environ.get("REFUSE", "no such") in " ".join(sys.argv):
    sys.exit("sluice: refused")
if os.environ.get("ALONE"):
    os.mkdir(os.environ["ALONE"])
time.sleep(float(os.environ.get("NAP", 0)))
if os.environ.get("ALONE"):
    os.rmdir(os.environ["ALONE"])
speed = float(sets.get("speed", sets.get("device.speed", 1))) * float(sets.get("depth", 1))
print("working", file=sys.stderr)
time_s = float(value["--load"][0]) * float(value["--work"]) / speed
print(json.dumps({{"time_s": time_s, "wet": False}}))
"""


class Lab:
    """A folder of experiments, the program, and what came out."""

    def __init__(self, folder: Path, experiment: str = EXPERIMENT,
                 published: str = "load,speedup\n1us,4.1\n2us,4\n4us,\n") -> None:
        self.root = folder / "experiments"
        self.out = folder / "out"
        self._calls = folder / "calls"
        self.sluice = folder / "sluice"
        self.write(experiment, published)
        self.sluice.write_text(PROGRAM.format(python=sys.executable, calls=str(self._calls)))
        self.sluice.chmod(0o755)

    def write(self, experiment: str, published: str | None = None) -> None:
        """Puts the experiment there, and the published numbers if given."""
        home = self.root / "test" / "fig1"
        home.mkdir(parents=True, exist_ok=True)
        (home / "experiment.toml").write_text(experiment)
        if published is not None:
            (home / "published.csv").write_text(published)

    def arguments(self, *more: str) -> list[str]:
        """The arguments of a call on this folder."""
        return ["--experiments", str(self.root), "--sluice", str(self.sluice),
                "--out", str(self.out), *more]

    def run(self, *more: str) -> int:
        """Reproduces; the exit status."""
        return main(self.arguments(*more))

    def result(self) -> dict[str, Any]:
        """The result of the experiment."""
        return json.loads((self.out / "test" / "fig1" / "result.json").read_text())

    def calls(self) -> list[str]:
        """The runs that were started."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []
