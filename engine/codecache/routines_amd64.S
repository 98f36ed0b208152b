/* Routines that translated code reaches by jumps. They are copied from this
 * binary into each code-cache region of a target, so they are position
 * independent and touch nothing but the thread's slot through gs; the
 * application's stack is never used. The constants are those of
 * internal/layout; a test compares them.
 *
 * Between a routine's _core and _end labels every register that the routine
 * uses is in the save area: that is where the tracer takes the application's
 * registers from when a signal finds a thread there.
 */

#define TGT      0x58
#define BUF      0x40
#define END      0x48
#define NEGEND   0x50
#define AWAIT    0x68
#define TOP      0x70
#define PLACE    0x78
#define S0       0x00
#define S1       0x08
#define REQ      0x80
#define ASK      0x90
#define REQARG   0x88
#define REQCPU   0x98
#define RESP     0xc0
#define ASLEEP   0xc8
#define HEAD     0x100
#define CHUNKB   0x110
#define CHUNKS   0x118
#define WAITS    0x120
#define WAITTSC  0x128
#define TAIL     0x140
#define STARVED  0x148
#define BUFFERING 0x130
#define NWAY     2
#define BATCHED  4
#define TAKEN    0x150
#define CLEARW   0x60
#define LAST     0xa8
#define GUARD    4160
#define LASTOFF  12352
#define BATCH    16384
#define SLOTEND  0xf65b1d3784c2e9a6
#define FLOOR    0x138
#define LOST     0x1e0
#define LOSTWORDS 0x1e8
#define CONTROL  0x180
#define SIGCOPY  0x8d8
#define CARRY    0x198
#define RESUME   0x1a0
#define BACK     0x1b8
#define POP      0x1c0
#define INSIDE   0x1c8
#define TOGGLES  0x1d0
#define SAVE     0x200
#define SFLAGS   0x280
#define CHUNKCTL 0x1000
#define MAXCHUNK 1024
#define SLACK    8192
#define BELLBELOW 0x1000
#define DOORBELL 0x00
#define TASLEEP  0x40
#define TRACERCPU 0x44
#define CROWDED  0x48
#define CBELL    0x80
#define CASLEEP  0xc0
#define NOCALLS  0x100
#define FRAMEPLACE 0x20000
#define FRAMESP    0x1e00000
#define FRAMESITE  0x1e80000
#define FRAMENONE  0x100000000000000
#define PLACES   0x20000
#define PLACELOG 7
#define PCODE    0x08
#define PMARK    0x10
#define PADDR    0x18
#define PINSIDE  0x20
#define PTO      0x28
#define PSET     0x30
#define PGONE    0x50
#define CAWAIT   0x9000
#define CTOP     0x9008
#define FRAMESG  0x9030
#define FRAMESHI 0x9038
#define FRAMESLO 0x91a8
#define CGOAWAIT 0x9198
#define GOAWAIT  0x91a0
#define CBACK    0x9010
#define CSPILL   0x9040
#define CNEXT    0x9060
#define CNATIVE  0x9068
#define CASKAT   0x9070
#define CLEFTSP  0x9078
#define CLEFTTO  0x9080
#define CENTERS  0x9088
#define CTEXT    0x9090
#define CFRAMES  0x1a00000
#define CFSP     0x1a00000
#define CFSITE   0x1a00008
#define CFPOINT  0x1a00010
#define CFRAME   128
#define CMASK    0x3fffff
#define CSITES   0xa0000
#define CSITEMASK 0x7fff
#define CSITESHIFT 3
#define CLEAVES  0x100000
#define CMAXLEAVES 0x10000
#define MARKCALL 0x8b
#define SPINS    4000
#define FEWSPINS 200
#define CPUNODE  0x7b
/* While the ring is full those who empty it need the processor more: they take a
 * hundred times as long for a chunk as a short spin. */
#define RINGSPINS 100
#define SYS_futex 202
#define SYS_open 2
#define REQ_INDIRECT 0xf0000001
#define REQ_ENTERED  0xf0000002
#define REQ_RETURNED 0xf0000003

	.intel_syntax noprefix
	.section .rodata
	.p2align 6
	.globl alleria_stubs, alleria_stubs_end

/* What the routines use goes to the save area; rbx, rbp and r12 to r15 are never
 * changed. lahf puts SF ZF AF PF CF into ah, seto OF into al: pushf would need the
 * application's stack. The order of the words is that of register numbers. */
.macro SAVEALL
	mov gs:[SAVE+0], rax
	lahf
	seto al
	mov gs:[SFLAGS], rax
	mov gs:[SAVE+8], rcx
	mov gs:[SAVE+16], rdx
	mov gs:[SAVE+32], rsp
	mov gs:[SAVE+48], rsi
	mov gs:[SAVE+56], rdi
	mov gs:[SAVE+64], r8
	mov gs:[SAVE+72], r9
	mov gs:[SAVE+80], r10
	mov gs:[SAVE+88], r11
