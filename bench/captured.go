package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Calls that are captured are measured by programs that do nothing but call one function, and say on standard error what a call took: neither starting
// up, which takes bpftrace a second, nor a rival's number of calls is in the figure. Rivals are asked for the same arguments, as far as they can say it.

// capturedPrefix begins the names of those programs.
const capturedPrefix = "captured-"

// capturedN is how often they call, with -short a fifth of that.
const capturedN = 10_000_000

// capturedCase is one of the programs: the function, in how many threads, and what a captured call may cost in nanoseconds.
type capturedCase struct {
	name, function string
	threads        int
	must, reach    float64
	// uftrace's and bpftrace's words for the arguments; empty: they have none.
	uftrace, bpftrace string
}

// capturedCases are all of them. Threads beyond the processors wait for each other natively too.
func capturedCases() []capturedCase {
	scale := float64((4 + runtime.NumCPU() - 1) / runtime.NumCPU())
	const ints, intsMap = "ints@arg1,arg2", "@a = arg0; @b = arg1;"
	return []capturedCase{
		{"ints", "ints", 1, 40, 30, ints, intsMap},
		{"text", "text", 1, 80, 40, "text@arg1/s", "@a = str(arg0);"},
		{"levels", "levels", 1, 1000, 200, "", "@a = *(uint64 *)(arg0 + 8); @b = *(uint64 *)(*(uint64 *)arg0 + 8); @c = **(uint64 **)*(uint64 *)arg0;"},
		{"threads", "ints", 4, 40 * scale, 30 * scale, ints, intsMap},
		// Armed is a function that is never called: what is called is another.
		{"never", "never", 1, 1, 0.2, "never@arg1", "@a = arg0;"},
	}
}

// capturedCaseOf is the case of a program.
func capturedCaseOf(program string) (c capturedCase, ok bool) {
	i := slices.IndexFunc(capturedCases(), func(c capturedCase) bool { return capturedPrefix+c.name == program })
	if i < 0 {
		return c, false
	}
	return capturedCases()[i], true
}

const capturedSource = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((noinline, noclone, noipa))

struct one { long value; };
struct two { struct one *one; long value; };
struct three { struct two *two; long value; };

API long ints(long a, long b) { return a ^ b; }
API long text(const char *s) { return (long)s; }
API long levels(const struct three *t) { return t->value; }
API long never(long a) { return a + 1; }

static long times;
static const char *what;

static void *work(void *n)
{
	static const char string[] = "a string of thirty-one letters.";
	struct one one = {1};
	struct two two = {&one, 2};
	struct three three = {&two, 3};
	long sum = 0, count = *(long *)n;
	if (!strcmp(what, "levels"))
		for (long i = 0; i < count; i++)
			sum += levels(&three);
	else if (!strcmp(what, "text"))
		for (long i = 0; i < count; i++)
			sum += text(string) != 0;
	else
		for (long i = 0; i < count; i++)
			sum += ints(i, sum);
	return (void *)sum;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	what = argv[1];
	times = atol(argv[2]);
	int threads = atoi(argv[3]);
	long once = 1000;
	work(&once); // what happens once
	double from = now();
	pthread_t t[8];
	for (int i = 1; i < threads; i++)
		pthread_create(&t[i], 0, work, &times);
	work(&times);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], 0);
	fprintf(stderr, "%.3f ns a call\n", (now() - from) / times);
	puts("done");
	return argc > 9 && never(1) != 0;
}
`

// ownFigure is what the programs say, in nanoseconds.
func ownFigure(messages string) (float64, bool) {
	for line := range strings.Lines(messages) {
		if text, ok := strings.CutSuffix(strings.TrimSpace(line), " ns a call"); ok {
			v, err := strconv.ParseFloat(text, 64)
			return v, err == nil
		}
	}
	return 0, false
}

// instrumented is the name of the same program built for uftrace.
func instrumented(bin string) string { return bin + "-pg" }

// capturedPrograms are the rows.
func capturedPrograms() (all []program) {
	for _, c := range capturedCases() {
		all = append(all, program{capturedPrefix + c.name, func(dir string, s size) ([]string, error) {
			src, bin := filepath.Join(dir, "captured.c"), filepath.Join(dir, "captured")
			if err := writeOnce(src, func(w *bufio.Writer) { _, _ = w.WriteString(capturedSource) }); err != nil {
				return nil, err
			}
			for _, argv := range [][]string{{"-o", bin}, {"-pg", "-o", instrumented(bin)}} {
				argv = append([]string{"-O1", "-g", "-pthread", src}, argv...)
				if msg, err := exec.Command("cc", argv...).CombinedOutput(); err != nil {
					return nil, fmt.Errorf("cc: %w: %s", err, msg)
				}
			}
			return []string{bin, c.name, fmt.Sprint(pick(s, capturedN, capturedN/5)), fmt.Sprint(c.threads)}, nil
		}})
	}
	return all
}

// capturedConfigs are the configurations of the cases, by file name.
func capturedConfigs() map[string]string {
	all := map[string]string{}
	for _, c := range capturedCases() {
		all[capturedPrefix+c.name+".xml"] = `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true"><Function name="` + c.function +
			`"><Intercept auto="true" depth="3"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	}
	return all
}

