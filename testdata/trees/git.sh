# Git's own shell tests, of the installed git, from the sources in /usr/src (apt-get source git; make t/helper/test-tool GIT-BUILD-OPTIONS; make -C templates).
# git.sh PORT [TRACER ARGUMENT...]: says which tests pass, the same with and without a tracer; no port is used.
shift
src=$(ls -d /usr/src/git-2.*/t 2>/dev/null | tail -1)
[ -n "$src" ] && [ -x "$src/helper/test-tool" ] && [ -e "$src/../GIT-BUILD-OPTIONS" ] && [ -d "$src/../templates/blt" ] || { echo "skip: no tests of git in /usr/src, or test-tool, options or templates are not built"; exit 0; }
GIT_TEST_INSTALLED=$(dirname "$(command -v git)")
export GIT_TEST_INSTALLED
for t in t0005-signals t0061-run-command t7005-editor; do
	"$@" sh -c 'cd "$0" && exec sh "$1" --root="$2"' "$src" ./$t.sh "$PWD/trash" >out 2>/dev/null </dev/null
	echo "$t $?"
	sed -n 's/^\(ok\|not ok\) \([0-9]*\).*/\1 \2/p' out
done
