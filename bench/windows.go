package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
)

// callsProgram is the program of the modes that are about windows on one function:
// it does nothing but call it.
const callsProgram = "calls"

// callsN is how often it does, with -short a fifth of that.
const callsN = 10_000_000

const callsSource = `#include <stdio.h>
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) long called(long x) { sink += x; return x * 3 + 1; }
int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 0, s = 0;
	for (long i = 0; i < n; i++) s += called(i);
	printf("%ld\n", s);
	return 0;
}
`

// prepareCalls compiles it.
func prepareCalls(dir string, s size) ([]string, error) {
	src, bin := filepath.Join(dir, "calls.c"), filepath.Join(dir, "calls")
	if err := os.WriteFile(src, []byte(callsSource), 0o644); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if msg, err := exec.Command("cc", "-O1", "-o", bin, src).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, msg)
	}
	return []string{bin, fmt.Sprint(pick(s, callsN, callsN/5))}, nil
}

// perCall is what one call of the function may cost beyond a native one, in
// nanoseconds, in the modes that are about it.
func perCall(mode string) (must, reach float64) {
	switch mode {
	case "toggled":
		return 100, 30
	case "threshold", "closed":
		return 20, 5
	}
	return 0, 0
}

// calls turns a row's time into what a call costs.
func (r *row) calls(nativeTime float64, n int) {
	must, reach := perCall(r.Mode)
	if must == 0 || nativeTime == 0 {
		return
	}
	r.NanosPerCall = new((r.Seconds - nativeTime) / float64(n) * 1e9)
	r.MustNanos, r.ReachNanos = must, reach
	r.Must, r.Reach = 0, 0
}

// uncalled are events on functions that bzip2, python3 and cc1 have and never call with
// their inputs.
func uncalled(event string) (out string) {
	for _, f := range []string{`name="BZ2_bzDecompress" imageName="libbz2.so.1.0"`, `name="PyMarshal_WriteLongToFile"`, `name="debug_tree"`} {
		out += "<" + event + " " + f + "/>"
	}
	return out
}

// windowConfigs are the configurations of the modes that need one, by file name. What
// they record is nothing: what is measured is what windows themselves cost.
//
// Of the functions of armed.xml each program that the figure is about has one, which it never
// calls, and lacks the others; the library is never loaded: the events stay armed and never fire.
func windowConfigs() map[string]string {
	window := func(attrs, events string) string {
		return `<Window` + attrs + `>` + events + `<Profile><Process><Thread><Image main="true"><Function name="no_such_function">` +
			`<Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window>`
	}
	file := func(windows string) string { return `<AlleriaConfig version="1.0">` + windows + `</AlleriaConfig>` }
	configs := map[string]string{
		"armed.xml": file(window("", `<On><One>`+uncalled("Call")+`</One></On>`) + window("", `<On><One>`+uncalled("Return")+`</One></On>`) +
			window("", `<On><Load name="no_such_library.so"/></On>`) + window("", `<On><Time threshold="10000000"/></On>`)),
		"followed.xml": file(`<Window><Profile><Process/></Profile></Window>`),
		"counting.xml": file(window("", `<On><Instructions threshold="1000000000000000"/></On>`)),
		"toggled.xml":  file(window(` reopenable="true"`, `<On><Call name="called"/></On><Till><Return name="called"/></Till>`)),
		"closed.xml":   file(window("", `<On><Call name="called" threshold="1000000000000"/></On>`)),
		"threshold.xml": file(window(` reopenable="true"`,
			`<On><Call name="called" threshold="1000000"/></On><Till><Return name="called"/></Till>`)),
	}
	configs["arming.xml"] = armingConfig
	maps.Copy(configs, capturedConfigs())
	return configs
}
