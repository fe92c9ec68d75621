# A server with values of each type, a background save, and a second server that loads them.
serve() {
    redis-server --port 0 --unixsocket "$PWD/$1" --dir "$PWD" --save "" --daemonize no \
        >"$1.log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        redis-cli -s "$1" ping 2>/dev/null | grep -q PONG && return
        sleep 0.1
    done
    cat "$1.log"
    exit 1
}
sums='local t = {}
for i = 1, 20000 do t[#t + 1] = redis.call("get", "k" .. i) or "-" end
local h = redis.call("hlen", "h")
local s = redis.call("scard", "s")
local z = redis.call("zrange", "z", 100, 105)
local l, size = redis.call("llen", "l"), redis.call("dbsize")
return {redis.sha1hex(table.concat(t, ",")), h, s, z, l, size}'
serve one
awk 'BEGIN {
    for (i = 1; i <= 20000; i++) {
        v = sprintf("%d", i * 7919 % 100003)
        while (length(v) < 20 + i % 200) v = v v
        print "SET k" i " " v
    }
    for (i = 1; i <= 5000; i++)
        print "HSET h f" i " " i "\nSADD s m" i "\nZADD z " i * 31 % 5003 " m" i "\nRPUSH l " i
}' | redis-cli -s one --pipe | tail -1
redis-cli -s one eval "$sums" 0
redis-cli -s one bgsave
for _ in $(seq 600); do
    redis-cli -s one info persistence | grep -q 'rdb_bgsave_in_progress:0' && break
    sleep 0.1
done
redis-cli -s one info persistence | grep rdb_last_bgsave_status
redis-benchmark -s "$PWD/one" -q -n 3000 -c 8 -t set,get,lpush,lpop,sadd,zadd,hset >/dev/null
redis-cli -s one shutdown nosave || true
wait $server
serve two
redis-cli -s two eval "$sums" 0
redis-cli -s two shutdown nosave || true
wait $server
