"""Traces from Python, and public formats written here by their published layouts."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import sluice
from sluice.trace import (
    ACCESS,
    BLOCK_FLUSH,
    BLOCK_READ,
    BLOCK_TRIM,
    BLOCK_WRITE,
    FETCH,
    LOAD,
    STORE,
)

REPOSITORY = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
SLUICE = TARGET / "release" / "sluice"
CHAMPSIM = struct.Struct("<Q BB 2B 4B 2Q 4Q")
"""ChampSim's inc/trace_instruction.h, input_instr: ip, is_branch, branch_taken, destination and
source registers, destination and source memory."""
ORACLE = struct.Struct("<IQIq")
"""libCacheSim's oracleGeneralBin.h: clock_time, obj_id, obj_size, next_access_vtime."""


def converted(source: Path, kind: str, *more: str) -> tuple[sluice.Trace, dict]:
    out = source.with_suffix(".trace")
    command = [SLUICE, "trace", "convert", "--force", source, out, "--from", kind, "--json",
               *more]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return sluice.read_trace(out), json.loads(told.stdout)


def rows(trace: sluice.Trace) -> list[tuple[int, ...]]:
    """Instructions, kind, address and size of every access."""
    fields = ("instructions", "kind", "address", "size")
    return [tuple(int(access[field]) for field in fields) for access in trace[:]]


def instructions() -> list[tuple[int, list[int], list[int]]]:
    """Addresses of instructions, and what they load and store."""
    draw = random.Random(5)

    def some(most: int) -> list[int]:
        return [draw.randrange(1, 1 << 47) for _ in range(draw.randrange(most + 1))]

    return [(0x40_0000 + 4 * n, some(4), some(2)) for n in range(3000)]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_champsim_is_read_as_its_header_says(tmp_path: Path, compress) -> None:
    program = instructions()
    records = []
    for ip, loads, stores in program:
        # A tracer fills the places from the first on; a branch reads and writes register 26.
        source, destination = loads + [0] * (4 - len(loads)), stores + [0] * (2 - len(stores))
        is_branch = ip % 7 == 0
        registers = [26, 0, 26, 6, 0, 0] if is_branch else [1, 2, 3, 4, 5, 6]
        records.append(CHAMPSIM.pack(ip, is_branch, is_branch, *registers, *destination, *source))
    source = tmp_path / "605.mcf.champsimtrace"
    source.write_bytes(compress(b"".join(records)))
    assert CHAMPSIM.size == 64
    trace, told = converted(source, "champsim", "--fetches")
    due = []
    for number, (ip, loads, stores) in enumerate(program):
        due.append((number, FETCH, ip, 4))
        due += [(number, LOAD, address, 8) for address in loads]
        due += [(number, STORE, address, 8) for address in stores]
    assert rows(trace) == due
    assert told["accesses"] == len(due)


def test_oracle_general_is_read_as_libcachesims_reader_does(tmp_path: Path) -> None:
    requests = [
        (0, 7, 4096, 4),
        (0, 8, 512, -1),
        (1, 9, 0, -1),  # its reader passes over what has no bytes
        (3, 7, 4096, 2**63 - 1),  # never again, in another spelling
        (3, 2**40, 9000, -1),
    ]
    source = tmp_path / "w01.oracleGeneral"
    source.write_bytes(b"".join(ORACLE.pack(*request) for request in requests))
    assert source.stat().st_size == 24 * len(requests)
    trace, told = converted(source, "oracle-general", "--instructions-per-second", "1M")
    assert rows(trace) == [
        (0, LOAD, 7 * 4096, 4096),
        (0, LOAD, 8 * 4096, 512),
        (3_000_000, LOAD, 7 * 4096, 4096),
        (3_000_000, LOAD, 2**40 * 4096, 4096),
    ]
    assert "1 requests of 0 bytes left out" in told["notes"]
    assert "1 requests of more than that were cut" in told["notes"]


