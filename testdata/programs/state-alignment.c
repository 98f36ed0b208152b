/* Operands of sixteen bytes that need not be aligned: of SHA's instructions on some processors, and of all where MXCSR says so. Those of
 * programs that have alignment checked are aligned, also of 32 and 64 bytes; records are not. */
/* expect stdout: ok */
#include "check.h"
#include <cpuid.h>

static unsigned char data[256] __attribute__((aligned(64)));

/* checked executes instructions on aligned memory with EFLAGS.AC set. */
static void checked(unsigned char *p) {
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x40000, (%%rsp); popfq\n"
	                 "movaps (%0), %%xmm1; paddd 16(%0), %%xmm1; movaps %%xmm1, 32(%0); pshufd $0x1b, (%0), %%xmm2; mov (%0), %%rcx\n"
	                 "pushfq; andl $~0x40000, (%%rsp); popfq; add $128, %%rsp"
	                 :
	                 : "r"(p)
	                 : "xmm1", "xmm2", "rcx", "cc", "memory");
	if (!__builtin_cpu_supports("avx")) return;
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x40000, (%%rsp); popfq\n"
	                 "vmovaps (%0), %%xmm1; vpaddd 16(%0), %%xmm1, %%xmm1; vmovaps %%xmm1, 32(%0); mov (%0), %%rcx\n"
	                 "pushfq; andl $~0x40000, (%%rsp); popfq; add $128, %%rsp"
	                 :
	                 : "r"(p)
	                 : "xmm1", "rcx", "cc", "memory");
	if (!__builtin_cpu_supports("avx2")) return;
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x40000, (%%rsp); popfq\n"
	                 "vmovdqa (%0), %%ymm1; vpaddd 32(%0), %%ymm1, %%ymm1; vmovdqa %%ymm1, 32(%0); vzeroupper\n"
	                 "pushfq; andl $~0x40000, (%%rsp); popfq; add $128, %%rsp"
	                 :
	                 : "r"(p)
	                 : "xmm1", "cc", "memory");
	if (!__builtin_cpu_supports("avx512f")) return;
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x40000, (%%rsp); popfq\n"
	                 "vmovdqa64 (%0), %%zmm17; vpaddd (%0), %%zmm17, %%zmm17; vmovdqa64 %%zmm17, (%0)\n"
	                 "pushfq; andl $~0x40000, (%%rsp); popfq; add $128, %%rsp"
	                 :
	                 : "r"(p)
	                 : "cc", "memory");
}

static void masked(unsigned char *p) {
	uint32_t mxcsr = 0x1f80 | 0x20000, usual = 0x1f80, sum[4];
	__asm__ volatile("ldmxcsr %1; pxor %%xmm1, %%xmm1; paddd 5(%2), %%xmm1; pxor %%xmm2, %%xmm2; orps 3(%2), %%xmm2; ldmxcsr %3; movups %%xmm1, %0"
	                 : "=m"(sum)
	                 : "m"(mxcsr), "r"(p), "m"(usual)
	                 : "xmm1", "xmm2", "memory");
	CHECK(!memcmp(sum, p + 5, 16));
}

static void sha(unsigned char *p) {
	__asm__ volatile("sha1msg1 1(%0), %%xmm1; sha1msg2 2(%0), %%xmm1; sha1nexte 3(%0), %%xmm1; sha1rnds4 $1, 4(%0), %%xmm1\n"
	                 "sha256msg1 5(%0), %%xmm1; sha256msg2 6(%0), %%xmm1; sha256rnds2 7(%0), %%xmm1"
	                 :
	                 : "r"(p)
	                 : "xmm0", "xmm1", "memory");
}

int main(void) {
	unsigned a, b = 0, c = 0, d, misaligned = 0;
	for (int i = 0; i < 256; i++) data[i] = i;
	for (int i = 0; i < 3; i++) checked(data + 64 * i);
	if (__get_cpuid(0x80000001, &a, &b, &c, &d)) misaligned = c >> 7 & 1;
	if (misaligned) masked(data);
	b = 0;
	if (misaligned && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1) sha(data);
	return OK();
}
