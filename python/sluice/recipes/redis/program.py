"""A server with values of 1 KiB that are functions of their keys; redis-benchmark reads and writes
others beside them; then every value is read back. The server has a device of its own."""

import hashlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from io import BufferedRWPair
from pathlib import Path

records = int(sys.argv[1])


def value(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).hexdigest().encode() * 16


def ask(file: BufferedRWPair, *words: bytes) -> None:
    file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                                 for word in words))


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "socket"
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                               "--dir", folder], stdout=subprocess.DEVNULL)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            # The socket is there before anybody listens.
            while connection.connect_ex(str(path)):
                assert server.poll() is None, "redis-server ended"
                time.sleep(0.02)
            file = connection.makefile("rwb")
            for number in range(records):
                ask(file, b"SET", b"own:%d" % number, value(number))
                if number % 100 == 99 or number == records - 1:
                    file.flush()
                    for _ in range(number % 100 + 1):
                        assert file.readline() == b"+OK\r\n"
            started = time.monotonic()
            subprocess.run(["redis-benchmark", "-s", path, "-t", "set,get", "-n", str(records),
                            "-r", str(records), "-d", "1024", "-c", "4", "--csv"], check=True,
                           stdout=subprocess.DEVNULL)
            wrong = 0
            for number in range(records):
                ask(file, b"GET", b"own:%d" % number)
                file.flush()
                size = int(file.readline()[1:])
                wrong += file.read(size + 2)[:-2] != value(number)
            seconds = time.monotonic() - started
            ask(file, b"SHUTDOWN", b"NOSAVE")
            file.flush()
        assert server.wait(60) == 0
    finally:
        server.kill()
assert wrong == 0, f"{wrong} of {records} values are wrong"
print(json.dumps({"seconds": seconds, "operations": 3 * records, "answer": records}))
