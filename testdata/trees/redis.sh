# redis-server with a client, a snapshot written by a forked child, and a clean end.
# redis.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer.
port=$1; shift
"$@" redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir . >log 2>&1 &
server=$!
cli() { redis-cli -p "$port" "$@"; }
for _ in $(seq 300); do cli ping >/dev/null 2>&1 && break; sleep 0.1; done
seq 500 | sed 's/.*/SET key:& &/' | cli | sort | uniq -c
redis-benchmark -p "$port" -n 1000 -c 8 -q -t lpush,lrange_100,zadd >bench 2>&1 || echo the benchmark fails
cli bgsave
for _ in $(seq 300); do cli info persistence | grep -q rdb_bgsave_in_progress:0 && break; sleep 0.1; done
cli info persistence | grep rdb_last_bgsave_status
cli dbsize
cli shutdown nosave
wait $server
echo "status $?"
redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