.endm

/* add al, 127 overflows exactly if al is 1, which sets OF again; sahf sets the rest
 * and leaves OF alone. rax comes last, as it carries the flags. */
.macro RESTOREALL
	mov r11, gs:[SAVE+88]
	mov r10, gs:[SAVE+80]
	mov r9, gs:[SAVE+72]
	mov r8, gs:[SAVE+64]
	mov rdi, gs:[SAVE+56]
	mov rsi, gs:[SAVE+48]
	mov rdx, gs:[SAVE+16]
	mov rcx, gs:[SAVE+8]
	mov rax, gs:[SFLAGS]
	add al, 127
	sahf
	mov rax, gs:[SAVE+0]
.endm

/* The number of the processor that the thread is on, as package spin reads it. A system
 * call would not be worth it, and rdpid and rdtscp are not everywhere allowed. */
.macro GETCPU reg
	mov \reg, CPUNODE
	lsl \reg, \reg
	and \reg, 0xfff
.endm

/* Sleeps until the consumer has made room. Destroys rdi, rdx, r10, r11. The kernel destroys rcx; words that
 * no register is saved to keep it and rsi. */
.macro STARVE
	mov gs:[SAVE+96], rcx
	mov gs:[SAVE+104], rsi
	mov rdi, gs:[CONTROL+16]
	shl rdi, 26
	add rdi, gs:[CONTROL+40]
	add rdi, STARVED
	xor esi, esi
	mov edx, 1
	xor r10d, r10d
	mov eax, SYS_futex
	syscall
	mov rcx, gs:[SAVE+96]
	mov rsi, gs:[SAVE+104]
.endm

/* Wakes a processing thread that sleeps: r9 is the control area. */
.macro RINGBELL
	lock inc dword ptr [r9+CBELL-BELLBELOW]
	cmp dword ptr [r9+NOCALLS], 0
	jne 99f
	mov gs:[SAVE+96], rcx
	mov gs:[SAVE+104], rsi
	lea rdi, [r9+CBELL-BELLBELOW]
	mov esi, 1
	mov edx, 1
	mov eax, SYS_futex
	syscall
	mov rcx, gs:[SAVE+96]
	mov rsi, gs:[SAVE+104]
99:
.endm

/* Counts how long there was no room, from r8 on, and makes r8 now. */
.macro ROOMY
	mov dword ptr gs:[STARVED], 0
	mov r10, rdx
	rdtsc
	shl rdx, 32
	or rax, rdx
	mov rdx, rax
	sub rax, r8
	add gs:[WAITTSC], rax
	mov r8, rdx
.endm

alleria_stubs:

/* An indirect branch found no translation: its target is in rcx, the
 * application's rcx and rdx are in S0 and S1. */
	.globl alleria_indirect
alleria_indirect:
	mov gs:[REQARG], rcx
	mov rcx, gs:[S0]
	mov rdx, gs:[S1]
	mov dword ptr gs:[ASK], REQ_INDIRECT
/* A dispatch is in ASK, every register is the application's. The tracer sees it
 * in REQ, when it finds the registers saved too. */
	.globl alleria_dispatch
alleria_dispatch:
	SAVEALL
	mov gs:[SAVE+24], rbx		/* not used here: who unwinds the stack wants them */
	mov gs:[SAVE+40], rbp
	mov eax, gs:[ASK]
	mov gs:[REQ], eax
	.globl alleria_dispatch_core
alleria_dispatch_core:
	mov r8, gs:[CONTROL]
	GETCPU r9d
	mov gs:[REQCPU], r9d
	/* REQ is stored before TASLEEP is looked at, the tracer does it the other way
	 * round: one of the two sees the other. Only a fence orders a store before a
	 * later load. */
	mfence
	cmp dword ptr [r8+TASLEEP-BELLBELOW], 0
	jne 3f
	/* Spin for the answer: most come within a microsecond. */
1:	mov edx, SPINS
	cmp dword ptr [r8+CROWDED-BELLBELOW], 0
	je 2f
	mov edx, FEWSPINS
2:	mov rcx, gs:[RESP]
	test rcx, rcx
	jnz 5f
	pause
	/* Not on the tracer's own processor: it cannot answer until we leave that to it. */
	GETCPU r9d
	cmp r9d, [r8+TRACERCPU-BELLBELOW]
	je 4f
	dec edx
	jnz 2b
	/* A filter of system calls could kill the program for ours: spin on. */
