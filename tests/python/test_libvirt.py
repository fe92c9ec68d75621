"""The example for libvirt says what `sluice vm` says, and its QEMU is one under `sluice run`."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
EXAMPLE = ROOT / "examples" / "libvirt"
ARGUMENT = "{http://libvirt.org/schemas/domain/qemu/1.0}arg"
DEVICE = "/dev/shm/sluice-device"
FAKE = """#!/bin/sh
for word in "$@"; do
    echo "$word"
    case $word in
    *sluice-*,mem-path=*) path=${word#*mem-path=}; stat -c %s "${path%%,*}" ;;
    esac
done
# The files of this image of the process, which is the last so far.
for last in "$SLUICE_SESSION/proc-$$"-*.stats; do :; done
[ -z "$SLUICE_SESSION" ] || echo "${last%.stats}"
"""


def pairs(words: list[str]) -> list[tuple[str, str]]:
    """Options with their values."""
    assert len(words) % 2 == 0, words
    return list(zip(words[::2], words[1::2], strict=True))


def printed() -> list[tuple[str, str]]:
    """What `sluice vm` prints for the example's sizes, with the example's file as its device."""
    asked = [str(SLUICE), "vm", "--attach", "dax", "--accel", "tcg", "--set",
             "device.capacity=1GiB", "--dry-run", "--", "-m", "1G", "-smp", "2"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    found = pairs(shlex.split(done.stdout)[1:])
    is_path = "mem-path=/proc/self/fd/"
    return [(name, ",".join(f"mem-path={DEVICE}" if one.startswith(is_path) else one
                            for one in value.split(","))) for name, value in found]


def written() -> list[tuple[str, str]]:
    """The arguments of the domain: what is libvirt's by its elements, the rest as arguments."""
    domain = ElementTree.parse(EXAMPLE / "domain.xml").getroot()

    def one(path: str) -> ElementTree.Element:
        found = domain.findall(path)
        assert len(found) == 1, path
        return found[0]

    def size(path: str) -> str:
        found = one(path)
        assert found.get("unit") == "bytes"
        return found.text or ""

    cell = one("cpu/numa/cell")
    assert (cell.get("memory"), cell.get("unit")) == (size("memory"), "bytes")
    assert cell.get("cpus") == f"0-{int(one('vcpu').text or '') - 1}"
    slots = one("maxMemory").get("slots")
    accel = {"qemu": "tcg", "kvm": "kvm"}[domain.get("type", "")]
    model = {"maximum": "max"}[one("cpu").get("mode", "")]
    panic = {"isa": "pvpanic"}[one("devices/panic").get("model", "")]
    action = {"destroy": "panic=exit-failure"}[one("on_crash").text or ""]
    own = [("-accel", accel), ("-cpu", model), ("-smp", one("vcpu").text or ""),
           ("-m", f"{size('memory')}B,slots={slots},maxmem={size('maxMemory')}B"),
           ("-device", panic), ("-action", action)]
    arguments = pairs([arg.get("value", "") for arg in domain.iter(ARGUMENT)])
    kind = one("os/type").get("machine")
    return own + [(name, f"{kind},{value}" if name == "-machine" else value)
                  for name, value in arguments]


def test_the_domain_says_what_the_program_says() -> None:
    assert sorted(written()) == sorted(printed())


def test_its_qemu_is_under_sluice_if_the_domain_names_the_device(tmp_path: Path) -> None:
    fake = tmp_path / "qemu-system-x86_64"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    # The one file of the example's name may be somebody's; here it has another.
    device = tmp_path / "device"
    script = tmp_path / "qemu-on-sluice"
    text = (EXAMPLE / "qemu-on-sluice").read_text()
    memory = Path(f"/dev/shm/sluice-test-{os.getpid()}")
    assert text.count(DEVICE) == 1
    script.write_text(text.replace(DEVICE, str(memory)).replace("/var/log/sluice", str(device)))
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{SLUICE.parent}:{os.environ['PATH']}"}

    def run(*words: str) -> list[str]:
        done = subprocess.run([script, *words], env=environment, capture_output=True, text=True,
                              check=True)
        return done.stdout.splitlines()

    try:
        probe = ["-S", "-machine", "none,accel=tcg", "-daemonize"]
        assert run(*probe) == probe
        assert not memory.exists()
        backend = dict(pairs([arg.get("value", "") for arg in ElementTree.parse(
            EXAMPLE / "domain.xml").iter(ARGUMENT)]))["-object"].replace(DEVICE, str(memory))
        given = ["-name", "a guest", "-object", backend]
        words = run(*given)
        assert words[:4] == given
        assert memory.stat().st_size == 1 << 30
        # Each file is there, as long as QEMU expects it to be.
        shared = "memory-backend-file,share=on,id=sluice-"
        assert [word.startswith(shared) for word in words[4:14]] == [
            False, True, False, False, False] * 2
        assert ",size=128K" in words[5] and words[6] == str(128 << 10)
        assert words[10].endswith(f",size={words[11]},readonly=on")
        own = f"mem-path={words[14]}"
        assert f"{own}.guest-ring," in words[5] and f"{own}.stats," in words[10]
        assert words[8].startswith("ivshmem-plain,memdev=sluice-ring")
        assert words[13].startswith("ivshmem-plain,memdev=sluice-view")
        results = list(device.iterdir())
        assert len(results) == 1 and (results[0] / "stats.json").exists()
    finally:
        memory.unlink(missing_ok=True)
