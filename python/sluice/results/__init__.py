"""Results as classes: one for each kind of result, and one for each part.

:func:`read` makes one of the object that a command printed or a function returned. A field that is
misspelt is an ``AttributeError``. The classes are made from the schemas in docs/reference/schema.
"""

from __future__ import annotations

import json
import keyword
import types
import typing
from dataclasses import MISSING, fields
from typing import Any

from sluice.errors import ResultError
from sluice.results.kinds import KINDS, SCHEMAS

__all__ = ["KINDS", "SCHEMAS", "field_kinds", "paths", "read", "read_as"]

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false",
          list: "an array", tuple: "an array"}


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
    shown, expected = json.dumps(value, default=str)[:40], _WORDS.get(origin, "an object")
    raise ResultError(f"{at or 'the result'} is {shown}, expected {expected}")


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
    # A key that is a word of Python's is a field with a line behind it.
    value = {f"{key}_" if keyword.iskeyword(key) else key: item for key, item in value.items()}
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


def field_kinds(kinds: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """The types that the field ``name`` has in values of these types, those in its lists too."""
    found: list[Any] = []
    for kind in kinds:
        if hasattr(kind, "__dataclass_fields__"):
            hints = typing.get_type_hints(kind)
            found += _plain_kinds(hints.get(f"{name}_" if keyword.iskeyword(name) else name))
        elif typing.get_origin(kind) is dict:
            found += _plain_kinds(typing.get_args(kind)[1])
    return tuple(found)


def _plain_kinds(hint: Any) -> list[Any]:
    if isinstance(hint, types.UnionType):
        return [plain for one in typing.get_args(hint) for plain in _plain_kinds(one)]
    if typing.get_origin(hint) is list:
        return _plain_kinds(typing.get_args(hint)[0])
    return [] if hint in (None, types.NoneType) else [hint]