4:	cmp dword ptr [r8+NOCALLS], 0
	jne 1b
	/* Sleep: the tracer clears ASLEEP after RESP and wakes. */
	mov dword ptr gs:[ASLEEP], 1
	mfence
	mov rcx, gs:[RESP]
	test rcx, rcx
	jnz 5f
	mov rdi, gs:[CONTROL+16]	/* SlotIndex */
	shl rdi, 26			/* SlotSize: gs has no address to be read */
	add rdi, gs:[CONTROL+40]	/* SlotsBase */
	add rdi, ASLEEP
	xor esi, esi
	mov edx, 1
	xor r10d, r10d
	mov eax, SYS_futex
	syscall
	jmp 1b
	/* The tracer sleeps: ring. Where it wakes nobody knows. With the processors free it
	 * is another one, and takes as long as a spin to get there; when they are wanted
	 * it may be this one, which we had better leave then. */
3:	lock inc dword ptr [r8+DOORBELL-BELLBELOW]
	cmp dword ptr [r8+NOCALLS], 0
	jne 1b
	lea rdi, [r8+DOORBELL-BELLBELOW]
	mov esi, 1
	mov edx, 1
	mov eax, SYS_futex
	syscall
	mov edx, SPINS
	cmp dword ptr [r8+CROWDED-BELLBELOW], 0
	je 2b
	mov edx, 1
	jmp 2b
	/* The answer is taken before it is cleared, and cleared before the next dispatch. */
5:	mov gs:[TGT], rcx
	mov qword ptr gs:[RESP], 0
	mov dword ptr gs:[ASLEEP], 0
	.globl alleria_dispatch_end
alleria_dispatch_end:
	RESTOREALL
	jmp qword ptr gs:[TGT]

/* The ring's chunk is full. CARRY words of an unfinished record lie at BUF and
 * go to the next chunk; the routine goes on at RESUME, with all registers and
 * flags as they were. */
	.globl alleria_switch
alleria_switch:
	SAVEALL
	.globl alleria_switch_core
alleria_switch_core:
	rdtsc
	shl rdx, 32
	or rax, rdx
	mov r8, rax			/* now */
	mov rcx, gs:[HEAD]
	mov rsi, gs:[BUF]
	cmp dword ptr gs:[BUFFERING], 0
	jne 10f
11:	mov rdi, rcx
	and edi, MAXCHUNK-1
	shl edi, 5
	mov rax, rsi
	sub rax, gs:[rdi+CHUNKCTL+24]	/* bytes used */
	mov gs:[rdi+CHUNKCTL], rax
	mov gs:[rdi+CHUNKCTL+16], r8
	inc rcx
	mov gs:[HEAD], rcx		/* published: x86 keeps stores in order */
	mov r9, gs:[CONTROL]
	mfence
	cmp dword ptr [r9+CASLEEP-BELLBELOW], 0
	jne 7f
	/* Is the next chunk free? Head minus Tail is how many are not. */
1:	mov rax, rcx
	sub rax, gs:[TAIL]
	cmp rax, gs:[CHUNKS]
	jae 3f
2:	/* open the next chunk */
	mov rdi, rcx
	and edi, MAXCHUNK-1
	shl edi, 5
	mov gs:[rdi+CHUNKCTL+8], r8
	mov rdx, gs:[rdi+CHUNKCTL+24]
	mov rax, rdx
	add rax, gs:[CHUNKB]
	sub rax, SLACK
	mov gs:[END], rax
	neg rax
	mov gs:[NEGEND], rax
	mov gs:[FLOOR], rdx
12:	mov rdi, gs:[CARRY]
	/* The words of the unfinished record, from the last to the first. */
4:	test rdi, rdi
	jz 5f
	mov rax, [rsi+rdi*8-8]
	mov [rdx+rdi*8-8], rax
	dec rdi
	jmp 4b
5:	mov gs:[BUF], rdx
	.globl alleria_switch_end
alleria_switch_end:
	RESTOREALL
	jmp qword ptr gs:[RESUME]
	/* A lossy ring: without room for another chunk this one is used again from FLOOR on,
	 * unless it is nearly full of what has to stay. BUF comes before the words of the
	 * unfinished record: whoever is killed in between leaves a ring that can be read. */
10:	cmp dword ptr gs:[BUFFERING], NWAY
	je 14f
	ja 20f
	lea rax, [rcx+1]
	sub rax, gs:[TAIL]
	cmp rax, gs:[CHUNKS]
	jb 11b
	mov rdx, gs:[FLOOR]
	lea rax, [rdx+SLACK]
	cmp rax, gs:[END]
	ja 11b
	mov rax, rsi
	sub rax, rdx
	shr rax, 3
	mov gs:[BUF], rdx
	add gs:[LOSTWORDS], rax
	inc qword ptr gs:[LOST]
	jmp 12b
	/* no room: spin, then sleep until the consumer has made some: see cab's Release */
	.globl alleria_switch_wait
alleria_switch_wait:
3:	inc qword ptr gs:[WAITS]
8:	mov edi, RINGSPINS
6:	pause
	mov rax, rcx
	sub rax, gs:[TAIL]
	cmp rax, gs:[CHUNKS]
	jb 9f
	dec edi
	jnz 6b
	cmp dword ptr [r9+NOCALLS], 0
	jne 8b
	mov dword ptr gs:[STARVED], 1
	mfence
	mov rax, rcx
	sub rax, gs:[TAIL]
	cmp rax, gs:[CHUNKS]
	jb 9f
	STARVE
	jmp 3b
	/* There is room: how long it took goes into WAITTSC. */
