# A cluster of its own, pgbench with two clients, and the sums that its transactions keep equal.
initdb -D data --no-sync --auth=trust >/dev/null
options="-k $PWD -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
pg_ctl -D data -w -l log -o "$options" start >/dev/null || { cat log; exit 1; }
export PGHOST=$PWD
createdb bench
pgbench -i -s 2 -q bench >/dev/null 2>&1
pgbench -n -c 2 -j 2 -t 100 bench | grep 'transactions actually processed'
psql -At bench <<'SQL'
SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history),
       (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers),
       (SELECT count(*) FROM pgbench_history);
SET work_mem = '32MB';
SELECT count(*), sum(n) FROM (SELECT md5(i::text) AS h, count(*) AS n
       FROM generate_series(1, 150000) AS i GROUP BY 1) AS hashes;
CREATE TABLE words AS SELECT i, md5(i::text) AS word FROM generate_series(1, 50000) AS i;
CREATE INDEX ON words (word);
SELECT word FROM words ORDER BY word LIMIT 3;
VACUUM FULL words;
SELECT count(*) FROM words WHERE word LIKE 'a%';
SQL
pg_ctl -D data -w -m fast stop
