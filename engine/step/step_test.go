package step

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/engine/launch"
	"alleria/engine/x86"
)

// build makes a static program of assembler text; low addresses make what is
// expected readable.
func build(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "p.S"), filepath.Join(dir, "p")
	text = "\t.intel_syntax noprefix\n\t.globl _start\n" + text + "\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x401000,-Tdata=0x402000", "-o", bin, src)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, b)
	}
	return bin
}

// trace runs a program and returns a line an instruction.
func trace(t *testing.T, text string, o Options) ([]string, Status, error) {
	t.Helper()
	o.Path = build(t, text)
	o.Argv, o.NoASLR = []string{"p"}, true
	var lines []string
	st, err := Run(o, func(in *Ins) error {
		var b strings.Builder
		fmt.Fprintf(&b, "%x %s", in.Addr-0x401000, in.ClassName())
		for _, a := range in.Accesses {
			kind := "L"
			if a.Store {
				kind = "S"
			}
			fmt.Fprintf(&b, " %s%d@%x=%x", kind, a.Size, a.Addr, a.Value)
		}
		if in.Branch {
			fmt.Fprintf(&b, " %v %x", in.Taken, in.To-0x401000)
		}
		lines = append(lines, b.String())
		return nil
	})
	return lines, st, err
}

const exit = "\tmov eax, 231\n\txor edi, edi\n\tsyscall\n"

