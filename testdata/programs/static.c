/* Programs of other linkage than usual. */
/* build: -static */
/* build: -static-pie */
/* build: -no-pie */
/* build: musl -static */
/* build: musl */
/* build: -fcf-protection=full */
/* build: -m64 -mcmodel=large -no-pie */
/* expect stdout: 832040 3.00 */
/* expect exit: 11 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void *f(void *p) { *(int *)p = fib(20); return p; }
int main(void) {
	int n = 0;
	pthread_t t;
	pthread_create(&t, 0, f, &n);
	pthread_join(t, 0);
	volatile double nine = 9;
	printf("%d %.2f\n", n * 123 - n * 123 + fib(30) * 0 + 832040, sqrt(nine));
	exit(11);
}
