package acceptance

import (
	"fmt"
	"math"
	"math/big"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"alleria/internal/randprog"
)

// TestInterceptRandom captures calls of functions with random signatures, and compares what is said of them with what
// the functions themselves printed.
func TestInterceptRandom(t *testing.T) {
	t.Parallel()
	seeds, flags := []uint64{1, 2}, "-w"
	if *every {
		seeds = nil
		for seed := range uint64(13) {
			seeds = append(seeds, seed)
		}
	}
	wide := cpuHas("avx")
	if wide {
		flags += " -mavx"
	}
	for _, seed := range seeds {
		for _, cc := range []string{"gcc", "clang"} {
			if !*every && cc == "gcc" != (seed == 1) {
				continue
			}
			t.Run(fmt.Sprint(cc, seed), func(t *testing.T) {
				text := randprog.Signatures(seed, 40, wide, cc == "gcc")
				dir := workDir(t)
				file := writeFile(t, dir, fmt.Sprintf("signatures%d.c", seed), text)
				prog := ""
				if cc == "clang" {
					// It has no numbers of two bytes here, and another word for functions that are called as they are.
					prog = buildClang(t, "clang", file, strings.TrimSuffix(file, ".c")+"-clang", flags+" -D_Float16=float -Dnoipa=noinline,optnone")
				} else {
					prog = build(t, file, flags)
				}
				r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "fn*@main", prog}, dir: dir})
				if len(r.stderr) > 0 {
					t.Errorf("recording says %s", clip(r.stderr))
				}
				want := strings.Split(strings.TrimSpace(string(r.stdout)), "\n")
				got := intercepts(t, dir, "--max-string", "0", "--max-elements", "0")
				if cc == "clang" && seed == 12 {
					// clang 14 says of a bit field as wide as its type that it is none, and where it would lie if it were none.
					ofThat := func(s string) bool { return strings.HasPrefix(s, "fn24(") }
					got, want = slices.DeleteFunc(got, ofThat), slices.DeleteFunc(want, ofThat)
				}
				compareCalls(t, got, want, text)
			})
		}
	}
}

// buildClang is build with clang or clang++. Without it the test is skipped.
func buildClang(t *testing.T, compiler, file, out, flags string) string {
	t.Helper()
	cc := find(compiler)
	if cc == "" {
		t.Skipf("no %s", compiler)
	}
	if msg, err := exec.Command(cc, append(strings.Fields(flags), "-O1", "-g", "-o", out, file)...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, clip(msg))
	}
	return out
}

// compareCalls compares printed calls with those that the program printed.
func compareCalls(t *testing.T, got, want []string, text string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := at(got, i), at(want, i)
		if why := unlike(g, w); why != "" {
			name, _, _ := strings.Cut(w, "(")
			_, proto, _ := strings.Cut(text, " "+name+"(")
			proto, _, _ = strings.Cut(proto, "\n")
			t.Errorf("%s(%s: %s\ngot  %s\nwant %s", name, proto, why, g, w)
		}
	}
}

// unlike tells where a printed call differs from what the program printed, in which floating-point numbers stand in
// <> after their type.
func unlike(got, want string) string {
	for want != "" {
		plain, rest, found := strings.Cut(want, "<")
		if !strings.HasPrefix(got, plain) {
			return fmt.Sprintf("at %q: not %q", clip([]byte(got)), clip([]byte(plain)))
		}
		if got = got[len(plain):]; !found {
			want = ""
			break
		}
		number, after, _ := strings.Cut(rest, ">")
		n := strings.IndexAny(got+",", ",})&= ")
		kind, value, _ := strings.Cut(number, ":")
		if !sameFloat(kind, got[:n], value) {
			return fmt.Sprintf("%s is not %s", got[:n], number)
		}
		got, want = got[n:], after
	}
	if got != "" {
		return fmt.Sprintf("%q is too much", got)
	}
	return ""
}

// sameFloat compares two numbers of float (f), double (d) or long double (L).
func sameFloat(kind, a, b string) bool {
	if kind == "L" {
		x, _, err1 := big.ParseFloat(a, 10, 64, big.ToNearestEven)
		y, _, err2 := big.ParseFloat(b, 10, 64, big.ToNearestEven)
		return err1 == nil && err2 == nil && x.Cmp(y) == 0 && x.Signbit() == y.Signbit()
	}
	bits := 64
	if kind == "f" {
		bits = 32
	}
	x, err1 := strconv.ParseFloat(a, bits)
	y, err2 := strconv.ParseFloat(strings.TrimPrefix(b, "-"), bits)
	if strings.HasPrefix(b, "-") {
		y = -y
	}
	return err1 == nil && err2 == nil && (x == y && math.Signbit(x) == math.Signbit(y) || math.IsNaN(x) && math.IsNaN(y))
}