9:	ROOMY
	jmp 2b
	/* A processing thread sleeps. */
7:	RINGBELL
	jmp 1b

	/* N-way: a buffer's flag is its length, which comes last; the next one is free if it has none. */
14:	mov rdi, rcx
	and edi, MAXCHUNK-1
	shl edi, 5
	mov gs:[rdi+CHUNKCTL+16], r8
	mov rax, rsi
	sub rax, gs:[rdi+CHUNKCTL+24]
	inc rcx
	mov gs:[HEAD], rcx		/* nobody else's business */
	mov gs:[rdi+CHUNKCTL], rax
	mov r9, gs:[CONTROL]
	mfence
	cmp dword ptr [r9+CASLEEP-BELLBELOW], 0
	je 15f
	RINGBELL
15:	mov r11d, ecx
	and r11d, MAXCHUNK-1
	shl r11d, 5
	cmp qword ptr gs:[r11+CHUNKCTL], 0
	je 2b
	inc qword ptr gs:[WAITS]
17:	mov edi, RINGSPINS
18:	pause
	cmp qword ptr gs:[r11+CHUNKCTL], 0
	je 9b
	dec edi
	jnz 18b
	cmp dword ptr [r9+NOCALLS], 0
	jne 17b
	mov dword ptr gs:[STARVED], 1
	mfence
	cmp qword ptr gs:[r11+CHUNKCTL], 0
	je 9b
	STARVE
	jmp 15b

	/* Slots. r10 is where the producer is, counted from the start, less the ring's length: what was taken
	 * beyond that is free. r11 is how much has to be. Less than nothing is free where the producer is among words that the
	 * consumer is just making free. */
20:	mov r9, gs:[CONTROL]
21:	mov edi, ecx
	and edi, MAXCHUNK-1
	shl edi, 5
	mov r10, rcx
	imul r10, gs:[CHUNKB]
	add r10, rsi
	mov rdx, gs:[rdi+CHUNKCTL+24]
	sub r10, rdx
	mov rax, gs:[CHUNKS]
	imul rax, gs:[CHUNKB]
	sub r10, rax
	mov r11d, SLACK+64
	cmp rsi, gs:[LAST]
	jbe 22f
	add rdx, gs:[CHUNKB]		/* what is left of this chunk is used up */
	sub rdx, rsi
	add r11, rdx
22:	mov rax, gs:[TAKEN]
	sub rax, r10
	cmp rax, r11
	jl 26f
	cmp rsi, gs:[LAST]
	ja 24f
	mov rdx, rsi
	cmp dword ptr gs:[BUFFERING], BATCHED
	je 27f
	/* There is room, though a slot is not free: what is in it was left behind by an execution that was
	 * given up, or has just been cleared. */
	mov rax, gs:[CLEARW]
	mov edi, GUARD
23:	mov [rdx+rdi-8], rax
	sub edi, 8
	jnz 23b
	jmp 5b
	/* On to the next chunk. What is unfinished goes along before the old chunk is given up. None of that
	 * chunk's other words may look free before the consumer gets there. */
24:	mov gs:[rdi+CHUNKCTL+16], r8
	mov r11, gs:[LAST]
	add r11, SLACK
	inc rcx
	mov edi, ecx
	and edi, MAXCHUNK-1
	shl edi, 5
	mov gs:[rdi+CHUNKCTL+8], r8
	mov rdx, gs:[rdi+CHUNKCTL+24]
	mov rax, rdx
	add rax, gs:[CHUNKB]
	sub rax, LASTOFF
	mov gs:[LAST], rax
	mov gs:[END], rax
	mov gs:[FLOOR], rdx
	mov rdi, gs:[CARRY]
25:	test rdi, rdi
	jz 28f
	mov rax, [rsi+rdi*8-8]
	mov [rdx+rdi*8-8], rax
	dec rdi
	jmp 25b
28:	movabs rax, SLOTEND
35:	sub r11, 8
	mov [r11], rax
	cmp r11, rsi
	ja 35b
	mov gs:[HEAD], rcx
	mov gs:[BUF], rdx
	mfence
	cmp dword ptr [r9+CASLEEP-BELLBELOW], 0
	je 29f
	mov rsi, rdx
	RINGBELL
	mov rdx, rsi
29:	cmp dword ptr gs:[BUFFERING], BATCHED
	jne 5b
	/* How far may be written without another look: a batch, or less if the slot behind it is not free. There
	 * is room for one record in any case. */
27:	mov r11d, BATCH
	mov r8, gs:[CLEARW]
	mov r10, gs:[LAST]
