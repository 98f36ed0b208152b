# Perl's own tests of processes, pipes, signals and files, by the installed perl, from the sources in /usr/src (apt-get source perl).
# perl.sh PORT [TRACER ARGUMENT...]: says which tests pass, the same with and without a tracer; no port is used.
shift
src=$(ls -d /usr/src/perl-5.*/t 2>/dev/null | tail -1)
[ -n "$src" ] || { echo "skip: no sources of perl in /usr/src"; exit 0; }
# Tests look for modules where they are built: there is what is installed.
cp -r "$src" t
mkdir lib
perl -e 'print "$_\n" for @INC' | while read -r d; do [ ! -d "$d" ] || cp -rsn "$d/." lib/ 2>/dev/null; done
export PERL_CORE=1
for f in op/fork.t op/exec.t op/kill0.t op/die_exit.t op/sprintf.t io/pipe.t io/fs.t io/dup.t; do
	"$@" sh -c 'cd t && exec perl $0' $f >out 2>/dev/null </dev/null
	echo "$f $?"
	sed -n 's/^\(ok\|not ok\) \([0-9]*\).*/\1 \2/p' out | sort | uniq -c
done
