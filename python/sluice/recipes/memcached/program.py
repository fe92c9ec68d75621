"""memcached with values of 1 KiB, read and written as YCSB's workload B does: 95 gets and 5 sets of
100 operations, keys by Zipf's law with theta 0.99 and spread over all. A value is a function of its
key and of how often it was set, so that every answer is checked. The server has a device of its
own."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from io import BufferedRWPair
from pathlib import Path

import numpy as np

records, batch = int(sys.argv[1]), 50
operations = 3 * records
versions = [0] * records


def value(number: int) -> bytes:
    text = f"{number}/{versions[number]}"
    return hashlib.sha256(text.encode()).hexdigest().encode() * 16


def store(file: BufferedRWPair, numbers: Sequence[int]) -> None:
    for number in numbers:
        file.write(b"set key:%d 0 0 1024\r\n%b\r\n" % (number, value(number)))
    file.flush()
    for _ in numbers:
        assert file.readline() == b"STORED\r\n"


def load(file: BufferedRWPair, numbers: Sequence[int]) -> int:
    """How many have another value than they were given, or none."""
    for number in numbers:
        file.write(b"get key:%d\r\n" % number)
    file.flush()
    wrong = 0
    for number in numbers:
        if file.readline() == b"END\r\n":
            wrong += 1
            continue
        wrong += file.read(1026)[:-2] != value(number)
        assert file.readline() == b"END\r\n"
    return wrong


stream = np.random.default_rng(5)
weights = np.arange(1, records + 1) ** -0.99
ranks = stream.choice(records, operations, p=weights / weights.sum())
keys = stream.permutation(records)[ranks].tolist()
sets = (stream.random(operations) < 0.05).tolist()

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "socket"
    user = ["-u", "root"] if os.geteuid() == 0 else []
    server = subprocess.Popen(["memcached", "-s", path, "-m", str(4 * records // 1024 + 64), "-t",
                               "2", *user])
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            # The socket is there before anybody listens.
            while connection.connect_ex(str(path)):
                assert server.poll() is None, "memcached ended"
                time.sleep(0.02)
            file = connection.makefile("rwb")
            for first in range(0, records, batch):
                store(file, range(first, min(first + batch, records)))
            started = time.monotonic()
            wrong = 0
            for first in range(0, operations, batch):
                part = range(first, min(first + batch, operations))
                wrong += load(file, [keys[at] for at in part if not sets[at]])
                written = sorted({keys[at] for at in part if sets[at]})
                for number in written:
                    versions[number] += 1
                store(file, written)
            seconds = time.monotonic() - started
            for first in range(0, records, batch):
                wrong += load(file, range(first, min(first + batch, records)))
        server.terminate()
        server.wait(60)
    finally:
        server.kill()
assert wrong == 0, f"{wrong} values are wrong or gone"
print(json.dumps({"seconds": seconds, "operations": operations,
                  "answer": [records, sum(versions)],
                  "told": {"operations a second": operations / seconds}}))
