package symbols

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	insnLea  = regexp.MustCompile(`lea .*\(%rip\),%rdi +# ([0-9a-f]+)`)
	insnMov  = regexp.MustCompile(`mov +\$0x([0-9a-f]+),%[re]di`)
	insnCall = regexp.MustCompile(`^ +([0-9a-f]+):.*\t(?:addr32 )?call`)
)

// TestMainOfSystemPrograms compares with what objdump shows at the entry point.
func TestMainOfSystemPrograms(t *testing.T) {
	for _, path := range []string{"/bin/gzip", "/usr/bin/perl", "/usr/bin/python3", "/usr/bin/sqlite3", "/bin/bash", "/bin/ls", "/usr/bin/gcc", "/usr/bin/objdump"} {
		t.Run(path, func(t *testing.T) {
			im := mustOpen(t, system(t, path))
			var want MainCall
			for _, line := range oracle(t, "objdump", "-d", fmt.Sprintf("--start-address=%#x", im.Entry), fmt.Sprintf("--stop-address=%#x", im.Entry+48), path) {
				if m := insnLea.FindStringSubmatch(line); m != nil {
					want.Main = unhex(t, m[1])
				} else if m := insnMov.FindStringSubmatch(line); m != nil {
					want.Main = unhex(t, m[1])
				} else if m := insnCall.FindStringSubmatch(line); m != nil && want.Call == 0 {
					want.Call = unhex(t, m[1])
				}
			}
			if want.Main == 0 || want.Call == 0 {
				t.Fatal("objdump shows no start code of the known form")
			}
			got, err := im.MainCall()
			if err != nil || got != want {
				t.Errorf("MainCall = %#x, %v; want %#x", got, err, want)
			}
			fns := im.Find("main", false)
			if len(fns) != 1 || fns[0].Addr != want.Main {
				t.Errorf("Find(main) = %v", fns)
			}
		})
	}
}

// muslCrt is where Debian has musl's start files; musl-gcc has no option for
// the self-relocating ones.
const muslCrt = "/usr/lib/x86_64-linux-musl/"

// TestMainOfFixtures strips programs of every C library and linking model, and
// compares with the symbol they had.
func TestMainOfFixtures(t *testing.T) {
	src := []string{"testdata/wait.c"}
	for name, cmd := range map[string]string{
		"glibc":             "gcc",
		"glibc no-pie":      "gcc -fno-pie -no-pie",
		"glibc static":      "gcc -static",
		"glibc static-pie":  "gcc -static-pie",
		"glibc cet":         "gcc -fcf-protection=full -Wl,-z,ibtplt",
		"glibc gold":        "gcc -fuse-ld=gold",
		"musl":              "musl-gcc",
		"musl no-pie":       "musl-gcc -fno-pie -no-pie",
		"musl static":       "musl-gcc -static",
		"musl static-pie":   "musl-gcc -fPIE -static -nostartfiles -Wl,-pie,--no-dynamic-linker " + muslCrt + "rcrt1.o " + muslCrt + "crti.o " + muslCrt + "crtn.o",
		"musl static O2":    "musl-gcc -static -O2",
		"glibc packed relr": "gcc -Wl,-z,pack-relative-relocs",
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(cmd)
			path := build(t, words[0], append(words[1:], src...)...)
			main := mustOpen(t, path).Find("main", true)
			if len(main) != 1 || main[0].Source != SymbolTable {
				t.Fatalf("main has no symbol: %v", main)
			}
			call, err := mustOpen(t, path).MainCall()
			if err != nil {
				t.Fatal(err)
			}
			stripped := copyFile(t, path)
			run(t, "strip", stripped)
			im := mustOpen(t, stripped)
			got, err := im.MainCall()
			if err != nil || got.Main != main[0].Addr || got != call {
				t.Errorf("MainCall = %#x, %v; main is at %#x", got, err, main[0].Addr)
			}
			if f := im.Find("main", false); len(f) != 1 || f[0].Addr != main[0].Addr || f[0].Size == 0 {
				t.Errorf("Find(main) = %v", f)
			}
		})
	}
}