// capturedModes are what they are run under. configs is where the configurations lie.
func capturedModes(alleria, configs string) []mode {
	ours := func(name, about string, after func(string) (volume, error), flags func(dir string) []string) mode {
		return mode{name: name, about: about, after: after, command: func(argv []string, dir string) []string {
			record := append([]string{alleria, "record", "-q", "-c", filepath.Join(configs, capturedPrefix+argv[1]+".xml")}, flags(dir)...)
			return append(append(record, "--"), argv...)
		}}
	}
	all := []mode{
		ours("captured", "calls captured, dropped", nil, func(string) []string { return []string{"--discard"} }),
		ours("captured-disk", "calls captured, to disk", bytesIn, func(dir string) []string { return []string{"-o", filepath.Join(dir, "run")} }),
		capturedRival("uftrace", "uftrace, a program built with -pg, to disk", func(c capturedCase, argv []string, dir string) []string {
			flags := []string{"uftrace", "record", "--no-libcall", "--no-event", "-d", filepath.Join(dir, "uftrace"), "-F", c.function, "-R", c.function + "@retval"}
			if c.uftrace != "" {
				flags = append(flags, "-A", c.uftrace)
			}
			return append(append(flags, instrumented(argv[0])), argv[1:]...)
		}),
		capturedRival("bpftrace", "bpftrace, latest values in maps", func(c capturedCase, argv []string, dir string) []string {
			probes := fmt.Sprintf("uprobe:%s:%s { %s } uretprobe:%s:%s { @r = retval; }", argv[0], c.function, c.bpftrace, argv[0], c.function)
			return []string{"bpftrace", "-o", filepath.Join(dir, "maps"), "-e", probes, "-c", strings.Join(fewer(argv, 100), " ")}
		}),
		capturedRival("ltrace", "ltrace, integers only, as text", func(c capturedCase, argv []string, dir string) []string {
			return append([]string{"ltrace", "-f", "-x", c.function + "@MAIN", "-o", filepath.Join(dir, "text")}, fewer(argv, 1000)...)
		}),
	}
	for i := range all {
		all[i].only, all[i].group = capturedPrefix, "captures"
	}
	return all
}

// capturedRival is a mode of another's tool, which is found by PATH.
func capturedRival(name, about string, command func(c capturedCase, argv []string, dir string) []string) mode {
	m := mode{name: name, about: about, rival: true}
	if _, err := exec.LookPath(name); err != nil {
		m.missing = name + " is not installed"
	}
	m.command = func(argv []string, dir string) []string {
		c, _ := capturedCaseOf(capturedPrefix + argv[1])
		return command(c, argv, dir)
	}
	return m
}

// fewer has a program call less often: by so much a rival is slower.
func fewer(argv []string, by int) []string {
	argv = slices.Clone(argv)
	if n, err := strconv.Atoi(argv[2]); err == nil {
		argv[2] = strconv.Itoa(max(1, n/by))
	}
	return argv
}

// bytesIn is the volume of a run whose instructions nobody counts.
func bytesIn(dir string) (v volume, err error) {
	v.bytes, err = sizeOf(dir)
	return v, err
}

// captured turns what the program said of itself into what a call costs more than natively. Ratios would be of other numbers of calls.
func (r *row) captured(s, native *series) {
	c, ok := capturedCaseOf(r.Program)
	if !ok || s == native {
		return
	}
	figures := func(runs []outcome) (all []float64) {
		for _, o := range runs {
			if v, ok := ownFigure(o.Messages); ok {
				all = append(all, v)
			}
		}
		return all
	}
	mine, base := figures(s.runs), figures(native.runs)
	r.Ratio, r.Low, r.High = 0, 0, 0
	if len(mine) == 0 || len(base) == 0 {
		r.Failure = "the program did not say what a call took"
		return
	}
	r.NanosPerCall = new(median(mine) - median(base))
	if !s.mode.rival {
		r.MustNanos, r.ReachNanos = c.must, c.reach
	}
}
