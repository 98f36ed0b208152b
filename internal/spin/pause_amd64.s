#include "textflag.h"

// The selector of the kernel's segment whose limit holds the processor's number in its
// low twelve bits (__CPUNODE_SEG, arch/x86/include/asm/segment.h).
#define CPUNODE 0x7b

// func Pause(n int) (ticks uint64, cpu uint32)
TEXT ·Pause(SB), NOSPLIT, $0-20
	MOVQ n+0(FP), CX
again:
	PAUSE
	DECQ CX
	JGT  again
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ticks+8(FP)
	MOVL $CPUNODE, CX
	XORL AX, AX
	LSLL CX, AX
	ANDL $0xfff, AX
	MOVL AX, cpu+16(FP)
	RET