// TestNoMain has answers for what calls no main.
func TestNoMain(t *testing.T) {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"} {
		if got, err := mustOpen(t, system(t, path)).MainCall(); err == nil {
			t.Errorf("%s: main at %#x", path, got)
		}
	}
}

// TestStartInstructions decodes single instructions and what they do to rdi.
func TestStartInstructions(t *testing.T) {
	const pc = 0x1000
	for _, c := range []struct {
		code string
		want startInsn
	}{
		{"\xf3\x0f\x1e\xfa", startInsn{size: 4}},                                                                 // endbr64
		{"\x48\x8d\x3d\x00\x01\x00\x00", startInsn{size: 7, op: startConst, value: pc + 7 + 0x100}},              // lea 0x100(%rip),%rdi
		{"\x48\xc7\xc7\x00\x10\x40\x00", startInsn{size: 7, op: startConst, value: 0x401000}},                    // mov $0x401000,%rdi
		{"\xbf\x00\x10\x40\x00", startInsn{size: 5, op: startConst, value: 0x401000}},                            // mov $0x401000,%edi
		{"\x48\xbf\x00\x10\x40\x00\x01\x00\x00\x00", startInsn{size: 10, op: startConst, value: 0x100401000}},    // movabs
		{"\x49\xbf\x00\x10\x40\x00\x01\x00\x00\x00", startInsn{size: 10}},                                        // movabs to r15
		{"\x48\x8b\x3d\xf0\xff\xff\xff", startInsn{size: 7, op: startLoad, value: pc + 7 - 0x10}},                // mov -0x10(%rip),%rdi
		{"\x48\x89\xe7", startInsn{size: 3, op: startClobber}},                                                   // mov %rsp,%rdi
		{"\x5f", startInsn{size: 1, op: startClobber}},                                                           // pop %rdi
		{"\x41\x5f", startInsn{size: 2}},                                                                         // pop %r15
		{"\x31\xff", startInsn{size: 2, op: startClobber}},                                                       // xor %edi,%edi
		{"\x45\x31\xff", startInsn{size: 3}},                                                                     // xor %r15d,%r15d
		{"\x48\x83\xe4\xf0", startInsn{size: 4}},                                                                 // and $-16,%rsp
		{"\x48\x8d\x7c\x24\x08", startInsn{size: 5, op: startClobber}},                                           // lea 8(%rsp),%rdi
		{"\xe8\x10\x00\x00\x00", startInsn{size: 5, op: startTransfer, to: target{direct: pc + 5 + 0x10}}},       // call
		{"\x67\xe8\x10\x00\x00\x00", startInsn{size: 6, op: startTransfer, to: target{direct: pc + 6 + 0x10}}},   // addr32 call
		{"\xeb\xfe", startInsn{size: 2, op: startTransfer, to: target{direct: pc}}},                              // jmp .
		{"\xff\x15\x10\x00\x00\x00", startInsn{size: 6, op: startTransfer, to: target{slot: pc + 6 + 0x10}}},     // call *0x10(%rip)
		{"\xf2\xff\x25\x10\x00\x00\x00", startInsn{size: 7, op: startTransfer, to: target{slot: pc + 7 + 0x10}}}, // bnd jmp *
		{"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", startInsn{size: 10}},                                        // nopw
	} {
		got, ok := decodeStart([]byte(c.code), pc)
		if !ok || got != c.want {
			t.Errorf("% x: %+v, %v; want %+v", c.code, got, ok, c.want)
		}
		for n := range len(c.code) {
			if in, ok := decodeStart([]byte(c.code[:n]), pc); ok && in.size > n {
				t.Errorf("% x: %d bytes of %d", c.code, in.size, n)
			}
		}
	}
	for _, code := range []string{"\xff\xd0", "\x0f\x05", "\xc3", "\xff\x14\x24", ""} {
		if got, ok := decodeStart([]byte(code), pc); ok {
			t.Errorf("% x is accepted as %+v", code, got)
		}
	}
}
