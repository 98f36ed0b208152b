/* Repeated string instructions with more iterations than a batch of records has room for, from and to places of their own. */
static unsigned char from[40000], to[40000];

void _start(void) {
	for (int round = 0; round < 20; round++) {
		const unsigned char *src = from + round;
		unsigned char *dst = to + 3 * round;
		unsigned long n = 1000 * round + 7;
		__asm__ volatile("rep movsb" : "+S"(src), "+D"(dst), "+c"(n) : : "memory");
		unsigned long *out = (unsigned long *)(to + 8 * round);
		n = 100 * round + 1;
		__asm__ volatile("rep stosq" : "+D"(out), "+c"(n) : "a"(round) : "memory");
	}
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
}
