"""No module of the package needs one that needs it."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "sluice"


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST) -> Iterator[str]:
    """What a module imports anywhere, also inside functions and for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "imports name the whole package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _graph(sources: dict[str, str]) -> dict[str, set[str]]:
    def module(name: str) -> str:
        while name and name not in sources:
            name = name.rpartition(".")[0]
        return name

    found = {name: {module(other) for other in _imported(ast.parse(text))}
             for name, text in sources.items()}
    # A package is made of its modules, which may use what it defines.
    return {name: {other for other in others - {name, ""} if not other.startswith(f"{name}.")}
            for name, others in found.items()}


def _circle(sources: dict[str, str]) -> list[str]:
    try:
        TopologicalSorter(_graph(sources)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_needs_one_that_needs_it() -> None:
    sources = {_name(path): path.read_text() for path in PACKAGE.rglob("*.py")}
    assert len(sources) > 50
    assert _circle(sources) == []


def test_a_circle_is_found_wherever_the_import_stands() -> None:
    later = "def f():\n    from sluice.a import g\n"
    assert _circle({"sluice.a": "from sluice import b", "sluice.b": "import os"}) == []
    assert set(_circle({"sluice.a": "from sluice import b", "sluice.b": later})) == {
        "sluice.a", "sluice.b"}
