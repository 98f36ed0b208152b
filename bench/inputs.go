package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// rng is a small generator of our own (xorshift64*): inputs must be the same
// bytes for years, whatever the standard library's generators do.
// It must not start from 0, which is its only fixed point.
type rng uint64

// next is the generator's next number.
// The constants are those of Vigna's xorshift64* (12, 25, 27).
func (r *rng) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = rng(x)
	return x * 0x2545f4914f6cdd1d
}

// below is a number from 0 to n-1. The remainder's bias is of no interest
// here.
func (r *rng) below(n int) int { return int(r.next() % uint64(n)) }

// writeOnce makes an input file unless it is there. The file gets its name only
// when it is complete, so that an interrupted run leaves no half inputs.
//
// An input that is there is trusted: its name says its size or kind, and its generator
// does not change without the name changing.
func writeOnce(path string, put func(*bufio.Writer)) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".input-*")
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	put(w)
	err = w.Flush()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("input %s: %w", filepath.Base(path), err)
	}
	return nil
}

// writeText writes size bytes of something like prose: words with a skewed
// distribution in sentences, so that compressors find what they find in text.
//
// Taking the least of several draws skews letters and words the way Zipf's law does,
// roughly: real prose was refused for its size and its licence.
func writeText(w io.Writer, size int) {
	r := rng(20240229)
	words := make([]string, 6000)
	for i := range words {
		word := make([]byte, 2+r.below(4)+r.below(6))
		for k := range word {
			// Vowels and consonants in turn, mostly; common letters first.
			set := "tnsrhldcmfpgwybvk"
			if k%2 == 1 {
				set = "eaoiu"
			}
			word[k] = set[min(r.below(len(set)), r.below(len(set)))]
		}
		words[i] = string(word)
	}
	column := 0
	for written := 0; written < size; {
		pick := min(r.below(len(words)), r.below(len(words)), r.below(len(words)))
		text := words[pick]
		switch {
		case r.below(12) == 0:
			text += "."
		case r.below(15) == 0:
			text += ","
		}
		if column += len(text) + 1; column > 76 {
			text, column = text+"\n", 0
		} else {
			text += " "
		}
		n, _ := io.WriteString(w, text) // a bufio.Writer keeps its error
		written += n
	}
}

// writeC writes a C file of that many functions with enough in them for an
// optimiser: loops, switches, arrays, calls of each other.
//
// Each function calls one before it, so that the compiler's inliner has choices to make,
// and differs in its constants, so that nothing is folded with anything else. Compiled,
// the file does nothing useful; it is never run.
func writeC(w io.Writer, functions int) {
	r := rng(3)
	fmt.Fprintln(w, "typedef unsigned long u64;\nstruct node { u64 key, value; struct node *left, *right; };\nstatic u64 table[4096];")
	for i := range functions {
		callee := "a + b"
		if i > 0 {
			callee = fmt.Sprintf("f%d(a ^ %d, b, n)", r.below(i), r.below(1<<16))
		}
		fmt.Fprintf(w, `
u64 f%[1]d(u64 a, u64 b, struct node *n)
{
	u64 s = %[2]d, i, j;
	for (i = 0; i < (a & %[3]d); i++) {
		for (j = i; j < %[4]d; j++)
			s += table[(i * %[5]d + j) & 4095] ^ (b >> (j & 63));
		if (s & %[6]d)
			table[s & 4095] += a * i;
	}
	switch (s %% %[7]d) {
	case 0: s += %[8]s; break;
	case 1: while (n && n->key != s) n = s < n->key ? n->left : n->right; if (n) s ^= n->value; break;
	case 2: s = (s << %[9]d) | (s >> (64 - %[9]d)); break;
	case 3: for (i = 0; i < 8; i++) table[i + %[10]d] = s * i - b; break;
	default: s *= (a | 1) + b / ((a & 7) + 1);
	}
	return s;
}
`, i, r.below(1<<20), 1<<(2+r.below(6))-1, 8+r.below(60), 1+r.below(99), 1<<r.below(12), 5+r.below(4), callee, 1+r.below(62), r.below(4000))
	}
}

// sqlScript makes and asks a small database: inserts, an index, joins, sorting,
// text. The rows come from a recursive query, so that the script stays small.
//
// Everything is in memory and without a journal: the disk would otherwise be what is
// measured.
func sqlScript(rows int) string {
	return fmt.Sprintf(`PRAGMA journal_mode=OFF;
CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d)
INSERT INTO t SELECT i, (i * 7919) %% 10007, printf('row %%d of %%x', i, i * 31), i / 3.0 FROM n;
CREATE INDEX ta ON t(a);
CREATE TABLE u AS SELECT a, count(*) AS n, sum(c) AS s FROM t GROUP BY a;
SELECT count(*), sum(t.id), max(u.n) FROM t JOIN u ON t.a = u.a WHERE t.id %% 3 = 0;
SELECT b FROM t ORDER BY b DESC LIMIT 5;
SELECT substr(b, 1, 6) AS k, count(*), avg(c) FROM t WHERE b LIKE '%%7%%' GROUP BY k ORDER BY 2 DESC, 1 LIMIT 10;
UPDATE t SET c = c * 1.5 WHERE a < 5000;
DELETE FROM t WHERE a %% 5 = 0;
SELECT count(*), round(sum(c), 3) FROM t;
`, rows)
}

// pythonScript is interpreter work: attribute look-ups, dictionaries, integers,
// strings, calls.
// Sorted and bounded output keeps the result the same whatever the hashing.
func pythonScript(rounds int) string {
	return fmt.Sprintf(`
class Counter:
    def __init__(self):
        self.seen = {}
    def add(self, word, n=1):
        self.seen[word] = self.seen.get(word, 0) + n
        return len(word)

def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n %% 2 == 0 else 3 * n + 1
        steps += 1
    return steps

c = Counter()
total = 0
for i in range(1, %d):
    steps = collatz(i)
    total += c.add("w%%d" %% (steps %% 97), steps)
    if i %% 1000 == 0:
        c.seen = dict(sorted(c.seen.items(), key=lambda kv: -kv[1])[:60])
print(total, sorted(c.seen.items())[:5])
`, rounds)
}

// perlScript is what perl is used for: hashes, regular expressions, sorting.
// Like python's it is seeded and has no time in it.
func perlScript(rounds int) string {
	return fmt.Sprintf(`use strict; use warnings;
my (%%seen, $total); my $x = 12345;
for my $i (1 .. %d) {
	$x = ($x * 1103515245 + 12345) %% 2147483648;
	my $line = sprintf("%%08x key%%d=%%s;", $x, $x %% 997, "v" x ($x %% 23));
	if ($line =~ /^([0-9a-f]{4})([0-9a-f]+) key(\d+)=(v*);$/) {
		$seen{$3} += length $4;
		($line = $1 . $2) =~ tr/0-9a-f/a-p/;
		$total += ord substr $line, $i %% 8, 1;
	}
}
print "$total\n";
print join(",", map { "$_=$seen{$_}" } (sort { $seen{$b} <=> $seen{$a} || $a <=> $b } keys %%seen)[0 .. 9]), "\n";
`, rounds)
}
