#!/usr/bin/env python3
"""Writes the page of the results' fields and Python's classes of them, from their schemas.

By scripts/pages.py: --check writes nothing, and what would change is an error (`make test`).

The schemas (``docs/reference/schema``) are made from the structs of ``sluice-results``; the comment
of a field there is its meaning here.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import MADE_BY, PAGES, ROOT, publish, table

Schema = dict[str, Any]

PAGE_TOP = """
`--json` prints one JSON object on the last line of standard output; `--out DIR` writes the same
object, indented, to `DIR/stats.json`. The other files of `DIR` are described in
[formats.md](formats.md). `schema` changes when a field changes its meaning. Times that end in `_ns`
are nanoseconds, in `_s` seconds, in `_ps` picoseconds. A ratio of nothing to nothing is `null`.
Each kind has a JSON schema, and Python's `sluice.results` has a class for each.

A distribution has `count`, `mean`, `p50`, `p90`, `p99`, `p999` and `max`; of no values all but the
count are `null`. Live, mean and maximum are exact and percentiles within 0.4 %.
"""
# Schema, title and notes of each section.
SECTIONS = (
    ("run", "Live runs", """
Of a guest (`kind` is `vm`) the figures are of QEMU's whole life; `workload` has those of its
command, with the meanings that they have here.

`achieved` is measured from the fault as the runtime sees it to the call that maps the page, plus
`host.entry_ns` and `host.exit_ns`: what the kernel needs before and after cannot be timed trap by
trap. Both are medians of faults taken at the start. A program that times its own accesses
(`sluice workload chase`) owes nothing to that.
"""),
    ("sim", "Simulated devices", ""),
    ("system", "Simulated hosts", """
`config` has the [keys of the host](systems.md) as well. The time that the simulation took is no
part of the object: it stands on standard error. `program` is one of a kernel, a trace and a program
that QEMU executed.

`--out DIR` keeps `config.toml` (a system file at full size, to be run again), `stats.json`,
`latency.csv` and `flash_read.csv` (nanoseconds, count), and with `--timeline` `timeline.csv`.
"""),
    ("fabric", "Fabrics", """
`config` has the [keys of the fabric](fabrics.md).
"""),
    ("size", "Sizes of caches", ""),
    ("curve", "Bandwidth against latency", ""),
    ("files", "Data reached as a file", ""),
    ("trace-info", "Traces", ""),
    ("trace-record", "Recordings", ""),
    ("trace-convert", "Conversions", ""),
    ("top", "Rates", ""),
    ("doctor", "What a host can do", ""),
    ("devices", "Lists of devices", ""),
    ("presets", "Lists of systems and fabrics", ""),
    ("parameters", "Parameters", ""),
    ("policies", "Lists of policies", ""),
    ("fabric-choices", "What a fabric file can name", ""),
    ("command", "Commands of output folders", ""),
    ("counters", "Counters", """
They count from the start of a process. Those without a unit in their name are numbers of events.
"""),
    ("replay", "Replays in Python", ""),
    ("policy-misses", "Policies alone, in Python", ""),
)
# Schemas that lie beside what prints them: a class each, and no section of the page.
OWN = {"workload": "crates/sluice-workload/result.schema.json"}
MADE = "Made by `make docs` from the schemas of docs/reference/schema; do not edit."
# The module of what several kinds have.
SHARED = "parts"
# Parts of one kind alone for which its own module has no room.
BESIDE = {"Counted", "Disk", "HitTimes", "NotApplied"}
# Types that make a module together.
TOGETHER = dict.fromkeys(
    ("AllocationSite", "CallFrame", "MissProfile", "ProfiledMisses", "ThreadMisses"), "profile")
TOGETHER |= dict.fromkeys(
    ("Hints", *(f"{kind}Hints" for kind in (
        "Cold", "Dontneed", "Free", "Ignored", "Mlock", "Munlock", "Normal", "Pageout", "Random",
        "Sequential", "Willneed"))), "hints")
# What modules are about that have no schema of their own.
ABOUT = {
    SHARED: "Parts of several kinds of results, and of one that is full.",
    "hints": "What hints of the program did.",
    "profile": "Which allocations and which threads the misses of a run belong to.",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    schemas = load(PAGES / "schema")
    schemas |= {name: read(ROOT / path) for name, path in OWN.items()}
    package = ROOT / "python" / "sluice" / "results"
    modules = {package / f"{name}.py": text for name, text in types(schemas).items()}
    made = {PAGES / name: text for name, text in pages(schemas).items()}
    return publish(made | modules, options.check)


def load(folder: Path) -> dict[str, Schema]:
    """The schemas by name."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.json"))}


