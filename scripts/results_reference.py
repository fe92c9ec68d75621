"""From the schemas of the results to the page of their fields and to Python's types.

The schemas (``docs/reference/schema``) are made from the structs of ``sluice-results``; the comment
of a field there is its meaning here.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

PAGE_TOP = """
`--json` prints one JSON object on the last line of standard output; `--out DIR` writes the same
object, indented, to `DIR/stats.json`. The other files of `DIR` are described in
[formats.md](formats.md). `schema` changes when a field changes its meaning. Times that end in `_ns`
are nanoseconds, in `_s` seconds, in `_ps` picoseconds. A ratio of nothing to nothing is `null`. Each
kind has a JSON schema, and Python's `sluice.results` has a class for each.

A distribution has `count`, `mean`, `p50`, `p90`, `p99`, `p999` and `max`. Live, mean and maximum are
exact and percentiles within 0.4 %.
"""
# Schema, title and notes of each section.
SECTIONS = (
    ("run", "Live runs", """
The figures are those of the program itself: of the process that `sluice run` started, and of its
last image if it called `exec`. Its children have their own lines in `processes`. Of a guest
(`sluice vm`, `kind` `vm`) the figures are of QEMU's whole life.

`achieved` is measured from the fault as the runtime sees it to the call that maps the page, plus
`host.entry_ns` and `host.exit_ns`: what the kernel needs before and after cannot be timed trap by
trap. Both are medians of faults taken at the start. A program that times its own accesses
(`sluice workload chase`) owes nothing to that.
"""),
    ("sim", "Simulated devices", ""),
    ("system", "Simulated hosts", """
All counts are of the measured part, without the warm-up, but `lines`, `flash.read_only` and
`flash.erases_of_a_line`, which are of the device's whole life. `config` has the
[keys of the host](systems.md) as well. The time that the simulation took is no part of the object: it
stands on standard error. `program` is one of a kernel, a trace and a program that QEMU executed.

`--out DIR` keeps `config.toml` (a system file at full size, to be run again), `stats.json`,
`latency.csv` and `flash_read.csv` (nanoseconds, count), and with `--timeline` `timeline.csv`.
"""),
    ("fabric", "Fabrics", """
`config` has the [keys of the fabric](fabrics.md). Requests, times and bytes are those since
`warmup_requests` had come back.
"""),
    ("trace-info", "Traces", ""),
    ("trace-record", "Recordings", ""),
    ("trace-convert", "Conversions", ""),
    ("top", "Rates", ""),
    ("counters", "Counters", """
They count from the start of a process. Those without a unit in their name are numbers of events.
"""),
    ("replay", "Replays in Python", ""),
    ("policy-misses", "Policies alone, in Python", ""),
)
TYPES_TOP = '''"""What results have in them: a class for each kind of result, and for each part.

:func:`read` makes one of the object that a command printed or a function returned. A field that is
misspelt is an ``AttributeError``.

{made_by}
"""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, dataclass, fields
from typing import Any

from sluice.errors import ResultError

'''
TYPES_END = '''

KINDS: dict[str, type] = {kinds}
"""The class of each ``kind``."""


def read(result: dict[str, Any]) -> Any:
    """A result of any ``kind`` as its class. Raises :class:`sluice.ResultError`."""
    kind = result.get("kind")
    if kind not in KINDS:
        raise ResultError(f"kind is {kind!r}, expected one of {', '.join(KINDS)}")
    return read_as(KINDS[kind], result)


def read_as(of: Any, value: Any, at: str = "") -> Any:
    """A value as a class or another type of this module. Raises :class:`sluice.ResultError`."""
    inner = typing.get_args(of)
    if isinstance(of, types.UnionType):
        return _one_of(inner, value, at)
    origin = typing.get_origin(of) or of
    if origin is list and isinstance(value, list):
        return [read_as(inner[0], item, f"{at}[{index}]") for index, item in enumerate(value)]
    if origin is tuple and isinstance(value, list) and len(value) == len(inner):
        return tuple(read_as(one, item, at) for one, item in zip(inner, value, strict=True))
    if origin is dict and isinstance(value, dict):
        return {key: read_as(inner[1], item, f"{at}.{key}") for key, item in value.items()}
    if of is Any or (of is float and type(value) is int) or type(value) is of:
        return value
    if hasattr(of, "__dataclass_fields__") and isinstance(value, dict):
        return _object(of, value, at)
    raise ResultError(f"{at or 'the result'} is {str(value)[:40]}, expected {of}")


def _one_of(kinds: tuple[Any, ...], value: Any, at: str) -> Any:
    problem = None
    for kind in kinds:
        if kind is types.NoneType:
            if value is None:
                return None
            continue
        try:
            return read_as(kind, value, at)
        except ResultError as error:
            problem = problem or error
    raise problem or ResultError(f"{at} is {value}")


def _object(of: type, value: dict[str, Any], at: str) -> Any:
    hints = typing.get_type_hints(of)
    if unknown := sorted(set(value) - set(hints)):
        raise ResultError(f"{at or 'the result'} has no field {unknown[0]}")
    needed = {field.name for field in fields(of) if field.default is MISSING}
    if missing := sorted(needed - set(value)):
        raise ResultError(f"{at or 'the result'} lacks {missing[0]}")
    return of(**{name: read_as(hints[name], item, f"{at}.{name}".lstrip("."))
                 for name, item in value.items()})


def paths(of: Any) -> set[tuple[str, ...]]:
    """The paths of all fields of a class, those of objects and of what is in them."""
    found = set()
    for kind in typing.get_args(of) if isinstance(of, types.UnionType) else (of,):
        if not hasattr(kind, "__dataclass_fields__"):
            continue
        for name, hint in typing.get_type_hints(kind).items():
            found |= {(name,)} | {(name, *path) for path in paths(hint)}
    return found
'''


def load(folder: Path) -> dict[str, Schema]:
    """The schemas by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.json"))}


