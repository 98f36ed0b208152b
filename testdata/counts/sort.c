/* Sorts numbers and sums them up, without a C library, so that what it executes
 * depends on nothing but its code: no rep prefix, no dispatch on the processor.
 * Valgrind's and alleria's counts have to be equal to the last instruction. */
#ifndef N
#define N 2000
#endif

static unsigned seed = 1;
static int a[N];

__attribute__((noinline)) static unsigned next(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 8;
}

__attribute__((noinline)) static void sort(int lo, int hi)
{
	if (lo >= hi)
		return;
	int pivot = a[(lo + hi) / 2], i = lo, j = hi;
	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			int t = a[i];
			a[i++] = a[j];
			a[j--] = t;
		}
	}
	sort(lo, j);
	sort(i, hi);
}

__attribute__((noinline)) static unsigned sum(void)
{
	unsigned s = 0;
	for (int i = 0; i < N; i++)
		s = s * 31 + a[i];
	return s;
}

void _start(void)
{
	for (int i = 0; i < N; i++)
		a[i] = next();
	sort(0, N - 1);
	__asm__ volatile("syscall" : : "a"(60), "D"(sum() & 127) : "rcx", "r11", "memory");
}
