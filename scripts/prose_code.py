"""The comments and strings of programs, for scripts/prose.py."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterator
from inspect import cleandoc
from io import StringIO
from pathlib import Path
from typing import NamedTuple


class Text(NamedTuple):
    """A comment as a page, or a string, and the line that it begins on."""

    line: int
    text: str
    is_comment: bool


class Token(NamedTuple):
    """A piece of a file. Comments that stand alone on lines that follow one another are joined."""

    line: int
    text: str
    is_comment: bool
    is_alone: bool


# Comments, strings and characters of Rust, C and their like.
C_LIKE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | \bb?c?r(?P<bars>\#*)"(?P<raw>.*?)"(?P=bars)
      | "(?P<string>(?:[^"\\]|\\.)*)"
      | '(?:[^'\\\n]|\\[^\n]+?)'
    """,
    re.DOTALL | re.VERBOSE,
)
TOML = re.compile(
    r"""\"{3}(?P<long>.*?)\"{3}
      | '{3}(?P<bare>.*?)'{3}
      | "(?P<string>(?:[^"\\\n]|\\.)*)"
      | '(?P<raw>[^'\n]*)'
      | (?P<comment>\#[^\n]*)
    """,
    re.DOTALL | re.VERBOSE,
)
# Shells, makefiles and their like: what is no comment counts as a string, line by line.
SHELL = re.compile(r"(?:^|(?<=[ \t]))(?P<comment>#[^\n]*)|(?P<string>\S(?:[^\n#]|(?<=\S)#)*)")
# What begins a line of a comment. Documentation is another comment than what stands beneath it.
MARK = re.compile(r"//[/!]?|#+!?|/\*[*!]?|\*(?=\s|$)")
# What stands in columns, and a line of an example in Python.
COLUMNS = re.compile(r"\S {3,}\S")
EXAMPLE = re.compile(r"(>>>|\.\.\.)( |$)")
ESCAPE = re.compile(r"\\(\n\s*|[nrt])")


def scanned(text: str, pattern: re.Pattern[str]) -> Iterator[Token]:
    """The comments and strings of a file, by the pattern of its language's tokens."""
    line, at = 1, 0
    for found in pattern.finditer(text):
        line, at = line + text.count("\n", at, found.start()), found.start()
        if found.lastgroup == "comment":
            alone = not text[text.rfind("\n", 0, at) + 1:at].strip()
            yield Token(line, found[0], True, alone)
        elif found.lastgroup:
            string = ESCAPE.sub(lambda it: " " if it[1] in "nrt" else "", found[found.lastgroup])
            yield Token(line, string, False, False)


def tokens_of_python(text: str) -> Iterator[Token]:
    """Comments, docstrings and other strings. What stands in braces of one is left out."""
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Token(token.start[0], token.string, True, not token.line[:token.start[1]].strip())
    seen: set[ast.AST] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                seen.add(node.value)
                yield Token(node.lineno, cleandoc(node.value.value), True, False)
        elif isinstance(node, ast.JoinedStr):
            parts = [each for each in node.values if isinstance(each, ast.Constant)]
            seen.update(parts)
            yield Token(node.lineno, "{}".join(str(part.value) for part in parts), False, False)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
            yield Token(node.lineno, node.value, False, False)


def laid_out(lines: list[str]) -> str:
    """The lines of a comment as those of a page: rows of columns are items, and examples empty."""
    rows = ["" if EXAMPLE.match(line) else line for line in lines]
    paragraphs = "\n".join(rows).split("\n\n")
    rows = [re.sub("^", "- ", each, flags=re.MULTILINE) if COLUMNS.search(each) else each
            for each in paragraphs]
    return "\n\n".join(rows)


def texts(tokens: Iterator[Token]) -> Iterator[Text]:
    """Comments without their marks, joined to such as people read, and strings as they are."""
    lines: list[str] = []
    begins, mark = 0, ""
    for token in tokens:
        if not token.is_comment:
            yield Text(token.line, token.text, False)
            continue
        its = found[0] if (found := MARK.match(token.text)) else ""
        goes_on = token.is_alone and its == mark and token.line == begins + len(lines)
        if lines and not goes_on:
            yield Text(begins, laid_out(lines), True)
            lines = []
        if not lines:
            begins = token.line
        mark = its if token.is_alone else ""
        bare = (line.strip() for line in token.text.removesuffix("*/").split("\n"))
        lines += [MARK.sub("", line, count=1).strip() if its else line for line in bare]
    if lines:
        yield Text(begins, laid_out(lines), True)


LANGUAGES: dict[str, Callable[[str], Iterator[Token]]] = {
    **dict.fromkeys(
        (".rs", ".c", ".h", ".cc", ".hh", ".cpp", ".js", ".java"),
        lambda text: scanned(text, C_LIKE),
    ),
    **dict.fromkeys((".py", ".pyi"), tokens_of_python),
    ".toml": lambda text: scanned(text, TOML),
    **dict.fromkeys((".sh", "Makefile", "Containerfile"), lambda text: scanned(text, SHELL)),
}
# Folders with programs, and files beside them.
WHERE = ("crates", "examples", "experiments", "packaging", "presets", "python", "scripts", "tests")
BESIDE = (".ci/run", "Containerfile", "Makefile", "pyproject.toml", "Cargo.toml")
# What the headers that a command writes say of themselves.
GENERATED = "Made by `make docs`"


def language(path: Path, text: str) -> Callable[[str], Iterator[Token]] | None:
    """By the ending or the name; of a script by its first line."""
    if not path.suffix and text.startswith("#!"):
        return LANGUAGES[".py" if "python" in text.split("\n", 1)[0] else ".sh"]
    return LANGUAGES.get(path.suffix or path.name)


def programs(root: Path) -> Iterator[tuple[str, list[Text]]]:
    """What people read in each program that is written by hand."""
    files = (path for folder in WHERE for path in root.glob(f"{folder}/**/*"))
    for path in sorted([*files, *(root / name for name in BESIDE)]):
        if path.suffix and path.suffix not in LANGUAGES or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        tokens = language(path, text)
        if tokens and GENERATED not in text[:500]:
            yield str(path.relative_to(root)), list(texts(tokens(text)))