func compare(t *testing.T, got []string, want string) {
	t.Helper()
	w := strings.Split(strings.TrimSpace(want), "\n")
	for i := range w {
		if i >= len(got) || got[i] != w[i] {
			t.Fatalf("line %d differs; got\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(w, "\n"))
		}
	}
	if len(got) > len(w) {
		t.Fatalf("too many lines:\n%s", strings.Join(got, "\n"))
	}
}

// TestRun checks what is told of plain instructions, branches, repeated ones.
func TestRun(t *testing.T) {
	lines, st, err := trace(t, `
_start:	mov	rbx, offset m
	add	dword ptr [rbx], 5
	cmp	eax, eax
	jne	_start
	je	1f
	nop
1:	xor	ecx, ecx
	mov	rsi, rbx
	lea	rdi, [rbx+4]
	rep movsb
	mov	cl, 2
	rep movsb
`+exit+"\t.data\nm:\t.long 1, 2", Options{})
	if err != nil || !st.Exited || st.Code != 0 {
		t.Fatalf("%+v, %v", st, err)
	}
	compare(t, lines, `
0 mov
7 add L4@402000=01000000 S4@402000=06000000
a cmp
c jnz false e
e jz true 11
11 xor
13 mov
16 lea
1a movsb
1c mov
1e movsb L1@402000=06 S1@402004=06 L1@402001=00 S1@402005=00
20 mov
25 xor
27 syscall`)
	if st.Ins != uint64(len(lines)) {
		t.Errorf("%d instructions in the status, %d visited", st.Ins, len(lines))
	}
}

// TestHidden checks that the program does not notice being stepped: no trap flag
// in pushed flags, behind system calls or after popf, no rseq, no transactions.
func TestHidden(t *testing.T) {
	begin := "mov eax, 0" // without transactions it is no instruction
	if x86.HasRTM() {
		begin = "xbegin	1f\n	jmp	2f"
	}
	_, st, err := trace(t, `
_start:	push	0x202
	popfq
	pushfq
	pop	rax
	pushfw
	pop	cx
	or	eax, ecx
	mov	ebx, eax
	mov	eax, 39
	syscall
	or	ebx, r11d
	test	ebx, 0x100
	mov	edi, 1
	jnz	2f
	mov	eax, 334
	syscall
	cmp	rax, -38
	mov	edi, 2
	jne	2f
	mov	eax, 7
	mov	edi, 3
	`+begin+`
1:	cmp	eax, 0
	jne	2f
	xor	edi, edi
2:	mov	eax, 231
	syscall
`, Options{})
	if err != nil || !st.Exited || st.Code != 0 {
		t.Fatalf("%+v, %v", st, err)
	}
}

// TestSignals checks that a fault is no instruction, that the handler's are, and
// how an end by a signal is told.
func TestSignals(t *testing.T) {
	lines, st, err := trace(t, `
handler: add	qword ptr [rdx+40+128], 3	/* RIP: behind the load */
	ret
restorer: mov	eax, 15
	syscall
_start:	mov	eax, 13
	mov	edi, 11
	mov	rsi, offset action
	xor	edx, edx
	mov	r10d, 8
	syscall
	xor	eax, eax
	mov	rbx, [rax]
	mov	eax, 39
	syscall
	mov	edi, eax
	mov	esi, 15
	mov	eax, 62
	syscall
	.data
action:	.quad	handler, 0x04000004, restorer, 0`, Options{})
	if err != nil || st.Signal != unix.SIGTERM || st.Exited {
		t.Fatalf("%+v, %v", st, err)
	}
	var names []string
	for _, l := range lines {
		names = append(names, strings.Fields(l)[1])
	}
	want := "mov mov mov xor mov syscall xor add ret mov syscall mov syscall mov mov mov syscall"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestChild checks that a forked child is detached.
func TestChild(t *testing.T) {
	_, st, err := trace(t, `
_start:	mov	eax, 57
	syscall
	test	eax, eax
	jz	1f
	mov	edi, eax
	sub	rsp, 16
	mov	rsi, rsp
	xor	edx, edx
	xor	r10d, r10d
	mov	eax, 61
	syscall
	movzx	edi, byte ptr [rsp+1]
	mov	eax, 231
	syscall
1:	mov	edi, 42
	mov	eax, 231
	syscall`, Options{})
	if err != nil || st.Code != 42 {
		t.Fatalf("%+v, %v", st, err)
	}
}

// TestExec checks that a program that executes another is followed into it.
func TestExec(t *testing.T) {
	other := build(t, "_start:\tnop\n"+strings.Replace(exit, "xor edi, edi", "mov edi, 7", 1))
	lines, st, err := trace(t, fmt.Sprintf(`
_start:	mov	eax, 59
	mov	rdi, offset path
	xor	esi, esi
	xor	edx, edx
	syscall
	hlt
	.data
path:	.asciz	%q`, other), Options{})
	if err != nil || st.Code != 7 {
		t.Fatalf("%+v, %v", st, err)
	}
	if n := len(lines); n != 9 || !strings.HasSuffix(lines[5], "nop") {
		t.Errorf("%d lines\n%s", n, strings.Join(lines, "\n"))
	}
}

// TestErrors checks the ends that are not the program's own.
func TestErrors(t *testing.T) {
	if _, _, err := trace(t, "_start:\tjmp _start", Options{MaxIns: 100}); !errors.Is(err, ErrTooLong) {
		t.Errorf("endless loop: %v", err)
	}
	threads := `
_start:	mov	eax, 56
	mov	edi, 0x10f00
	lea	rsi, [rsp-4096]
	syscall
1:	jmp	1b`
	if _, _, err := trace(t, threads, Options{MaxIns: 100}); !errors.Is(err, errThreads) {
		t.Errorf("threads: %v", err)
	}
	stop := errors.New("enough")
	bin := build(t, "_start:\n"+exit)
	if _, err := Run(Options{Path: bin, Argv: []string{"p"}}, func(*Ins) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("visitor's error: %v", err)
	}
	_, err := Run(Options{Path: bin + "-none", Argv: []string{"p"}}, func(*Ins) error { return nil })
	var ee *launch.ExecError
	if !errors.As(err, &ee) || !errors.Is(err, unix.ENOENT) {
		t.Errorf("no program: %v", err)
	}
}

// TestFixRandom checks that the random bytes of two runs are the same.
func TestFixRandom(t *testing.T) {
	text := `
_start:	mov	rbx, rsp
	mov	rcx, [rbx]
	lea	rbx, [rbx+rcx*8+16]
1:	add	rbx, 8			/* past the environment */
	cmp	qword ptr [rbx-8], 0
	jne	1b
2:	add	rbx, 16
	cmp	qword ptr [rbx-16], 25
	jne	2b
	mov	rbx, [rbx-8]
	mov	rax, [rbx]
` + exit
	lines, _, err := trace(t, text, Options{FixRandom: true})
	if err != nil {
		t.Fatal(err)
	}
	last := lines[len(lines)-4]
	if !strings.HasSuffix(last, fmt.Sprintf("=%x", "sixteen ")) {
		t.Errorf("the program read %s", last)
	}
}
