# PostgreSQL: a cluster is made, loaded, used by four clients at a time, and shut down.
# postgres.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer. The server refuses to run as root.
port=$1; shift
here=$(pwd)
export LC_ALL=C PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)"
"$@" initdb -D db -A trust --no-sync -U pg >init.log 2>&1
echo "initdb $?"
"$@" postgres -D db -p "$port" -k "$here" -c listen_addresses= -c fsync=off >log 2>&1 &
server=$!
sql() { psql -h "$here" -p "$port" -U pg -d postgres "$@"; }
for _ in $(seq 300); do sql -c 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
pgbench -h "$here" -p "$port" -U pg -i -s 1 -q postgres >/dev/null 2>&1
echo "loaded $?"
pgbench -h "$here" -p "$port" -U pg -c 4 -j 2 -t 25 postgres 2>/dev/null | grep -E 'actually processed|failed'
sql -Atc 'select sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts'
kill -INT "$(head -n 1 db/postmaster.pid)"
wait $server
echo "status $?"
grep -E 'PANIC|was terminated' log
exit 0
