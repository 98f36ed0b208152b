/* Vector registers of all widths across branches, calls and signals; masked
 * accesses beside pages that must not be touched. */
/* build: -O1 -mavx2 */
/* needs: avx2 */
/* expect stdout: ok */
#include "check.h"
#include <immintrin.h>
static volatile int ticks;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; ticks++; __m256i z = _mm256_set1_epi8((char)ticks); __asm__ volatile("" : : "x"(z)); }
__attribute__((noinline)) static __m256i mix(__m256i a, __m256i b) { return _mm256_xor_si256(_mm256_add_epi32(a, b), _mm256_slli_epi32(a, 3)); }
int main(void) {
	on(SIGALRM, h, SA_RESTART);
	struct itimerval it = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_REAL, &it, 0);
	uint32_t want[8], got[8];
	for (int r = 0; r < 20; r++) {
		__m256i a = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8), b = _mm256_set1_epi32(12345);
		for (int i = 0; i < 10000; i++) a = mix(a, b);
		_mm256_storeu_si256((__m256i *)(r ? got : want), a);
		CHECK(!r || memcmp(want, got, sizeof got) == 0);
	}
	char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mprotect(p + 4096, 4096, PROT_NONE) == 0);
	int *q = (int *)(p + 4096) - 3;
	q[0] = 1, q[1] = 2, q[2] = 3;
	__m256i m = _mm256_setr_epi32(-1, -1, -1, 0, 0, 0, 0, 0);
	for (int i = 0; i < 10; i++) {
		__m256i v = _mm256_maskload_epi32(q, m);
		_mm256_maskstore_epi32(q, m, _mm256_add_epi32(v, _mm256_set1_epi32(1)));
		__m256i idx = _mm256_setr_epi32(2, 1, 0, 100000, 100000, 100000, 100000, 100000);
		__m256i g = _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), q, idx, m, 4);
		CHECK(_mm256_extract_epi32(g, 0) == 4 + i && _mm256_extract_epi32(g, 3) == 0);
	}
	CHECK(q[2] == 13);
	return OK();
}