def read(path: Path) -> Schema:
    """A schema."""
    return json.loads(path.read_text(encoding="utf-8"))


def pages(schemas: dict[str, Schema]) -> dict[str, str]:
    """A page of fields for each kind of object, and one that lists them."""
    made_by = MADE_BY.replace("reference.py", "results_reference.py").rstrip()
    kinds, found = [], {}
    for name, title, notes in SECTIONS:
        schema = schemas[name]
        about, notes = below(schema["description"]), below(notes)
        text = f"# {title}\n\n{made_by}\n\n{about}\n\n"
        text += f"Schema: [{name}.json](../schema/{name}.json). [All kinds](../output.md).\n"
        text += notes + "\n"
        rows = [[f"`{path}`", kind, below(meaning)]
                for path, kind, meaning in _all_rows(schema)]
        found[f"output/{name}.md"] = text + table(["field", "type", "meaning"], rows)
        first = schema["description"].split("\n\n")[0]
        kinds.append([f"[{title}](output/{name}.md)", " ".join(first.split())])
    index = f"# Output\n\n{made_by}\n{PAGE_TOP}\n"
    return found | {"output.md": index + table(["kind", "what it is"], kinds)}


def below(text: str) -> str:
    """Links of a text as they are in a page one folder further down."""
    return re.sub(r"\]\((?=[\w.]+[/.])(?!\w+:)", "](../", text)


def _all_rows(root: Schema) -> Iterator[tuple[str, str, str]]:
    """Of an object its fields; of a list those of what is in it."""
    if "properties" in root:
        yield from _rows(root, root, "")
    for suffix, inner in _inner(root, {"items": root.get("items")}):
        yield from _rows(root, inner, f"{suffix}.")


def _rows(root: Schema, schema: Schema, at: str) -> Iterator[tuple[str, str, str]]:
    for name, field in schema.get("properties", {}).items():
        path, here = f"{at}{name}", _plain(root, field)
        meaning = " ".join(field.get("description", "").split())
        yield path, _words(root, field), meaning
        if _is_distribution(here):
            continue
        for suffix, inner in _inner(root, here):
            yield from _rows(root, _without_known(root, inner), f"{path}{suffix}.")


def _without_known(root: Schema, inner: Schema) -> Schema:
    """An object without the fields that it has in common with the whole result, if those are all
    that it has: they are listed there."""
    known, own = root.get("properties", {}), inner["properties"]
    if not set(own) <= set(known) or len(own) < 3:
        return inner
    return {"properties": {name: of for name, of in own.items() if of != known[name]}}