def page(schemas: dict[str, Schema], made_by: str, table: Any) -> str:
    """The page of all fields."""
    text = "# Output\n\n" + made_by.rstrip() + "\n" + PAGE_TOP
    for name, title, notes in SECTIONS:
        schema = schemas[name]
        text += f"\n## {title}\n\n{schema['description']} Schema: [{name}.json](schema/{name}.json).\n"
        text += notes + "\n"
        rows = [[f"`{path}`", kind, meaning] for path, kind, meaning in _rows(schema, schema, "")]
        text += table(["field", "type", "meaning"], rows)
    return text


def _rows(root: Schema, schema: Schema, at: str) -> Iterator[tuple[str, str, str]]:
    for name, field in schema.get("properties", {}).items():
        path, here = f"{at}{name}", _plain(root, field)
        meaning = " ".join(field.get("description", "").split())
        yield path, _words(root, field), meaning
        if _is_distribution(here):
            continue
        for suffix, inner in _inner(root, here):
            yield from _rows(root, inner, f"{path}{suffix}.")


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
    named = schema.get("type", [])
    return "null" in named if isinstance(named, list) else any(
        one.get("type") == "null" for one in schema.get("anyOf", []))


def _constants(root: Schema, schema: Schema) -> list[str]:
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    found = [_constants(root, one) for one in schema.get("oneOf", [])]
    return [one[0] for one in found] if found and all(found) else []


def types(schemas: dict[str, Schema], made_by: str) -> str:
    """The module of Python's classes."""
    classes: dict[str, Schema] = {}
    for schema in schemas.values():
        for name, part in {**schema.get("$defs", {}), schema["title"]: schema}.items():
            shape = {"properties": part.get("properties"), "required": part.get("required")}
            known = classes.setdefault(name, part)
            assert shape == {key: known.get(key) for key in shape}, f"two classes {name}"
    text = TYPES_TOP.format(made_by=made_by)
    roots = {schema["title"]: schema for schema in schemas.values()}
    for name in sorted(classes):
        part = classes[name]
        root = next(one for one in schemas.values()
                    if one["title"] == name or name in one.get("$defs", {}))
        if "properties" in part and _class_name(name) not in ("Schema",):
            text += "\n" + _class(root, _class_name(name), part)
    kinds = {kind: title for title, schema in roots.items()
             for kind in _kinds(schema)}
    shown = "{" + ", ".join(f'"{kind}": {title}' for kind, title in sorted(kinds.items())) + "}"
    return text + TYPES_END.format(kinds=shown) if False else text + TYPES_END.replace(
        "{kinds}", shown)


def _kinds(schema: Schema) -> list[str]:
    field = schema.get("properties", {}).get("kind")
    return _constants(schema, _plain(schema, field)) if field else []


def _class_name(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.replace("_", " ").split())


def _class(root: Schema, name: str, schema: Schema) -> str:
    text = f"\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass {name}:\n"
    about = " ".join(schema.get("description", f"A {name}.").split())
    text += _doc(about)
    needed = set(schema.get("required", []))
    for field, of in schema["properties"].items():
        default = "" if field in needed else " = None"
        text += f"    {field}: {_type(root, of)}{default}\n"
        text += _doc(" ".join(of.get("description", "").split()))
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
