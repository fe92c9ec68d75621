"""Does Python see the same device as the rest of Sluice?"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import sluice

PRESETS = Path(__file__).parents[2] / "presets" / "devices"


def test_presets_are_the_files_of_the_repository() -> None:
    found = {preset["name"]: preset for preset in sluice.presets()}
    assert set(found) == {path.stem for path in PRESETS.glob("*.toml")}
    assert found["cylon"]["toml"] == (PRESETS / "cylon.toml").read_text()
    assert all(preset["meaning"] for preset in found.values())


def test_a_preset_resolves_to_what_its_file_says() -> None:
    resolved = sluice.resolve("cylon")
    assert list(resolved) == [param["key"] for param in sluice.params()]
    for table, values in tomllib.loads((PRESETS / "cylon.toml").read_text()).items():
        for name, value in values.items():
            given = sluice.resolve("cylon", {f"{table}.{name}": str(value)})
            assert resolved[f"{table}.{name}"] == given[f"{table}.{name}"]


def test_overrides_replace_single_values() -> None:
    before = sluice.resolve("cylon")
    after = sluice.resolve("cylon", {"nand.read": "5us", "nand.channels": 4})
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"nand.read", "nand.channels"}
    assert after["nand.read"] == "5us" and after["nand.channels"] == "4"


def test_a_file_is_a_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[nand]\nread = "7us"\n')
    assert sluice.resolve(str(path))["nand.read"] == "7us"


def test_every_parameter_accepts_its_default_and_its_choices() -> None:
    for param in sluice.params():
        for value in [param["default"], *param["choices"]]:
            try:
                sluice.resolve("cylon", {param["key"]: value})
            except sluice.ImpossibleError:
                # A valid value that needs another one beside it, such as a prefetch degree.
                pass
        assert param["meaning"] and param["source"] and param["expected"]


def test_policies_are_the_choices_of_their_parameters() -> None:
    choices = {param["key"]: param["choices"] for param in sluice.params()}
    for kind, key in (("eviction", "cache.policy"), ("prefetch", "prefetch.policy")):
        names = [policy["name"] for policy in sluice.policies() if policy["kind"] == kind]
        assert names == choices[key]
    assert {"fifo", "lifo", "lru", "clock", "s3fifo"} <= set(choices["cache.policy"])


def test_errors_say_kind_key_value_and_what_would_do() -> None:
    with pytest.raises(sluice.UnknownKeyError) as unknown:
        sluice.resolve("cylon", {"cache.polcy": "lru"})
    assert unknown.value.key == "cache.polcy"
    assert "cache.policy" in unknown.value.expected
    with pytest.raises(sluice.BadValueError) as bad:
        sluice.resolve("cylon", {"cache.policy": "lrru"})
    assert (bad.value.key, bad.value.value) == ("cache.policy", "lrru")
    assert "fifo" in bad.value.expected and "lrru" in str(bad.value)
    with pytest.raises(sluice.ImpossibleError) as impossible:
        sluice.resolve("cylon", {"device.capacity": "16MiB", "cache.capacity": "32MiB"})
    assert "cache.capacity" in impossible.value.key
    with pytest.raises(sluice.UnknownDeviceError) as device:
        sluice.resolve("cylom")
    assert device.value.value == "cylom" and "cylon" in device.value.expected
    for error in (unknown, bad, impossible, device):
        assert isinstance(error.value, sluice.ConfigError)
        assert "\n" not in str(error.value)


def test_an_error_in_a_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[nand]\nread = "7parsec"\n')
    with pytest.raises(sluice.BadValueError, match=r"mine\.toml:2:"):
        sluice.resolve(str(path))
    path.write_text("[nand\n")
    with pytest.raises(sluice.ConfigError, match=r"mine\.toml:1:"):
        sluice.resolve(str(path))


def test_a_key_that_is_no_text_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        sluice.resolve("cylon", {1: "lru"})  # type: ignore[dict-item]