30:	lea rax, [rdx+r11]
	cmp rax, r10
	cmova rax, r10
	cmp [rax+SLACK-8], r8
	je 31f
	shr r11d, 1
	cmp r11d, 512
	jae 30b
	mov rax, rdx
31:	mov gs:[END], rax
	neg rax
	mov gs:[NEGEND], rax
	jmp 5b
	/* no room */
26:	inc qword ptr gs:[WAITS]
32:	mov edi, RINGSPINS
33:	pause
	mov rax, gs:[TAKEN]
	sub rax, r10
	cmp rax, r11
	jge 34f
	dec edi
	jnz 33b
	cmp dword ptr [r9+NOCALLS], 0
	jne 32b
	mov dword ptr gs:[STARVED], 1
	mfence
	mov rax, gs:[TAKEN]
	sub rax, r10
	cmp rax, r11
	jge 34f
	STARVE
	jmp 21b
34:	ROOMY
	jmp 21b
	.globl alleria_switch_tail
alleria_switch_tail:

/* Opens or closes the window that the place at r8 toggles. rsi is the ring
 * pointer, rdi the application's address that comes next, r9 where the function that is entered will
 * return to, or 0. TOGGLES comes last: who finds it counted finds everything else done. */
.macro TOGGLE
	rdtsc
	shl rdx, 32
	or rax, rdx
	mov rdx, [r8+PMARK]
	mov [rsi], rdx
	mov [rsi+8], rax
	mov [rsi+16], rdi
	mov [rsi+24], r9
	add rsi, 32
	mov gs:[BUF], rsi
	mov gs:[FLOOR], rsi
	mov rax, [r8+PINSIDE]
	mov gs:[INSIDE], rax
	mov rax, [r8+PSET]
	mov rdx, [r8+PSET+8]
	mov [rax], rdx
	mov rax, [r8+PSET+16]
	mov rdx, [r8+PSET+24]
	mov [rax], rdx
	inc qword ptr gs:[TOGGLES]
.endm

/* The count of PLACE, an entry, ran out. Every register is the application's. */
	.globl alleria_entered
alleria_entered:
	SAVEALL
	mov r8, gs:[CONTROL]
	mov eax, gs:[PLACE]
	shl rax, PLACELOG
	lea r8, [r8+rax+PLACES]
	mov rcx, [r8+PCODE]
	test rcx, rcx
	jz 1f
	mov rsi, gs:[BUF]
	cmp rsi, gs:[END]
	ja 2f
	mov gs:[TGT], rcx
	mov rdi, [r8+PADDR]
	/* A function may be jumped to with anything for a stack: a fault of this load goes on behind it. */
	xor r9d, r9d
	.globl alleria_entered_caller, alleria_entered_known
alleria_entered_caller:
	mov r9, [rsp]
alleria_entered_known:
	TOGGLE
	RESTOREALL
	jmp qword ptr gs:[TGT]
1:	RESTOREALL
	mov dword ptr gs:[ASK], REQ_ENTERED
	jmp alleria_dispatch
2:	lea rax, alleria_entered[rip]
	mov gs:[RESUME], rax
	mov qword ptr gs:[CARRY], 0
	RESTOREALL
	jmp alleria_switch

/* Minus the innermost frame's stack pointer, in \reg, to where returns on its kind of stack look. */
.macro AWAITS reg own go
	test byte ptr gs:[FRAMESG], 1
	jz 91f
	mov gs:[\own], \reg
	jmp 92f
91:	mov gs:[\go], \reg
92:
.endm

/* A return, not executed yet, has reached or passed the innermost awaited frame.
 * Mostly it is that frame's, the only one, and nobody counts its place at the
 * moment: then it is dropped with three registers and no locked instruction.
 * Whatever else there is to do is done by alleria_return_any, before anything has
 * changed. rcx is free, its value is in S0; BACK is where the return goes on. */
	.globl alleria_return, alleria_return_any
alleria_return:
	mov gs:[SAVE+0], rax
	lahf
	seto al
	mov gs:[SFLAGS], rax
	mov gs:[SAVE+16], rdx
	mov ecx, gs:[TOP]
	mov rax, gs:[rcx*8+FRAMESP]
	cmp rax, rsp
	jne 1f
	mov rax, gs:[rcx*8+FRAMESITE]
	cmp rax, [rsp]
	jne 1f
	movzx edx, word ptr gs:[rcx*2+FRAMEPLACE]
	shl edx, PLACELOG
	add rdx, gs:[CONTROL]
	/* Armed for less than half of FRAMENONE? A count that is armed meanwhile
	 * is armed behind this return. */
	cmp dword ptr [rdx+PLACES+4], FRAMENONE >> 33
	jl 1f
	lea edx, [rcx-1]
	movzx edx, dx
	mov rax, gs:[rdx*8+FRAMESP]
	cmp rax, rsp
	jbe 1f
	/* As good as FRAMENONE: more than any stack pointer. */
	mov dword ptr gs:[rcx*8+FRAMESP+4], FRAMENONE >> 32
	mov gs:[TOP], rdx
	neg rax
	AWAITS rax AWAIT GOAWAIT
	mov rax, gs:[SFLAGS]
	add al, 127
	sahf
	mov rdx, gs:[SAVE+16]
	mov rax, gs:[SAVE+0]
	jmp qword ptr gs:[BACK]
