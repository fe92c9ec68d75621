#!/usr/bin/env python3
"""Writes docs/reference from what the program says about itself (`make docs`).

By scripts/pages.py: --check writes nothing, and what would change is an error (`make test`).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import crates
from pages import MADE_BY, PAGES, publish, table

# Programs of their own; `--help` of the others needs no second program.
EXTERNAL = {
    "recipe": """Part of the Python package: `sluice recipe list`, `sluice recipe run NAME...
[--small] [--out DIR] [--json] [--sluice FILE] [--recipes DIR]`. Status 0: every answer was right;
1: one was wrong, or a run failed. See [recipes](../../recipes.md).
""",
    "report": """Part of the Python package: `sluice report DIR.. [-o FILE] [--title TEXT]
[--force]`. See [read a report](../../reading-a-report.md).
""",
    "reproduce": """Part of the Python package: `sluice reproduce [PAPER[/FIGURE]]... [--quick]
[--list] [--jobs N] [--out DIR] [--fresh] [--json] [--sluice FILE] [--experiments DIR]`. Status 0:
everything ran, whatever the verdicts; 1: a run failed; 130: interrupted, and the same command goes
on. See [experiments](../../experiments.md).
""",
    "sweep": """Part of the Python package: `sluice sweep --over KEY=V,V... [--file FILE]
[--measure NAME]... [--mean KEY] [--pareto X,Y] [--jobs N] [--engine ENGINE] [--shard I/N]
[--merge DIR...] [--out DIR] [--fresh] [--json] [--sluice FILE] -- COMMAND...`. Status 0: everything
ran; 1: a run failed; 130: interrupted, and the same command goes on. See [sweeps](../../sweeps.md).
""",
}
WIDTH = 100
PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
# The reference lists neighbouring caches whose latencies differ by this much.
JUMP = 0.1
# crates/sluice-model/tests/allocation.rs holds the sums for a terabyte to their bounds.
EVICTION_MEMORY = """
What the model itself keeps in memory: for each page of the device 10 to 11 bytes (the map 4, its
way back 3 for each flash page, the cache's index 3, or 4 if the cache has 2^24 pages or more),
and for each page of the cache 16 and what the policy has. That is 1 for `random`, 8 to 10 for
most, and 44 for `lfu`, 42 for `wtinylfu`, 41 for `lirs`, 26 for `arc`, 24 for `s3fifo`, 19 for
`twoq`. The last four also find pages that have left: 3 bytes more for each page of the device.
With 1 TiB in pages of 4 KiB and a cache of 5 %, most come to 2.9 GiB, `lfu` and `wtinylfu` to
3.3, the last four to 3.8 to 4.1; it becomes resident as pages are used.
"""
SYSTEM_FILES = """
A system is a host with its device, for `sluice sim --system`. A file of one is TOML:

```toml
base = "skybyte-full"     # a system that comes with Sluice; left out: every default
device = "my-device.toml" # a device preset, or a file beside this one; left out: the base's

[cpu]                     # tables of the host, below, and of the device
threads = 32

[nand]
read = "25us"
```

`--set KEY=VALUE` reaches the keys of both.
"""
# crates/sluice-config/tests/system.rs holds these to what the program does.
SCALING = """
## Scale

`--scale N` divides the memory of the program by N, and every capacity whose ratio to it matters:
`device.capacity` (and so the blocks of each die), `cache.capacity`, `write_log.capacity`,
`migration.capacity`, `migration.remote_capacity`, `host.memory`, `l2.capacity`, `l3.capacity`. A
share keeps its ratio by itself. Values in files and from `--set` are those of the full size, which
is N = 1; a size that does not divide into whole pages is an error.

What scaling keeps: every time, the number of channels, dies, cores, threads and MSHRs, and the
ratios of cache, log, host memory, L2 and L3 to the program. What it does not keep: the L1 and the
TLB stay as they are, so that both reach further; an L2 is not made smaller than two of its L1, nor
the L3 smaller than all L2 together (with SkyByte's Table II the L2 from N = 16 on, the L3 from 64);
a die has fewer blocks, but always 8 spare ones, so that `ftl.gc_threshold` is set anew for
collection to begin after nearly the same share of the flash was written; a time that stands against
a capacity (`migration.decay`, `migration.tpp_period`) is N times longer in relation, unless the run
is as much shorter.
"""
FABRIC_FILES = """
A fabric is requesters, switches and memory endpoints joined by links, for `sluice fabric run`. A
file of one is TOML:

```toml
base = "esf"              # a fabric that comes with Sluice; left out: every default

[topology]                # tables of parameters, below
kind = "list"             # the links below; any other makes its own switches and links

[[requesters]]            # groups of nodes; without any, one group of `requester.count`
name = "host"             # called host0, host1; a group of one is called by its name
count = 2
depth = 32                # what differs from [requester]

[[requesters]]
name = "cpu"              # simulated hosts in the place of patterns (docs/hosts.md)
count = 1
system = "cxl-ssd-sim"    # whose cores, caches, scheduler and host memory: a system, or a file
workload = "stream:rounds=1"  # a kernel of `sluice sim --help`, or trace = "FILE"
scale = 8                 # what its memory and the host's capacities are divided by; left out: 1
l2 = { capacity = "1MiB" }  # what differs from that system's host

[[requesters]]
name = "far"              # at the other sockets of the servers whose ports host0 and host1 have
count = 2
socket = "host"           # not together with [[vcs]]

[[endpoints]]
name = "ssd"
count = 2
device = "skybyte"        # a device preset, or a file beside this one; the type is then `device`
cache = { capacity = "64MiB" }  # what differs from that device
logical_devices = 2       # what differs from [endpoint]
link = { bandwidth = 8000 }  # what differs from [link] at the nodes of the group

[[endpoints]]
name = "mine"
count = 1
library = "./model.so"    # a memory model of yours (docs/library.md); the type is then `external`
argument = "fast"         # what it gets when it is made

[[switches]]              # for a list only
name = "sw"
count = 2

[[links]]                 # of a list; another topology's own are changed
ends = ["host0", "sw0:3"] # a switch's port may stand behind a colon
bandwidth = 16000         # what differs from [link]

[[routes]]                # what a switch does with packets for a node, instead of the shortest way
at = "sw0"
to = "ssd1"
via = ["sw1"]

[[ranges]]                # HDM ranges; without any, one after the other over all endpoints
name = "low"
base = 0
size = "512MiB"
targets = ["ssd0.0", "ssd1.0"]  # a logical device has its number behind a dot
hosts = ["host0"]         # whose address map has it; left out: all

[[vcs]]                   # a virtual switch in sw1, for one host
name = "first"
switch = "sw1"
upstream = "host1"        # the host on its upstream port
vppbs = ["ssd0.1", "sw1:4", "sw1:5.2"]  # devices by name, or by port and logical device
```

`--set KEY=VALUE` reaches the parameters, and those of a group by its name: `--set host.depth=8`,
`--set ssd.link.bandwidth=8000`, `--set ssd.cache.capacity=64MiB` of its device,
`--set cpu.l2.capacity=1MiB` of its hosts, `--set cpu.workload=tpcc` what they run.
Requesters and endpoints are edge ports: 4096 at most, as port ids have 12 bits.

**Virtual hierarchies** (CXL 2.0 and later). Without `[[vcs]]` switches route by port (PBR) and
lead everywhere. A switch that a `[[vcs]]` names is divided among its hosts, one or several: each
host on it has one virtual switch, whose vPPBs are bound to devices on the same switch, or to
logical devices of a pooled one (MLD). A logical device is bound once; what is bound to none stays
in the pool. A host's address map has its devices, in the order of the vPPBs, then memory on links
of its own, and nothing else: an address beyond, a range over another's device, and a device bound
twice are refused with both names. Bindings hold for the whole run. One level: hosts and devices
on such a switch, no other switch. `sluice fabric check` prints which host reaches
what, a run what each vPPB served. `cxl2-pool` is an example.
"""
TITLES = {"eviction": "Eviction", "prefetch": "Prefetch", "gc": "Garbage collection"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sluice", type=Path, help="the sluice command")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    pages = {
        **parameters(options.sluice),
        **systems(options.sluice),
        **fabrics(options.sluice),
        "policies.md": policies(options.sluice),
        **commands(options.sluice),
        "crates.md": crates.page(),
    }
    return publish({PAGES / name: text for name, text in pages.items()}, options.check)


def jumps(device: str) -> str:
    """Which neighbouring caches of a preset differ in latency though not in hits."""
    with (PAGES / "cache-neighbours.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["device"] == device]
    found = [row for row in rows if float(row["largest_quotient"]) >= 1 + JUMP]
    if not found:
        return ""
    each = [f"`{row['pattern']}` {float(row['largest_quotient']):.2f} times" for row in found]
    return (f"; a page of cache more or less changes the mean latency of {', '.join(each)}")


def parameters(sluice: Path) -> dict[str, str]:
    """Every parameter of a device, and what presets change."""
    presets = ask(sluice, "device", "list")
    shown = {preset["name"]: ask(sluice, "device", "show", preset["name"]) for preset in presets}
    text = "# Parameters of devices\n\n" + MADE_BY
    text += ("Set one by `--set KEY=VALUE` or in a device file (`--device FILE.toml`), where the"
             " part before the dot is the table. What is not set has the default. Simulated hosts"
             " have [parameters of their own](systems.md). Each group has a page with what its"
             " parameters accept, their sources, and the presets that change them.\n\n"
             "## Presets\n\n")
    for preset in presets:
        text += (f"- [`{preset['name']}`](../../presets/devices/{preset['name']}.toml):"
                 f" {preset['meaning']}{jumps(preset['name'])}\n")
    text += ("\nSome presets keep the striping of their source. There a cache whose victims are"
             " programmed where the next fill reads is slower than its neighbours, at the same hit"
             " ratio: [measured](cache-neighbours.csv) by scripts/cache_neighbours.py on 200 caches"
             f" around 16 MiB, and listed above from {JUMP:.0%} on.\n")
    index, pages = groups("parameters", next(iter(shown.values())), shown, "preset")
    live = [[code(param["key"]), param["meaning"], param["expected"], code(param["default"]),
             param["default_source"]] for param in ask(sluice, "device", "live")]
    return pages | {"parameters.md": text + index + (
        "\n## Live runs\n\nOf `sluice run` and `sluice vm`, by `--set` alone.\n\n"
        + table(["key", "meaning", "accepts", "default", "source"], live))}


def systems(sluice: Path) -> dict[str, str]:
    """Every parameter of a host, and what systems change."""
    presets = ask(sluice, "system", "list")
    device_keys = {param["key"] for param in ask(sluice, "device", "show")}
    shown = {preset["name"]: [param for param in ask(sluice, "system", "show", preset["name"])
                              if param["key"] not in device_keys] for preset in presets}
    text = "# Systems\n\n" + MADE_BY.rstrip() + "\n"
    text += SYSTEM_FILES + "\n## Presets\n\n"
    for preset in presets:
        text += (f"- [`{preset['name']}`](../../presets/systems/{preset['name']}.toml):"
                 f" {preset['meaning']}\n")
    index, pages = groups("systems", shown["base-cssd"], shown, "system")
    return pages | {"systems.md": text + SCALING + index + (
        "\nKeys of the device are [parameters of devices](parameters.md).\n")}


def fabrics(sluice: Path) -> dict[str, str]:
    """Every parameter of a fabric, and what fabrics change."""
    presets = ask(sluice, "fabric", "list")
    shown = {preset["name"]: ask(sluice, "fabric", "show", preset["name"]) for preset in presets}
    text = "# Fabrics\n\n" + MADE_BY.rstrip() + "\n"
    text += FABRIC_FILES + "\n## Presets\n\n"
    for preset in presets:
        text += (f"- [`{preset['name']}`](../../presets/fabrics/{preset['name']}.toml):"
                 f" {preset['meaning']}\n")
    index, pages = groups("fabrics", next(iter(shown.values())), shown, "fabric")
    text += index
    for title, key in (("Topologies", "topologies"), ("Routing", "routings"),
                       ("Patterns", "patterns"), ("Endpoints", "endpoints")):
        choices = ask(sluice, "fabric", "choices")[key]
        text += f"\n## {title}\n\n"
        text += table(["name", "what it is"], [[code(one["name"]), one["meaning"]]
                                               for one in choices])
    return pages | {"fabrics.md": text}


def groups(folder: str, params: list[Any], shown: dict[str, list[Any]],
           kind: str) -> tuple[str, dict[str, str]]:
    """Tables of all keys for the page of that name, and a page for each group beside it."""
    index, pages = "", {}
    for name in dict.fromkeys(param["key"].split(".")[0] for param in params):
        group = [param for param in params if param["key"].split(".")[0] == name]
        index += f"\n## `{name}`\n\n[All about these]({folder}/{name}.md)\n\n"
        index += table(["key", "meaning", "default"],
                       [[code(one["key"]), one["meaning"].split("; ")[0], code(one["default"])]
                        for one in group])
        text = f"# `{name}`\n\n" + MADE_BY
        text += f"Part of [all parameters](../{folder}.md) of this kind.\n"
        for one in group:
            text += f"\n## `{one['key']}`\n\n{spelled(one['meaning'])}\n\n"
            text += table(["", ""], [["accepts", one["expected"]],
                                     ["default", code(one["default"])],
                                     ["source", one["default_source"]],
                                     [f"{kind}s that differ", changes(one, shown) or "none"]])
        pages[f"{folder}/{name}.md"] = text
    return index, pages


def spelled(meaning: str) -> str:
    """What a parameter is, and below it what each choice and condition means."""
    first, *rest = meaning.split("; ")
    text = f"{first[:1].upper()}{first[1:]}" + ("\n" if rest else "")
    for part in rest:
        names, colon, means = part.partition(": ")
        choice = colon and re.fullmatch(r"[\w-]+(, [\w-]+)*", names)
        names = ", ".join(map(code, names.split(", "))) if choice else names
        text += f"\n- {names}{colon}{means}"
    return text


def changes(param: Any, shown: dict[str, list[Any]]) -> str:
    """Which presets have another value than the default, and which."""
    values: dict[str, list[str]] = {}
    for name, params in shown.items():
        for one in params:
            if one["key"] == param["key"] and amount(one["value"]) != amount(param["default"]):
                values.setdefault(one["value"], []).append(code(name))
    return "; ".join(f"{code(value)}: {', '.join(names)}" for value, names in values.items())


def amount(value: str) -> int | str:
    """A time in picoseconds, whatever its unit: `0ps` is `0ns`. Any other value is itself."""
    found = re.fullmatch(r"(\d+)(ps|ns|us|ms|s)", value)
    return int(found[1]) * PICOSECONDS[found[2]] if found else value


def policies(sluice: Path) -> str:
    """Every policy of the registries."""
    rows = ask(sluice, "policy", "list")
    text = "# Policies\n\n" + MADE_BY
    text += ("Live, a hit on a mapped page is an ordinary load: the device cannot see it. A policy"
             " that decides by misses does the same live and with all hits visible; one that"
             " decides by hits does not (`sluice sim --hits all|misses` shows both).\n")
    for kind, key in (("eviction", "cache.policy"), ("prefetch", "prefetch.policy"),
                      ("gc", "ftl.gc_policy")):
        cells = [[code(row["name"]), row["meaning"], row["decides_by"], row["source"]]
                 for row in rows if row["kind"] == kind]
        text += f"\n## {TITLES[kind]}: `{key}`\n\n"
        text += table(["name", "what it does", "decides by", "source"], cells)
        if kind == "eviction":
            text += EVICTION_MEMORY
    return text


def commands(sluice: Path) -> dict[str, str]:
    """The help of the command and of everything below it: a page for each command."""
    text = "# Commands\n\n" + MADE_BY
    text += ("Exit status: `sluice run` ends as its program ended, by the same signal if it was"
             " killed. Otherwise 0 is success. 2 is a request that cannot be carried out, with one"
             " line on standard error that says why. 1 is a `sluice workload` that read back"
             " something else than it wrote, a `sluice doctor` that found the event mode"
             " impossible, or a `sluice ctl` whose device did not do all of it.\n")
    every = [words for words in tree(sluice, []) if words]
    pages = {}
    for name in [*dict.fromkeys(words[0] for words in every), *EXTERNAL]:
        page = f"# sluice {name}\n\n" + MADE_BY
        page += EXTERNAL.get(name, "")
        for words in (words for words in every if words[0] == name):
            title = f"## sluice {' '.join(words)}\n\n" if words[1:] else ""
            page += f"{title}```text\n{help_of(sluice, words).rstrip()}\n```\n\n"
        pages[f"commands/{name}.md"] = page.rstrip() + "\n"
    whole = help_of(sluice, [])
    text += f"\n```text\n{whole.rstrip()}\n```\n\n## A page for each\n\n"
    text += "".join(f"- [`sluice {Path(page).stem}`]({page})\n" for page in sorted(pages))
    return pages | {"commands.md": text}


def tree(sluice: Path, words: list[str]) -> list[list[str]]:
    """A command and its subcommands, as the help lists them."""
    found = [words]
    told = help_of(sluice, words)
    # The command's own help lists its commands by task.
    listed = told.partition("\nCommands:\n")[2].partition("\n\n")[0] if words else (
        told.partition("\nOptions:\n")[0])
    for line in listed.splitlines():
        name = line.split()[0] if line.startswith("  ") and line[2:3].isalpha() else ""
        if name and name != "help" and name not in EXTERNAL:
            found += tree(sluice, [*words, name])
    return found


def help_of(sluice: Path, words: list[str]) -> str:
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    # No terminal anywhere, whose width would count before that of the environment.
    told = subprocess.run([sluice, *words, "--help"], capture_output=True, text=True, check=True,
                          env=environment, stdin=subprocess.DEVNULL)
    return "\n".join(line.rstrip() for line in told.stdout.splitlines()) + "\n"


def ask(sluice: Path, *words: str) -> Any:
    told = subprocess.run([sluice, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


def code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    sys.exit(main())
