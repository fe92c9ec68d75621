"""Templates of pages: each fills the base that all have."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape


def environment() -> Environment:
    """Finds templates by their path in the package."""
    made = Environment(loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)
    made.filters["wrapping"] = wrapping
    return made


def wrapping(name: str) -> Markup:
    """A name such as ``latency_ns.accesses.mean`` may wrap behind its dots."""
    return escape(name).replace(".", Markup(".<wbr>"))


def asset(path: str) -> str:
    """The text of a file of the package."""
    return files("sluice").joinpath(path).read_text(encoding="utf-8")
