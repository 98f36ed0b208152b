# A C project of 200 files, written by bash and built by make with four jobs.
# make.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer, the sums of all that was built among it; no port is used.
shift
cat >write.bash <<'END'
for i in {1..200}; do
	printf '#include <stdio.h>\n#include <string.h>\nint f%d(int n) { char b[64]; snprintf(b, sizeof b, "%%d", n + %d); return (int)strlen(b) * (n %% 7 ? %d : 1); }\n' $i $i $i >f$i.c
done
{ for i in {1..200}; do echo "int f$i(int);"; done; echo 'int printf(const char *, ...);'; echo 'int main(void) { int s = 0;'; for i in {1..200}; do echo "s += f$i(s);"; done; echo 'printf("%d\n", s); return s % 100; }'; } >main.c
{ echo 'O = $(patsubst %.c,%.o,$(wildcard *.c))'; echo 'p: $(O)'; printf '\tgcc -o $@ $(sort $^)\n'; echo '%.o: %.c'; printf '\tgcc -O1 -c -o $@ $<\n'; echo 'clean:'; printf '\trm -f p *.o\n'; } >Makefile
make -j4 >log 2>&1
echo "make $?"
make -j4 p >again 2>&1
echo "again $? $(cat again)"
END
"$@" bash write.bash
echo "bash $?"
sort log | sha256sum
cat *.o p | sha256sum
./p
echo "p $?"
"$@" make clean >/dev/null
echo "clean $? $(ls *.o 2>/dev/null | wc -l)"
