// wide: a library of 512 functions with a branch each, all of which answer calls. Expectation: VALUE.
#define ONE(n) static __attribute__((noinline)) int f##n(volatile int *x) { if (*x > n) *x += 1; return *x + n; }
#define CALL(n) sum += f##n(&x);
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ROW(m, n) EIGHT(m, n##0) EIGHT(m, n##1) EIGHT(m, n##2) EIGHT(m, n##3) EIGHT(m, n##4) EIGHT(m, n##5) EIGHT(m, n##6) EIGHT(m, n##7)
#define ALL(m) ROW(m, 1) ROW(m, 2) ROW(m, 3) ROW(m, 4) ROW(m, 5) ROW(m, 6) ROW(m, 7) ROW(m, 8)

ALL(ONE)

int answer(void) {
	volatile int x = 0;
	int sum = 0;
	ALL(CALL)
	return sum ? VALUE : 0;
}