1:	mov rax, gs:[SFLAGS]
	add al, 127
	sahf
	mov rdx, gs:[SAVE+16]
	mov rax, gs:[SAVE+0]
/* The same in general: the dead frames are dropped, and the first that the return
 * belongs to is counted. */
alleria_return_any:
	SAVEALL
	mov rsi, gs:[BUF]
	cmp rsi, gs:[END]
	ja 7f
	mov r9d, -1
	movabs r8, FRAMENONE
1:	movzx ecx, word ptr gs:[TOP]
	mov rax, gs:[rcx*8+FRAMESP]
	cmp rax, rsp
	ja 3f
	movzx edi, word ptr gs:[rcx*2+FRAMEPLACE]
	mov rdx, gs:[rcx*8+FRAMESITE]
	mov gs:[rcx*8+FRAMESP], r8	/* where the stack wraps, its end must be found */
	dec ecx
	movzx ecx, cx
	mov gs:[TOP], rcx
	cmp rax, rsp
	jne 8f
	cmp rdx, [rsp]
	jne 8f
	test r9d, r9d
	jns 1b
	mov r9d, edi
	jmp 1b
	/* left otherwise */
8:	mov r10, gs:[CONTROL]
	shl rdi, PLACELOG
	lock inc qword ptr [r10+rdi+PLACES+PGONE]
	jmp 1b
3:	neg rax
	AWAITS rax AWAIT GOAWAIT
	test r9d, r9d
	js 5f
	mov gs:[PLACE], r9d
	shl r9, PLACELOG
	mov r8, gs:[CONTROL]
	lea r8, [r8+r9+PLACES]
	lock dec qword ptr [r8]
	jnz 5f
	mov rdi, [rsp]
	mov gs:[REQARG], rdi
	mov eax, gs:[POP]
	add rsp, rax
	cmp qword ptr [r8+PCODE], 0
	je 6f
	movzx ecx, di
	shl ecx, 3
	add rcx, [r8+PTO]
	mov rcx, gs:[rcx]
	mov gs:[TGT], rcx
	xor r9d, r9d
	TOGGLE
	RESTOREALL
	mov gs:[S1], rdx
	mov rcx, gs:[REQARG]
	jmp qword ptr gs:[TGT]
5:	RESTOREALL
	jmp qword ptr gs:[BACK]
6:	RESTOREALL
	mov rcx, gs:[S0]
	mov dword ptr gs:[ASK], REQ_RETURNED
	jmp alleria_dispatch
7:	lea rax, alleria_return_any[rip]
	mov gs:[RESUME], rax
	mov qword ptr gs:[CARRY], 0
	RESTOREALL
	jmp alleria_switch
	.globl alleria_return_end
alleria_return_end:

/* Captures of intercepted calls. Code at a function's entry, or at a return that has reached a frame, has put rax and rcx
 * into CSPILL, where it goes on into CBACK, and where the tracer is asked instead into CASKAT. It goes to code of the
 * function's (engine/capture_code.go), which calls these routines in turn: begin, values, enter or done. Nothing that was written
 * counts before the last of them moves BUF, so that a fault of a load leads to bail, and the tracer does it all. */
.macro CSAVE
	mov gs:[CSPILL+16], rdx
	lahf
	seto al
	mov gs:[CSPILL+24], rax
.endm

/* The chunk's end, and the time. The ring pointer comes to rcx. */
.macro CBEGIN
1:	mov rcx, gs:[BUF]
	cmp rcx, gs:[END]
	jbe 2f
	lea rax, 1b[rip]
	mov gs:[RESUME], rax
	mov qword ptr gs:[CARRY], 0
	jmp alleria_switch
2:	rdtsc
	shl rdx, 32
	or rax, rdx
	mov [rcx+16], rax
.endm

/* rcx is behind the last word, rax the call's first. */
.macro CCOMMIT
	mov rdx, gs:[BUF]
	mov [rdx+8], rax
	mov rax, rcx
	sub rax, rdx
	shr rax, 3
	dec rax
	mov [rdx], rax
	mov byte ptr [rdx+7], MARKCALL
	mov gs:[BUF], rcx
	mov gs:[FLOOR], rcx
.endm

/* The frame at rcx is none any more; the one below it comes to rcx. */
.macro CDROP
	mov dword ptr gs:[rcx+CFSP+4], FRAMENONE >> 32
	sub ecx, CFRAME
	and ecx, CMASK
.endm

