"""RocksDB's own db_bench fills a store in order, overwrites and reads it at random, with a block
cache that has room for all of it. Memtables and blocks are on the device; the files are in memory.
Every key must be found, every block have its checksum, and the contents are hashed: they are a
function of the seed."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile

count = int(sys.argv[1])

with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    base = ["db_bench", f"--db={folder}", f"--num={count}", "--value_size=1000", "--seed=7",
            "--threads=1", "--compression_type=none", f"--cache_size={count * 1200}",
            "--write_buffer_size=4194304", "--statistics=0"]
    parts = {}
    for bench, more in (("fillseq", []), ("overwrite", ["--use_existing_db"]),
                        ("readrandom", ["--use_existing_db", f"--reads={3 * count}"]),
                        ("verifychecksum", ["--use_existing_db"])):
        done = subprocess.run([*base, f"--benchmarks={bench}", *more], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f"{bench}: {done.stderr.strip()}"
        line = re.search(rf"^{bench} +: +([0-9.]+) micros/op.*$", done.stdout, re.MULTILINE)
        assert line, f"{bench}: {done.stdout}{done.stderr}"
        parts[bench] = float(line[1])
        if bench == "readrandom":
            found = re.search(r"\((\d+) of (\d+) found\)", line[0])
            assert found and found[1] == found[2] == str(3 * count), line[0]
    dump = subprocess.run(["ldb", f"--db={folder}", "scan", "--hex"], capture_output=True,
                          check=True).stdout
assert dump.count(b"\n") == count, "pairs are gone"
seconds = (parts["fillseq"] * count + parts["overwrite"] * count
           + parts["readrandom"] * 3 * count) / 1e6
print(json.dumps({"seconds": seconds, "operations": 5 * count,
                  "answer": [count, hashlib.sha256(dump).hexdigest()],
                  "told": {f"{name} us": parts[name]
                           for name in ("fillseq", "overwrite", "readrandom")}}))
