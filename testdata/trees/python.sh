# Python's own tests of processes and signals (libpython3-testsuite).
# python.sh PORT [TRACER ARGUMENT...]: says which tests pass, the same with and without a tracer; no port is used.
shift
/usr/bin/python3 -c 'import test.test_subprocess' 2>/dev/null || { echo "skip: no test suite of python"; exit 0; }
one() {
	name=$1
	shift
	"$@" >out 2>&1 </dev/null
	echo "$name $?"
	sed -n 's/ \.\.\. .*\(ok\|FAIL\|ERROR\|skipped\).*/ \1/p' out | sort
}
for m in test_fork1 test_wait3 test_wait4 test_popen test_pty; do
	one $m "$@" /usr/bin/python3 -m unittest -v test.$m
done
one test_subprocess "$@" /usr/bin/python3 -m unittest -v -k preexec -k pass_fds -k restore_signals -k kill -k terminate -k session -k shell test.test_subprocess
