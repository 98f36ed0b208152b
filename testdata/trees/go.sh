# Go's own tests of packages that start processes and take signals.
# go.sh PORT [TRACER ARGUMENT...]: says which tests pass, the same with and without a tracer; no port is used.
shift
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "skip: no go"; exit 0; }
# Built natively, with the user's cache: the home directory is the test's.
GOCACHE=$(HOME=$(getent passwd "$(id -u)" | cut -d: -f6) go env GOCACHE)
export GOCACHE GOFLAGS=-trimpath
root=$(go env GOROOT)
[ -d "$root/src/os/exec" ] || { echo "skip: no sources of Go"; exit 0; }
here=$PWD
for p in os/exec os/signal; do
	b=$here/$(basename $p).test
	go test -c -o "$b" $p >/dev/null 2>&1 || { echo "$p is not built"; continue; }
	"$@" sh -c 'cd "$0" && exec "$1" -test.v -test.short' "$root/src/$p" "$b" >out 2>&1 </dev/null
	echo "$p $?"
	sed -n 's/^\( *--- [A-Z]*: [^ ]*\) .*/\1/p' out | sort
done
