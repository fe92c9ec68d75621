"""A table of a TOML file whose every key is asked for: what nobody asked for is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sluice.errors import ExperimentError

T = TypeVar("T")


def read(path: Path) -> Section:
    """The file as a section. Raises ``ExperimentError`` that names file and place."""
    try:
        return Section(path, "", tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ExperimentError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ExperimentError(f"{path}: {error}") from None


class Section:
    """Reads keys with their kinds; :meth:`done` refuses the rest."""

    def __init__(self, path: Path, name: str, values: Mapping[str, Any]) -> None:
        self.path = path
        self.name = name
        self._values = dict(values)
        self._asked: list[str] = []

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        self._asked.append(key) if key not in self._asked else None
        return key in self._values

    def error(self, key: str, problem: str) -> ExperimentError:
        """An error about one key of this section."""
        return ExperimentError(f"{self.path}: {self.full(key)}: {problem}", key=self.full(key))

    def full(self, key: str) -> str:
        """The key with the section's name before it."""
        return ".".join(part for part in (self.name, key) if part)

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without a default it must be there."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"a text was needed, not {value!r}")
        return " ".join(value.split())

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of these words."""
        value = self.text(key, default)
        if value not in choices:
            raise self.error(key, f"no {value!r}; there are {', '.join(choices)}")
        return value

    def number(self, key: str) -> float:
        """A number that must be there."""
        value = self._get(key, None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"a number was needed, not {value!r}")
        return float(value)

    def flag(self, key: str) -> bool:
        """A truth; false if it is not there."""
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self.error(key, f"true or false was needed, not {value!r}")
        return value

    def texts(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """A list of strings; numbers become text."""
        value = self._get(key, default)
        if not isinstance(value, list | tuple) or any(isinstance(v, dict | list) for v in value):
            raise self.error(key, f"a list of texts was needed, not {value!r}")
        return [str(one) for one in value]

    def settings(self, key: str) -> dict[str, str]:
        """A table of plain values, as text; empty if it is not there."""
        value = self._get(key, {})
        if not isinstance(value, dict) or any(isinstance(v, dict | list) for v in value.values()):
            raise self.error(key, "a table of plain values was needed")
        return {name: str(one) for name, one in value.items()}

    def raw(self, key: str, default: T) -> Any | T:
        """Whatever is there."""
        return self._get(key, default)

    def table(self, key: str) -> Section:
        """A table below; an empty one if it is not there."""
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"a table was needed, not {value!r}")
        return Section(self.path, self.full(key), value)

    def tables(self, key: str) -> list[Section]:
        """A list of tables; an empty one if it is not there."""
        value = self._get(key, [])
        if not isinstance(value, list) or any(not isinstance(one, dict) for one in value):
            raise self.error(key, "a list of tables was needed ([[...]])")
        return [Section(self.path, f"{self.full(key)}[{index}]", one)
                for index, one in enumerate(value, start=1)]

    def values(self) -> dict[str, Any]:
        """Everything, as it was read."""
        return dict(self._values)

    def keys(self) -> list[str]:
        """Every key, for tables whose names are free; each is then asked for."""
        return list(self._values)

    def done(self) -> None:
        """Raises ``ExperimentError`` for the first key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.error(key, f"no such key; there are {', '.join(sorted(self._asked))}")

    def _get(self, key: str, default: Any) -> Any:
        self._asked.append(key) if key not in self._asked else None
        if key in self._values:
            return self._values[key]
        if default is None:
            raise self.error(key, "is missing")
        return default