def _inner(root: Schema, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The objects in a field: itself, or those of its list, of its keys, or of its choices."""
    if "properties" in schema:
        yield "", schema
    items = schema.get("items")
    if isinstance(items, dict):
        for suffix, inner in _inner(root, _plain(root, items)):
            yield f"[]{suffix}", inner
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        for suffix, inner in _inner(root, _plain(root, others)):
            yield f".*{suffix}", inner
    for choice in schema.get("anyOf", []):
        yield from _inner(root, _plain(root, choice))


def _plain(root: Schema, schema: Any) -> Schema:
    """A schema without references, and without the choice of ``null``."""
    if not isinstance(schema, dict):
        return {}
    if "$ref" in schema:
        return _plain(root, _named(root, schema["$ref"]))
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if "anyOf" in schema and len(choices) == 1:
        return _plain(root, choices[0])
    return schema


def _named(root: Schema, place: str) -> Schema:
    return root["$defs"][place.removeprefix("#/$defs/")]


def _is_distribution(schema: Schema) -> bool:
    return {"count", "p999", "max"} <= set(schema.get("properties", {}))


def _words(root: Schema, schema: Schema) -> str:
    """A type in words."""
    nullable = ", or null" if _nullable(schema) else ""
    here = _plain(root, schema)
    if _is_distribution(here):
        return "distribution" + nullable
    names = here.get("type", "object" if "properties" in here else None)
    names = [names] if isinstance(names, str) else names or []
    name = next((name for name in names if name != "null"), None)
    if name == "array":
        items = here.get("items") or (here.get("prefixItems") or [{}])[0]
        return f"list of {_words(root, items)}{nullable}"
    words = {"integer": "whole number", "string": "text", "boolean": "yes or no",
             "object": "object", "number": "number"}
    if constants := _constants(root, here):
        return " or ".join(f"`{one}`" for one in constants) + nullable
    return words.get(name or "", "object") + nullable


def _nullable(schema: Schema) -> bool:
    named = schema.get("type")
    return (isinstance(named, list) and "null" in named) or any(
        one.get("type") == "null" for one in schema.get("anyOf", []))


def _constants(root: Schema, schema: Schema) -> list[str]:
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    found = [_constants(root, one) for one in schema.get("oneOf", [])]
    return [one[0] for one in found] if found and all(found) else []


def types(schemas: dict[str, Schema]) -> dict[str, str]:
    """The modules of Python's classes by name: one for each kind, and one of shared parts."""
    places: dict[str, list[str]] = {}
    shapes: dict[str, Schema] = {}
    for kind, schema in schemas.items():
        for name, part in {**schema.get("$defs", {}), schema["title"]: schema}.items():
            if "properties" not in part and part is not schema:
                continue
            shape = {key: part.get(key) for key in ("properties", "required")}
            assert shapes.setdefault(name, shape) == shape, f"two classes {name}"
            places.setdefault(name, []).append(kind)
    home = {name: SHARED if len(kinds) > 1 or name in BESIDE
            else TOGETHER.get(name, kinds[0].replace("-", "_"))
            for name, kinds in places.items()}
    modules = {}
    for module in sorted(set(home.values())):
        names = sorted(name for name in home if home[name] == module)
        kind = SHARED if module == SHARED else module.replace("_", "-")
        root = schemas.get(kind) or {"$defs": {
            name: part for schema in schemas.values()
            for name, part in schema.get("$defs", {}).items()}}
        modules[module] = _module(root, module, names, home)
    modules["kinds"] = _kind_module(schemas)
    return modules


def _module(root: Schema, module: str, names: list[str], home: dict[str, str]) -> str:
    about = ABOUT.get(module) or " ".join(root["description"].split("\n\n")[0].split())
    made = MADE.replace("the schemas of docs/reference/schema", OWN.get(module, "")) \
        if module in OWN else MADE
    text = _doc(about)[4:].rstrip()[:-3] + f"\n\n{made}\n\"\"\"\n"
    parts = {**root.get("$defs", {}), root.get("title", ""): root}
    classes = "".join(f"\n{_class(root, _class_name(name), parts[name])}" for name in names
                      if "properties" in parts[name])
    # Names of lists and of choices stand for what is above them.
    for name in names:
        if "properties" not in parts[name]:
            alias = _alias(_class_name(name), _type(root, parts[name]))
            classes += ("\n\n" if classes else "\n") + alias + "\n"
            classes += _doc(" ".join(parts[name]["description"].split()))[4:]
    text += "\nfrom __future__ import annotations\n"
    imports = ["dataclasses import dataclass"] if "@dataclass" in classes else []
    imports += ["typing import Any"] if "Any]" in classes else []
    text += "".join(f"{'' if at else chr(10)}from {one}\n" for at, one in enumerate(imports))
    gap = "\n"
    for other in sorted(ABOUT.keys() - {module}):
        shared = sorted(_class_name(name) for name in home if home[name] == other)
        used = [name for name in shared if module not in ABOUT and _uses(classes, name)]
        if used:
            lines = "".join(f"    {name},\n" for name in used)
            whole = f"from sluice.results.{other} import {', '.join(used)}\n"
            text += gap + (whole if len(used) == 1 else
                           f"from sluice.results.{other} import (\n{lines})\n")
            gap = ""
    return text + classes


def _alias(name: str, of: str) -> str:
    line = f"{name} = {of}"
    if len(line) <= 100:
        return line
    return f"{name} = (\n    " + of.replace(" | ", "\n    | ") + "\n)"


def _uses(classes: str, name: str) -> bool:
    """Whether the type of a field names a class."""
    return re.search(rf"^(    \w+: |\w+ = ).*\b{name}\b", classes, re.MULTILINE) is not None


def _kind_module(schemas: dict[str, Schema]) -> str:
    titles = {name: schema["title"] for name, schema in schemas.items()}
    rows = {kind: titles[name] for name, schema in schemas.items() for kind in _kinds(schema)}
    imports = "".join(f"from sluice.results.{name.replace('-', '_')} import {titles[name]}\n"
                      for name in sorted(titles, key=lambda name: name.replace("-", "_")))
    kinds = "".join(f'    "{kind}": {title},\n' for kind, title in sorted(rows.items()))
    all_of = "".join(f'    "{name}": {title},\n' for name, title in sorted(titles.items()))
    return (f'"""The classes of all results.\n\n{MADE}\n"""\n\n'
            f'from typing import Any\n\n{imports}\n'
            f"KINDS: dict[str, type] = {{\n{kinds}}}\n"
            '"""By the `kind` of a result."""\n\n'
            f"SCHEMAS: dict[str, Any] = {{\n{all_of}}}\n"
            '"""By the name of the schema."""\n')


def _kinds(schema: Schema) -> list[str]:
    field = schema.get("properties", {}).get("kind")
    return _constants(schema, _plain(schema, field)) if field else []


def _class_name(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.replace("_", " ").split())


def _class(root: Schema, title: str, schema: Schema) -> str:
    text = f"\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass {title}:\n"
    about = " ".join(schema.get("description", f"A {title}.").split())
    text += _doc(about)
    needed = set(schema.get("required", []))
    for field, of in schema["properties"].items():
        # What may be missing is none then.
        may_miss = field not in needed
        default = " = None" if may_miss else ""
        kind = _type(root, of)
        kind += " | None" if may_miss and not kind.endswith(" | None") else ""
        name = f"{field}_" if keyword.iskeyword(field) else field
        text += f"    {name}: {kind}{default}\n"
        # Some names say it all.
        if meaning := " ".join(of.get("description", "").split()):
            text += _doc(meaning)
    return text


def _doc(about: str) -> str:
    about = about.replace("\\", "\\\\")
    if len(about) <= 88:
        return f'    """{about}"""\n'
    return textwrap.fill(f'"""{about}"""', 98, initial_indent="    ",
                         subsequent_indent="    ", break_long_words=False,
                         break_on_hyphens=False) + "\n"


def _type(root: Schema, schema: Any) -> str:
    if schema is True or schema == {}:
        return "Any"
    if _nullable(schema):
        inner = {**schema}
        if isinstance(inner.get("type"), list):
            inner["type"] = next(one for one in inner["type"] if one != "null")
            return f"{_type(root, inner)} | None"
        return f"{_type(root, _only(schema))} | None"
    if "$ref" in schema:
        named = _named(root, schema["$ref"])
        if "properties" in named:
            return _class_name(schema["$ref"].removeprefix("#/$defs/"))
        return _type(root, named)
    if constants := _constants(root, schema):
        return "str" if isinstance(constants[0], str) else "int"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(root, one) for one in schema[key]))
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"tuple[{', '.join(_type(root, one) for one in schema['prefixItems'])}]"
        return f"list[{_type(root, schema.get('items', True))}]"
    if schema.get("type") == "object":
        others = schema.get("additionalProperties", True)
        inner = next(iter(schema["properties"].values())) if "properties" in schema else others
        return f"dict[str, {_type(root, inner)}]"
    return {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}[schema["type"]]


def _only(schema: Schema) -> Schema:
    return next(one for one in schema["anyOf"] if one.get("type") != "null")


if __name__ == "__main__":
    sys.exit(main())
