/* setjmp and longjmp across many frames, and contexts with stacks of their own. */
/* expect stdout: 5000 1000 */
#include "check.h"
static jmp_buf b;
static int n;
__attribute__((noinline)) static void down(int k) { volatile int x = k; if (k) down(k - 1); else longjmp(b, 1); x++; }
static ucontext_t m, c[2];
static int switches;
static void co(int i) {
	for (int k = 0; k < 500; k++) {
		switches++;
		swapcontext(&c[i], &c[!i]);
	}
}
int main(void) {
	for (volatile int i = 0; i < 5000; i++) {
		if (setjmp(b) == 0) down(i % 50);
		n++;
	}
	static char st[2][32768];
	for (int i = 0; i < 2; i++) {
		getcontext(&c[i]);
		c[i].uc_stack.ss_sp = st[i];
		c[i].uc_stack.ss_size = sizeof st[i];
		c[i].uc_link = &m;
		makecontext(&c[i], (void (*)(void))co, 1, i);
	}
	swapcontext(&m, &c[0]);
	printf("%d %d\n", n, switches);
}
