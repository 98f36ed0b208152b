package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
)

// What it takes to find, compile and arm very many functions at once is measured by a program that has them, calls one of them and ends: what the whole run takes more
// than natively is divided by their number.

// armingProgram is the program, and the name of the mode that is about it. armingN is how many functions it has.
const (
	armingProgram = "arming"
	armingN       = 50_000
)

// armingMust and armingReach are what arming one function may take, in nanoseconds: a second for all of them.
const armingMust, armingReach = 1e9 / armingN, 5e8 / armingN

// armingSource has them in assembly: a compiler takes half a minute for so many.
func armingSource() string {
	return fmt.Sprintf(`#include <stdio.h>

__asm__(".text\n.altmacro\n.macro one n\n.globl f\\n\n.type f\\n, @function\nf\\n: lea 1(%%rdi), %%rax\nret\n.size f\\n, .-f\\n\n.p2align 4\n.endm\n"
	".set i, 0\n.rept %d\none %%i\n.set i, i+1\n.endr\n.noaltmacro\n");
extern long f0(long n);

int main(void)
{
	return printf("%%ld\n", f0(0)) < 0;
}
`, armingN)
}

// prepareArming compiles it.
func prepareArming(dir string, _ size) ([]string, error) {
	src, bin := filepath.Join(dir, "arming.c"), filepath.Join(dir, "arming")
	if err := writeOnce(src, func(w *bufio.Writer) { _, _ = w.WriteString(armingSource()) }); err != nil {
		return nil, err
	}
	if msg, err := exec.Command("cc", "-O1", "-o", bin, src).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, msg)
	}
	return []string{bin}, nil
}

// armingConfig has every function of the program captured.
const armingConfig = `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true"><Function name="*"><Intercept auto="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`

// arming turns a row's time into what arming a function takes.
func (r *row) arming(nativeTime float64) {
	if r.Program != armingProgram || r.Mode != armingProgram || nativeTime == 0 {
		return
	}
	r.NanosPerCall = new((r.Seconds - nativeTime) / armingN * 1e9)
	r.MustNanos, r.ReachNanos = armingMust, armingReach
	r.Must, r.Reach = 0, 0
}
