package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// inputs makes, once, the directory of inputs that every run gets a copy of.
var inputs = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(testRoot, "inputs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-eu", "-c", inputScript)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, baseEnv(dir), os.Stderr
	return dir, cmd.Run()
})

// workDir makes an empty directory below a new one, where a profile has its place beside it.
func workDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inputDir is workDir with a copy of the inputs in it. They are 120 files: where all tests had them, copying took a seventh of all processor time.
func inputDir(t testing.TB) string {
	t.Helper()
	from, err := inputs()
	if err != nil {
		t.Fatalf("inputs: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "work")
	if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the inputs: %v: %s", err, out)
	}
	return dir
}

// inputScript is the inputs as a script: made, not stored, since most are
// derived from others. What a missing program would make is left out; the
// commands that need it are skipped for the same reason.
const inputScript = `
awk 'BEGIN{srand(1); for(i=0;i<1500;i++){printf "foo%d baar%d %d %s the quick brown fox\n", i%97, i*7919%1000, rand()*100, substr("abcdefghijklmnopqrstuvwxyz", 1+rand()*20, 6)}}' >text
head -n 120 text >small
awk '{print $1, $3}' text | head -n 300 >table
awk '{print $1 "," $2 "," $3}' text | head -n 300 >table.csv
sort small | cut -c1-20 >sorted; sed 's/baa/boo/; 7d' sorted >sorted2
diff -u sorted sorted2 >the.diff || true
mkdir -p tree/a/b/c tree/d empty; for i in 1 2 3 11 12; do head -n $i text >tree/a/f$i; head -n 5 small >tree/d/g$i; done; ln -s f1 tree/a/link; printf 'x\n' >tree/a/b/c/deep1
touch -d @1000000000 tree tree/* tree/*/* tree/a/b/c tree/a/b/c/deep1
tar -cf tree.tar tree
command -v zip >/dev/null && zip -q -X -r tree.zip tree
cp text text2; gzip -n text2; cp text text2; command -v zstd >/dev/null && zstd -q text2; command -v lz4 >/dev/null && lz4 -q text2 text2.lz4
cp small small2; bzip2 -k small2; command -v xz >/dev/null && xz -k small2; rm -f text2 small2
command -v openssl >/dev/null && openssl genrsa -out key.pem 1024 2>/dev/null
awk 'BEGIN{printf "{\"items\":["; for(i=0;i<100;i++) printf "%s{\"n\":%d,\"s\":\"v%d\"}", i?",":"", i%10, i; print "]}"}' >data.json
awk 'BEGIN{printf "<a>"; for(i=0;i<100;i++) printf "<b n=\"%d\"><c>t%d</c></b>", i, i; print "</a>"}' >data.xml
printf 'define(X, $1$1)dnl\nX(X(ab)) eval(3*4+2)\nifelse(len(abc), 3, yes, no)\n' >the.m4
printf '1,5d\ng/foo1/s/foo/bar/\n1,10p\nw out\nq\n' >ed.script
cat >hello.c <<'END'
#include <stdio.h>
#include <string.h>
struct node { struct node *next; int v; };
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) {
	char buf[64]; double d = 0;
	for (int i = 0; i < 10; i++) { snprintf(buf, sizeof buf, "%d %s %f", fib(i), argc > 1 ? argv[1] : "-", d += i / 3.0); puts(buf); }
	switch (strlen(buf)) { case 1: return 3; case 2: return 4; case 7: return 5; default: return 0; }
}
END
gcc -E -P hello.c -o hello.i; gcc -S -O1 hello.i -o hello2.s; gcc -c hello2.s -o hello2.o; gcc hello2.o -o prog
cat >the.pl <<'END'
my %h; while (<>) { $h{$1}++ while /(\w+)/g } my $s = sub { my $n = shift; $n < 2 ? $n : __SUB__->($n-1) } ; 
printf "%s %d\n", $_, $h{$_} for (sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h)[0..20];
eval { die { code => 7 } }; print "caught $@->{code}\n"; local $SIG{USR1} = sub { print "usr1\n" }; kill USR1 => $$; print pack("N d", 5, 1.5) eq "x" ? 1 : 0, "\n"; exit 3;
END
cat >the.py <<'END'
import sys, json, re
def f(n): return n if n < 2 else f(n-1) + f(n-2)
print(f(12), json.dumps({"a": [1.5, 2, None]}), re.sub(r"(\w)(\w)", r"\2\1", "hello world"), 3**200 % 1000007)
try: {}["x"]
except KeyError as e: print("caught", e, file=sys.stderr)
sys.exit(4)
END
cat >threads.py <<'END'
import threading, queue
q, r = queue.Queue(), []
def w():
    while (n := q.get()) is not None: r.append(sum(range(n)))
ts = [threading.Thread(target=w) for _ in range(4)]
[t.start() for t in ts]; [q.put(n) for n in range(100)]; [q.put(None) for _ in ts]; [t.join() for t in ts]
print(len(r), sum(r))
END
printf 'local t={} for i=1,500 do t[i]=(i*7919)%%1000 end table.sort(t) print(t[1],t[250],t[500]) print(pcall(error,{})==false) local co=coroutine.wrap(function() for i=1,3 do coroutine.yield(i) end end) print(co(),co(),string.format("%%5.2f",2^0.5)) os.exit(3)\n' >the.lua
cat >jit.lua <<'END'
local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end
local s, t, parts = 0, {}, {}
for i = 1, 3000 do s = (s * 31 + i) % 1000003; t[i] = i * 7919 % 1000 end
table.sort(t)
for i = 1, 200 do parts[#parts + 1] = string.format("%d:%s", i, ("x"):rep(i % 7)) end
local ffi, a = require("ffi"), 0
ffi.cdef "int abs(int);"
for i = 1, 300 do a = a + ffi.C.abs(-i) end
local ok, err = pcall(error, {code = 3})
print(f(12), s, t[1], t[1500], #table.concat(parts), a, ok, err.code)
os.exit(3)
END
printf 'puts (1..300).map { |x| x * x %% 97 }.sort.uniq.size\nbegin; Integer("x"); rescue ArgumentError => e; puts e.message; end\nputs [Thread.new { 2**100 }].map(&:value)\nGC.start\nexit 5\n' >the.rb
printf 'proc f n {expr {$n<2 ? $n : [f [expr $n-1]]+[f [expr $n-2]]}}\nputs [f 12]\nputs [catch {error x} m]$m\nputs [lsort -integer {5 3 9 1}]\nexit 6\n' >the.tcl
printf 'let a=[]; for (let i=0;i<2000;i++) a.push((i*7919)%%1000); a.sort((x,y)=>x-y); console.log(a[0],a[1000]); function f(n){return n<2?n:f(n-1)+f(n-2)} console.log(f(15)); setTimeout(()=>{console.log("later"); process.exit(7)},5); new Promise(r=>r(3)).then(console.log); console.log(JSON.stringify({a:/x(\\d+)/.exec("x12")}))\n' >the.js
printf '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 14)) (newline) (display (catch (quote k) (lambda () (throw (quote k) 1)) (lambda (k . a) a))) (newline) (exit 3)\n' >the.scm
printf '<?php function f($n){return $n<2?$n:f($n-1)+f($n-2);} echo f(12),"\\n", json_encode(["a"=>[1,2.5,null]]),"\\n", preg_replace("/(o)/","<$1>","foo"),"\\n"; try { intdiv(1,0); } catch (DivisionByZeroError $e) { echo $e->getMessage(),"\\n"; } exit(3);\n' >the.php
printf 'create table t(a integer, b text);\nwith recursive c(i) as (select 1 union all select i+1 from c where i<300) insert into t select i, hex(i*7919 %% 1000) from c;\ncreate index x on t(b);\nselect count(*), sum(a), max(b) from t where b > "3";\nselect b, count(*) from t group by substr(b,1,1) order by 2 desc limit 5;\n' >the.sql
printf 'scale=20; s(1); e(2); 2^100; define f(n) { if (n<2) return n; return f(n-1)+f(n-2); } f(12)\n' >the.bc
printf 'i=0; s=0; while [ $i -lt 300 ]; do i=$((i+1)); s=$((s+i*i)); done; echo $s; trap "echo usr1" USR1; kill -USR1 $$; case abc in a*) echo match;; esac; f() { return 3; }; f; echo $?; cd empty; pwd | head -c0; exit 9\n' | sed 's/pwd . head -c0; //' >alone.sh
printf 'x=$(echo sub | tr a-z A-Z); echo $x; (exit 3); echo $?; cat small | sort | head -n 3; sleep 0.01 & wait; for i in 1 2 3 4 5; do true; /bin/true; done; kill -TERM $$ 2>/dev/null; echo not reached\n' >children.sh
printf 'all: a b c\na b c: d\n\techo $@ >$@.out; sort small | head -n 1\nd:\n\t@echo d; false || true\n' >the.mk
if command -v git >/dev/null; then mkdir repo; cd repo; git init -q; git config user.name n; git config user.email e@example.org
for i in 1 2 3 4; do head -n $((i*20)) ../text >f; echo $i >g$i; git add .; git commit -qm "change $i"; done; git gc -q; echo x >>f; echo y >new; cd ..; fi
rm -f hello.c
`