/* An entry: CNEXT is where its values are written, from rcx on. */
	.globl alleria_capture
alleria_capture:
	CSAVE
	CBEGIN
	mov rax, [rsp]
	mov [rcx+24], rsp
	mov [rcx+32], rax
	add rcx, 40
	jmp qword ptr gs:[CNEXT]

/* The values of an entry are written: a frame is pushed for function CENTERS. */
	.globl alleria_capture_enter
alleria_capture_enter:
	CCOMMIT
	mov ecx, gs:[CTOP]
	mov rdx, gs:[CENTERS]
1:	mov rax, gs:[rcx+CFSP]
	cmp rax, rsp
	ja 3f
	jne 2f
	cmp rdx, gs:[rcx+CFPOINT]
	jne 3f
2:	CDROP
	jmp 1b
3:	add ecx, CFRAME
	and ecx, CMASK
	mov rax, [rsp]
	mov gs:[rcx+CFSP], rsp
	mov gs:[rcx+CFSITE], rax
	mov gs:[rcx+CFPOINT], rdx
	mov gs:[CTOP], rcx
	mov rdx, rsp
	neg rdx
	AWAITS rdx CAWAIT CGOAWAIT
	cmp dword ptr gs:[CNATIVE], 0
	je 5f
	/* Is it caught natively where the call returns to? Else an int3 lies in front of CBACK. */
	mov rdx, rax
	shr rdx, CSITESHIFT
	xor edx, eax
	and edx, CSITEMASK
	mov rcx, gs:[CONTROL]
	lea rdx, [rcx+rdx*8+CSITES]
	mov ecx, 8
4:	cmp rax, [rdx]
	je 5f
	add rdx, 8
	dec ecx
	jnz 4b
	dec qword ptr gs:[CBACK]
/* All registers as they were, and on. */
	.globl alleria_capture_out
alleria_capture_out:
5:	mov rax, gs:[CSPILL+24]
	add al, 127
	sahf
	mov rdx, gs:[CSPILL+16]
	mov rcx, gs:[CSPILL+8]
	mov rax, gs:[CSPILL]
	jmp qword ptr gs:[CBACK]

/* The values of an entry whose return is not awaited. */
	.globl alleria_capture_done
alleria_capture_done:
	CCOMMIT
	jmp alleria_capture_out

/* A return from CLEFTSP to CLEFTTO has reached a frame. All that have returned are captured, by code of their own that comes
 * back to left_done, the others dropped. */
	.globl alleria_capture_left, alleria_capture_left_done
alleria_capture_left:
	CSAVE
	/* The scheduler, and C code, may still have the goroutine's registers: they are not on its stack. The latter may have frames of its own. */
	test byte ptr gs:[FRAMESG], 1
	jnz 1f
	mov rax, gs:[CLEFTSP]
	cmp rax, gs:[FRAMESHI]
	jb 1f
	mov rcx, gs:[CAWAIT]
	neg rcx
	cmp rax, rcx
	jae alleria_capture_bail
	jmp 4f
1:	mov ecx, gs:[CTOP]
	mov rax, gs:[rcx+CFSP]
	cmp rax, gs:[CLEFTSP]
	ja 4f
	jne 6f
	mov rax, gs:[rcx+CFSITE]
	cmp rax, gs:[CLEFTTO]
	jne 2f
	mov edx, gs:[rcx+CFPOINT]
	cmp edx, CMAXLEAVES
	jae alleria_capture_bail
	shl edx, 3
	add rdx, gs:[CONTROL]
	mov rax, [rdx+CLEAVES]
	test rax, rax
	jz alleria_capture_bail
	jmp rax
alleria_capture_left_done:
	CCOMMIT
	mov ecx, gs:[CTOP]
2:	CDROP
	mov gs:[CTOP], rcx
	mov rax, gs:[rcx+CFSP]
	neg rax
	AWAITS rax CAWAIT CGOAWAIT
	jmp 1b
4:	jmp alleria_capture_out
	/* It has been left, if it is on the same stack: who knows that otherwise than by where that lies is the tracer. */
6:	test byte ptr gs:[FRAMESG], 1
	jz 2b
	cmp rax, gs:[FRAMESLO]
	jb alleria_capture_bail
	mov rax, gs:[CLEFTSP]
	cmp rax, gs:[FRAMESHI]
	jb 2b
	jmp alleria_capture_bail

/* The beginning of a return's call. */
	.globl alleria_capture_leave
alleria_capture_leave:
	CBEGIN
	mov edx, gs:[CTOP]
	mov rax, gs:[rdx+CFSP]
	mov [rcx+24], rax
	mov rax, gs:[rdx+CFSITE]
	mov [rcx+32], rax
	add rcx, 40
	jmp qword ptr gs:[CNEXT]

/* A string at rdx: its part is written at rcx, with at most rax bytes, a multiple of eight; where rax has its lowest bit set, longer
 * ones are not for code. */
	.globl alleria_capture_text, alleria_capture_text_core, alleria_capture_text_end
