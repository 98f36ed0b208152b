/* Lines of every kind, for counts that gcov has as well. Lines that say "differs" have others: see docs/converting.md. */
#include <stdio.h>

static int two(int a) { return a * 2; }
static int three(int a) { return a * 3; }

static int pick(int c) /* differs */
{
	return c & 1 ? two(c) : three(c);
}

static int sw(int n) /* differs */
{
	switch (n % 4) {
	case 0: return 1;
	case 1: return 2;
	default: break;
	}
	return 3;
}

static int never(int n) /* differs */
{
	return n + 1;
}

int main(void) /* differs */
{
	int s = 0, t = 0;
	for (int i = 0; i < 10; i++)
		s += pick(i);
	for (int i = 0; i < 10; i++) s += i;
	for (int i = 0; i < 10; i++) s += i; for (int i = 0; i < 20; i++) t += i; /* differs */
	for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) s += i * j; /* differs */
	int n = 7; while (n--) ;
	do { t++; } while (t < 300 && t % 7);
	if (s > 1000) s = 0; else if (s > 5 || t > 5) s++; else t++;
	if (s < 0)
		t = never(t);
	for (int i = 0; i < 9; i++)
		t += sw(i);
	int k = 0;
again: /* differs */
	if (k++ < 4)
		goto again;
	printf("%d %d\n", s, t);
	return 0;
}
