/* Accesses at the same addresses in every run, natively and under valgrind: static, without a
   library, on a stack of its own. Strides, a random walk, unaligned accesses over the ends of
   lines, read-modify-writes, code that is larger than a small cache. */
static unsigned char data[1 << 20];
static unsigned long long state = 88172645463325252ull;
__attribute__((used)) static char stack[65536] __attribute__((aligned(64)));
static unsigned long long next(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}
#define F(n) __attribute__((noinline)) static unsigned f##n(unsigned x) { for (int i = 0; i < 7; i++) x = (x ^ (n * 2654435761u)) * 31 + data[(x + n * 64u) % sizeof data]; return x; }
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
G(1) G(2) G(3) G(4) G(5) G(6) G(7) G(8)
#define P(n) f##n,
#define Q(n) P(n##0) P(n##1) P(n##2) P(n##3) P(n##4) P(n##5) P(n##6) P(n##7) P(n##8) P(n##9)
static unsigned (*const all[])(unsigned) = {Q(1) Q(2) Q(3) Q(4) Q(5) Q(6) Q(7) Q(8)};
__attribute__((noinline)) static void work(void) {
	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < sizeof data; i += 64 << k)
			data[i]++;
	for (unsigned i = 0; i < 40000; i++)
		*(volatile unsigned long long *)(data + next() % (sizeof data - 8)) += i;
	unsigned x = 1;
	for (unsigned i = 0; i < 4000; i++)
		x = all[next() % 80](x);
	data[0] = x;
}
__attribute__((used)) static void run(void) {
	work();
	__asm__ volatile("syscall" : : "a"(231), "D"(0));
	__builtin_unreachable();
}
__attribute__((naked)) void _start(void) { __asm__ volatile("lea stack+65472(%rip), %rsp\n\tcall run\n"); }