alleria_capture_text:
	mov gs:[CTEXT], rsi
	mov gs:[CTEXT+8], rdi
	mov gs:[CTEXT+16], r8
	mov gs:[CTEXT+24], r9
	mov gs:[CTEXT+32], rcx
	mov gs:[CTEXT+40], rax
alleria_capture_text_core:
	and eax, -8
	lea r9, [rcx+rax+8]
	add rcx, 8
	movabs r8, 0x8080808080808080
	movabs rsi, 0x0101010101010101
1:	mov rax, [rdx]
	mov [rcx], rax
	mov rdi, rax
	sub rdi, rsi
	not rax
	and rdi, rax
	and rdi, r8
	jnz 2f
	add rdx, 8
	add rcx, 8
	cmp rcx, r9
	jb 1b
	test byte ptr gs:[CTEXT+40], 1
	jnz alleria_capture_text_bail
	mov rdx, gs:[CTEXT+32]
	lea rax, [rcx-8]
	sub rax, rdx
	shl rax, 8
	or rax, 3
	jmp 3f
	/* rdi's lowest bit is that of the first zero byte: what lies behind is none of it */
2:	lea rax, [rdi-1]
	xor rax, rdi
	and [rcx], rax
	bsf rdi, rdi
	shr edi, 3
	mov rdx, gs:[CTEXT+32]
	add rcx, 8
	lea rax, [rcx+rdi-15]
	sub rax, rdx
	shl rax, 8
3:	mov [rdx], rax
	mov r9, gs:[CTEXT+24]
	mov r8, gs:[CTEXT+16]
	mov rdi, gs:[CTEXT+8]
	mov rsi, gs:[CTEXT]
	jmp qword ptr gs:[CNEXT]
alleria_capture_text_end:
	.globl alleria_capture_text_bail, alleria_capture_bail
alleria_capture_text_bail:
	mov r9, gs:[CTEXT+24]
	mov r8, gs:[CTEXT+16]
	mov rdi, gs:[CTEXT+8]
	mov rsi, gs:[CTEXT]
alleria_capture_bail:
	mov rax, gs:[CASKAT]
	mov gs:[CBACK], rax
	jmp alleria_capture_out
	.globl alleria_capture_end
alleria_capture_end:

/* A thread that was stopped in a system call goes on here: the kernel restarts
 * calls two bytes before where it left. The instruction after is reached with
 * the application's next address in REQARG and asks for its translation. */
	.globl alleria_syscall, alleria_syscall_after
alleria_syscall:
	syscall
alleria_syscall_after:
	mov rcx, gs:[REQARG]
	mov dword ptr gs:[ASK], REQ_INDIRECT
	jmp alleria_dispatch
/* rt_sigreturn, with a copy of the frame whose instruction pointer leads into the cache. The last instruction is
 * reached if the kernel refuses the frame. */
	.globl alleria_sigreturn, alleria_sigreturn_call, alleria_sigreturn_after
alleria_sigreturn:
	mov rsp, gs:[SIGCOPY]
alleria_sigreturn_call:
	syscall
alleria_sigreturn_after:
	int3
/* iretq, with a copy of its words whose instruction pointer leads into the cache. */
	.globl alleria_iret, alleria_iret_copy
alleria_iret:
	mov rsp, gs:[SIGCOPY]
alleria_iret_copy:
	iretq
/* The tracer's own system calls end here. */
	.globl alleria_inject, alleria_inject_after
alleria_inject:
	syscall
alleria_inject_after:
	int3
/* What a target executes, here or, as long as it has none of this, written over its own instructions,
 * to make r13 system calls, whose numbers, arguments and results lie at r12, 56 bytes
 * each (see batch.go). A call of open yields a descriptor, which those that follow get as
 * their fifth argument, and as their first where that is 0. */
	.globl alleria_batch, alleria_batch_end
alleria_batch:
	mov rax, [r12]
	mov rdi, [r12+8]
	mov rsi, [r12+16]
	mov rdx, [r12+24]
	mov r10, [r12+32]
	mov r9, [r12+40]
	mov r8, rbx
	test rdi, rdi
	cmovz rdi, rbx
	syscall
	mov [r12+48], rax
	cmp dword ptr [r12], SYS_open
	cmove rbx, rax
	add r12, 56
	dec r13
	jnz alleria_batch
	int3
alleria_batch_end:
/* Room for code that notes what the program does with SIGTRAP, as the tracer writes it (engine/probe/note.go). Here, it is mapped as early as anything,
 * lies near the libraries, and stays where code is taken over from another process or forgotten. */
	.globl alleria_notes, alleria_notes_end
alleria_notes:
	.fill 1536, 1, 0xcc
alleria_notes_end:
alleria_stubs_end:
	nop
	.section .note.GNU-stack,"",@progbits