def test_a_request_is_its_lines_or_one_access_for_each_page(tmp_path: Path) -> None:
    source = tmp_path / "disk.csv"
    source.write_text("0,host,0,Read,4000,5000,1\n0,host,0,Write,8192,4096,1\n")
    trace, told = converted(source, "msr-csv")
    assert rows(trace) == [(0, LOAD, 4000, 96), (0, LOAD, 4096, 4096), (0, LOAD, 8192, 808),
                           (0, STORE, 8192, 4096)]
    assert any("asks a device 64 times" in note for note in told["notes"])
    trace, told = converted(source, "msr-csv", "--request", "page")
    assert rows(trace) == [(0, LOAD, 4000, 32), (0, LOAD, 4096, 64), (0, LOAD, 8192, 64),
                           (0, STORE, 8192, 64)]
    assert "sizes of accesses" in told["lost"]
    objects = tmp_path / "big.oracleGeneral"
    objects.write_bytes(ORACLE.pack(0, 3, 9000, -1))
    trace, _ = converted(objects, "oracle-general", "--object", "16KiB", "--request", "page")
    assert rows(trace) == [(0, LOAD, 3 * 16384 + page * 4096, 64) for page in range(3)]
    command = [SLUICE, "trace", "convert", source, "x.trace", "--from", "lackey", "--request",
               "page"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2 and "lackey has accesses, no requests" in refused.stderr


def test_objects_named_by_hashes_are_numbered(tmp_path: Path) -> None:
    draw = random.Random(6)
    hashes = [draw.randrange(1 << 63, 1 << 64) for _ in range(50)]
    order = [draw.choice(hashes) for _ in range(400)]
    source = tmp_path / "twitter.oracleGeneral"
    source.write_bytes(b"".join(ORACLE.pack(0, name, 100, -1) for name in order))
    command = [SLUICE, "trace", "convert", source, "x.trace", "--from", "oracle-general"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--number-objects" in refused.stderr and "request 1" in refused.stderr
    trace, _ = converted(source, "oracle-general", "--number-objects")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(order))}
    assert (trace[:]["address"] // 4096).tolist() == [numbers[name] for name in order]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_block_trace_is_read_as_its_readme_says(tmp_path: Path, end: str) -> None:
    # Windows filetime, units of 100 ns since 1601; offset and size in bytes; no heading.
    start = 128_166_372_003_061_629
    lines = [
        f"{start},hm,1,Read,383496192,32768,413",
        f"{start + 10_000_000},hm,1,Write,2822144,4096,1058",
        f"{start + 15_000_000},hm,1,Write,4608,5120,20",
    ]
    source = tmp_path / "hm_1.csv"
    source.write_bytes(gzip.compress((end.join(lines) + end).encode()))
    trace, _ = converted(source, "msr-csv", "--instructions-per-second", "1000")
    whole = [(0, LOAD, 383_496_192 + n * 4096, 4096) for n in range(8)]
    write = [(1000, STORE, 2_822_144, 4096)]
    # Bytes 4608 to 9728 touch two pages.
    parts = [(1500, STORE, 4608, 3584), (1500, STORE, 8192, 1536)]
    assert rows(trace) == whole + write + parts


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A trace of several blocks, and what is in it."""
    draw = np.random.default_rng(7)
    count = 300_000
    due = np.zeros(count, dtype=ACCESS)
    due["address"] = draw.integers(1, 1 << 40, count)
    due["instructions"] = np.arange(count)
    due["size"] = draw.integers(1, 65, count)
    due["kind"] = draw.integers(0, 2, count)
    path = tmp_path_factory.mktemp("trace") / "random"
    names = {LOAD: " L", STORE: " S"}
    with path.with_suffix(".lackey").open("w") as text:
        for access in due:
            address, size = int(access["address"]), int(access["size"])
            text.write(f"I  00001000,4\n{names[int(access['kind'])]} {address:x},{size}\n")
    converted(path.with_suffix(".lackey"), "lackey")
    return path.with_suffix(".trace"), due


def test_slices_are_what_the_trace_has(trace: tuple[Path, np.ndarray]) -> None:
    path, due = trace
    read = sluice.read_trace(path)
    assert len(read) == len(due)
    assert read.header["granularity"] == 1 and read.unfinished is None
    for where in [
        slice(None), slice(10), slice(-10, None), slice(65_000, 140_000), slice(5, 5),
        slice(299_999, 1 << 40), slice(None, None, 1000), slice(20, 10),
    ]:
        assert np.array_equal(read[where], due[where]), where
    assert read[-1] == due[-1] and read[123_456] == due[123_456]
    with pytest.raises(IndexError):
        read[len(due)]
    with pytest.raises(ValueError, match="forwards"):
        read[::-1]


def test_chunks_are_the_whole_trace(trace: tuple[Path, np.ndarray]) -> None:
    path, due = trace
    chunks = list(sluice.read_trace(path).chunks(70_001))
    assert [len(chunk) for chunk in chunks] == [70_001] * 4 + [300_000 - 4 * 70_001]
    assert np.array_equal(np.concatenate(chunks), due)
    with pytest.raises(ValueError, match="1 or more"):
        next(sluice.read_trace(path).chunks(0))


def test_what_is_no_trace_is_refused(trace: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    path, _ = trace
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    damaged = tmp_path / "damaged.trace"
    damaged.write_bytes(bytes_)
    with pytest.raises(sluice.TraceError, match=r"damaged\.trace: damaged trace: byte \d+"):
        sluice.read_trace(damaged)[:]
    other = tmp_path / "other"
    other.write_text("no trace at all, but long enough to have a header")
    with pytest.raises(sluice.TraceError, match="not a Sluice trace") as told:
        sluice.read_trace(other)
    assert told.value.value == str(other)
    for name in ("nowhere", "now\udcffhere"):
        with pytest.raises(sluice.TraceError, match="now"):
            sluice.read_trace(tmp_path / name)


def index_at(file: bytes) -> int:
    """As docs/trace-format.md has it."""
    return int.from_bytes(file[16:24], "little")


def leb128(number: int) -> bytes:
    more, last = divmod(number, 128)
    return bytes([last | 128]) + leb128(more) if more else bytes([last])


def test_a_trace_without_a_name_is_said_to_have_none() -> None:
    for simulate, on in ((sluice.simulate, "cxl-ssd"), (sluice.simulate_system, "skybyte-full")):
        with pytest.raises(sluice.TraceError, match='"trace:"; expected a file after') as refused:
            simulate(on, workload="trace:")
        assert (refused.value.key, refused.value.value) == ("workload", "trace:")


def test_an_index_that_claims_too_much_is_refused(
        trace: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    """Its checksum is right: nothing but its last block contradicts it."""
    file, zstd = trace[0].read_bytes(), pyarrow.Codec("zstd")
    at = index_at(file)
    size, _ = struct.unpack("<II", file[at + 4:at + 12])
    raw = zstd.decompress(file[at + 12:-4], size).to_pybytes()
    # It ends with the accesses, and the CPUs with their instructions.
    end = leb128(300_000) + leb128(1) + leb128(300_000)
    assert raw.endswith(end)
    raw = raw.removesuffix(end) + leb128(2**60) + leb128(1) + leb128(300_000)
    packed = zstd.compress(raw).to_pybytes()
    index = b"SLIX" + struct.pack("<II", len(raw), len(packed)) + packed
    false = tmp_path / "false.trace"
    false.write_bytes(file[:at] + index + struct.pack("<I", zlib.crc32(index)))
    claimed = sluice.read_trace(false)
    assert len(claimed) == 2**60
    with pytest.raises(sluice.TraceError, match="not the one of the index"):
        claimed[:]


def test_a_trace_that_was_not_finished_is_simulated_with_a_warning(
        trace: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    file = bytearray(trace[0].read_bytes())
    cut = tmp_path / "cut.trace"
    # Within the last block, and no place of an index yet.
    at, file[16:24] = index_at(file), bytes(8)
    cut.write_bytes(file[:at - 100])
    script = ("import sluice, sys; "
              "told = sluice.simulate('cylon', {'device.capacity': '4GiB'}, f'trace:{sys.argv[1]}')"
              "; print(told.accesses >= len(sluice.read_trace(sys.argv[1])) > 65_536)")
    done = subprocess.run([sys.executable, "-c", script, cut], capture_output=True, text=True,
                          check=True)
    warned = f"<string>:1: UserWarning: {cut}: {sluice.read_trace(cut).unfinished}\n"
    assert (done.stdout, done.stderr) == ("True\n", warned)


def test_block_requests_of_a_trace_are_those_of_a_device(tmp_path: Path) -> None:
    """The same requests from a trace, and one by one through the device's door."""
    draw = random.Random(4)
    requests = [("write", 0, 4096)]
    for _ in range(2000):
        op = draw.choice(["read", "read", "write", "trim", "flush"])
        first, count = draw.randrange(4000), draw.randrange(1, 40)
        requests.append((op, 0, 16384) if op == "flush" else (op, first, count))
    text = "".join(f"{n},{op},{0 if op == 'flush' else first * 4096},"
                   f"{0 if op == 'flush' else count * 4096}\n"
                   for n, (op, first, count) in enumerate(requests))
    source = tmp_path / "disk.csv"
    source.write_text(text)
    trace = tmp_path / "disk.trace"
    subprocess.run([SLUICE, "trace", "convert", "--columns", "time_us,op,address,size",
                    "--request", "block", source, trace], check=True, capture_output=True)
    kinds = sluice.read_trace(trace)[:]["kind"]
    assert set(kinds.tolist()) == {BLOCK_READ, BLOCK_WRITE, BLOCK_TRIM, BLOCK_FLUSH}
    told = subprocess.run([SLUICE, "sim", "--trace", trace, "--place", "address", "--device",
                           "cylon", "--set", "device.capacity=64MiB", "--json"], check=True,
                          capture_output=True, text=True)
    replayed = json.loads(told.stdout)
    with pytest.raises(sluice.TraceError, match="only `sluice sim --device` replays") as refused:
        sluice.simulate("cylon", {"device.capacity": "64MiB"}, f"trace:{trace}")
    assert str(refused.value).count(str(trace)) == 1
    device = sluice.Device("cylon", device_capacity="64MiB")
    for op, first, count in requests:
        device.block(op, [first], counts=[count])
    asked = device.stats
    assert replayed["block"] == asked["block"]
    assert replayed["flash"] == asked["flash"]
    assert replayed["sim_time_s"] == asked["sim_time_s"]
