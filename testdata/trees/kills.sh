# Several tracers, one of them in another's tree, and kill -9 of some or all of them at any moment, while their trees are listed.
# kills.sh ROUNDS ALLERIA: in namespaces of its own, for their database; says what is wrong. Listings are left in ps.json.
mount -t tmpfs none /dev/shm || { echo "skip: no file system can be mounted"; exit 0; }
rounds=$1 alleria=$2
busy='while :; do /bin/true; done'
"$alleria" ps --json --watch=0.02 >ps.json &
lists=$!
for round in $(seq "$rounds"); do
	"$alleria" -q record --discard -- bash -c "$busy" 2>/dev/null &
	a=$!
	"$alleria" -q record -c followed.xml --force -o out -- bash -c "$busy" 2>/dev/null &
	b=$!
	"$alleria" -q record --discard -- "$alleria" -q record --only count --force -o in -- bash -c "$busy" 2>/dev/null &
	c=$!
	sleep 0.$((RANDOM % 10))$((RANDOM % 10))
	inner=$(pgrep -P $c)
	set -- $a $b $c $inner
	kill -9 ${!#} ${@:1:$((RANDOM % 4))}
	"$alleria" ps --json >/dev/null || echo "round $round: it cannot be listed"
	sleep 0.0$((RANDOM % 10))
	kill -9 $a $b $c 2>/dev/null
	wait $a $b $c 2>/dev/null
	for try in $(seq 50); do # who was traced dies with its tracer, soon
		pgrep -x 'bash|true' -P 1 >/dev/null || break
		sleep 0.1
	done
	pgrep -x 'bash|true' -P 1 >/dev/null && echo "round $round: alive: $(ps -eo pid,ppid,stat,args)"
	[ "$("$alleria" ps --json)" = "[]" ] || echo "round $round: listed: $("$alleria" ps)"
	[ -z "$(ls /dev/shm)" ] || echo "round $round: left: $(ls /dev/shm)"
done
kill $lists
wait $lists
echo "listing ended with $?"
