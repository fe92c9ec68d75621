"""Lines of orders in SQLite: two queries of TPC-H's form, then a point query for each 20 orders."""

import json
import random
import sqlite3
import sys
import time

orders = int(sys.argv[1])
draw = random.Random(7)
base = sqlite3.connect(":memory:")
base.execute("create table line (id integer primary key, customer, price, discount, day, flag)")
base.executemany("insert into line values (?, ?, ?, ?, ?, ?)", (
    (number, draw.randrange(orders // 10), draw.randrange(1, 100_000), draw.randrange(11),
     draw.randrange(2557), draw.choice("ANR")) for number in range(4 * orders)))
base.execute("create index by_customer on line (customer)")

started = time.monotonic()
pricing = base.execute("select flag, count(*), sum(price), sum(price * (100 - discount)) from line"
                       " where day <= 2400 group by flag order by flag").fetchall()
revenue = base.execute("select sum(price * discount) from line where day between 365 and 730 and"
                       " discount between 5 and 7").fetchall()
points = [base.execute("select count(*), sum(price) from line where customer = ?",
                       (draw.randrange(orders // 10),)).fetchone() for _ in range(orders // 20)]
seconds = time.monotonic() - started
sound = base.execute("pragma integrity_check").fetchone()[0]
assert sound == "ok", sound
assert sum(row[1] for row in pricing) <= 4 * orders
print(json.dumps({"seconds": seconds, "operations": len(points) + 2,
                  "answer": [pricing, revenue, sum(map(sum, points))]}))
