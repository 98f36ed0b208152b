package randprog

import "bytes"

// startBeside starts a thread. Both go on behind the call and are told apart by their
// stacks, not by what clone returned: so another call in its place, which returns
// something else, makes a program of one thread that does all that the first does.
const startBeside = `
	lea rsi, beside_stack[rip]
	xor edx, edx
	xor r10d, r10d
	xor r8d, r8d
	mov edi, 0x50f00
	mov eax, 56
	syscall
	mov eax, 0
	lea rcx, beside_stack[rip]
	cmp rsp, rcx
	je beside`

// BesideShared is how many instructions behind the call both threads execute.
const BesideShared = 4

// besideCode is what the thread executes: calls of a function of its own, and system
// calls that the other does not make. Then it waits or ends.
const besideCode = `
	.type beside, @function
beside:
	mov ebx, 40
.Lbeside:
	call beside_work
	lea rdi, beside_time[rip]
	xor esi, esi
	mov eax, 35
	syscall
	dec ebx
	jnz .Lbeside
	mov eax, {end}
	xor edi, edi
	syscall
	jmp .Lbeside
	.size beside, .-beside
	.type beside_work, @function
beside_work:
	mov ecx, 30
.Lbeside_work:
	inc qword ptr beside_time[rip+16]
	dec ecx
	jnz .Lbeside_work
	ret
	.size beside_work, .-beside_work
	.data
	.balign 8
beside_time: .quad 0, 50000, 0
	.bss
	.balign 64
	.skip 4096
beside_stack: .skip 64
	.text`

// WithoutBeside returns a program of Calls that was linked with Beside as one that does not start the thread: it
// asks for its own number instead. ok: there is the one place where to change it.
func WithoutBeside(program []byte) (alone []byte, ok bool) {
	start := []byte{0xbf, 0x00, 0x0f, 0x05, 0x00, 0xb8, 56, 0, 0, 0, 0x0f, 0x05}
	alone = bytes.Clone(program)
	at := bytes.Index(alone, start)
	if at < 0 || bytes.Count(alone, start) > 1 {
		return nil, false
	}
	alone[at+6] = 39 // getpid
	return alone, true
}
