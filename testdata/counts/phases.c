/* Does one thing for a long time and then another, without a C library: code that writes much and code that writes
 * nothing, functions that take turns by the thousand instructions and some that take turns by the million. For shares that are
 * estimated from parts of what it executes. */
#define N 4096
#ifndef ROUNDS
#define ROUNDS 16
#endif

static volatile unsigned a[N], b[N];
static unsigned seed = 1;

/* No accesses: few words are recorded of it. */
__attribute__((noinline)) static unsigned turn(unsigned s, int n)
{
	for (int i = 0; i < n; i++)
		s = (s ^ s >> 13) * 2654435761u + i;
	return s;
}

/* Little but accesses. */
__attribute__((noinline)) static void copy(int n)
{
	for (int i = 0; i < n; i++) {
		int k = i & (N - 1);
		b[k] = a[k];
		a[k] = b[(k + 7) & (N - 1)];
		b[(k + 3) & (N - 1)] = a[(k + 5) & (N - 1)];
	}
}

__attribute__((noinline)) static unsigned look(unsigned s)
{
	return s & 1 ? a[s >> 4 & (N - 1)] : s * 5;
}

/* Calls by the dozen instructions. */
__attribute__((noinline)) static unsigned walk(unsigned s, int n)
{
	for (int i = 0; i < n; i++)
		s = s * 1103515245u + look(s) + 12345u;
	return s;
}

__attribute__((noinline)) static void rare(int n)
{
	for (int i = 0; i < n; i++)
		a[i & (N - 1)] += i;
}

void _start(void)
{
	unsigned s = seed;
	for (int r = 0; r < ROUNDS; r++) {
		s = turn(s, 900000);
		copy(400000);
		for (int i = 0; i < 300; i++) {
			s = walk(s, 700);
			rare(90);
		}
		s = turn(s, 200000);
		rare(20000);
		copy(100000);
	}
	__asm__ volatile("syscall" : : "a"(60), "D"(s & 127) : "rcx", "r11", "memory");
}
