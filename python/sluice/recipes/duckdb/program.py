"""Lines of orders in DuckDB: pricing summary, revenue change, and a join with their customers."""

import json
import sys
import time

import duckdb

lines = int(sys.argv[1])
base = duckdb.connect(config={"threads": 1})
# All columns are functions of the number: no generator of random numbers is between two versions.
base.execute(f"""create table line as select i as id, hash(i) % {lines // 40} as customer,
    (hash(i + 1) % 100000)::bigint as price, (hash(i + 2) % 11)::bigint as discount,
    hash(i + 3) % 2557 as day, hash(i + 4) % 3 as flag from range({lines}) t(i)""")
base.execute(f"create table customer as select i as id, hash(i + 5) % 25 as nation"
             f" from range({lines // 40}) t(i)")
QUERIES = [
    "select flag, count(*), sum(price), sum(price * (100 - discount)) from line where day <= 2400"
    " group by flag order by flag",
    "select sum(price * discount) from line where day between 365 and 730"
    " and discount between 5 and 7",
    "select nation, sum(price * (100 - discount)) as revenue from line join customer"
    " on customer.id = customer group by nation order by revenue desc, nation",
]
started = time.monotonic()
answer = [base.execute(query).fetchall() for query in QUERIES * 2]
seconds = time.monotonic() - started
assert answer[:3] == answer[3:], "the same query twice has the same answer"
print(json.dumps({"seconds": seconds, "operations": len(answer), "answer": str(answer)}))
