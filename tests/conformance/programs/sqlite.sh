# Tables with an index, updates, deletes and sums in SQLite; the whole must be sound at the end.
sqlite3 data.db <<'SQL'
PRAGMA cache_size = -16000;
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, data BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
INSERT INTO items SELECT i, 'name ' || (i * 7919 % 100003), i * 31 % 1009,
       CAST(printf('%.*c', 20 + i % 80, 'x') AS BLOB) FROM n;
CREATE INDEX by_name ON items (name, amount);
CREATE INDEX by_amount ON items (amount);
SELECT count(*), sum(amount), sum(length(data)) FROM items;
UPDATE items SET amount = amount + 1 WHERE id % 3 = 0;
DELETE FROM items WHERE id % 7 = 0;
SELECT amount, count(*), max(name) FROM items GROUP BY amount ORDER BY 2 DESC, 1 LIMIT 20;
SELECT a.name, b.amount FROM items a JOIN items b ON b.id = a.amount ORDER BY a.name LIMIT 20;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(amount) FROM items;
SQL
