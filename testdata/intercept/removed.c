/* Functions that an optimizing compiler changes, since all calls of them are here: arguments that nothing reads and those that are always the same are not passed, and the
 * others move up. k is always 5, n at most 4, b three more than n, c 77; s leads to what has been added up. */
struct S {
	int a;
};

#define NOINLINE __attribute__((noinline))

static NOINLINE int addk(struct S *s, int k)
{
	__asm__ volatile("");
	s->a += k;
	return s->a;
}

static NOINLINE int pick(int n, int b, int c)
{
	__asm__ volatile("");
	return b;
}

static NOINLINE void last(int k, int n, struct S *s)
{
	__asm__ volatile("");
	s->a = k;
}

int main(int argc, char **argv)
{
	struct S s = {100};
	int r = 0;
	for (int n = 0; n < 5; n++) {
		r += addk(&s, 5);
		r += pick(n, n + 3, 76 + argc);
		last(5, n, &s);
		s.a = 100;
	}
	return r == 0;
}
