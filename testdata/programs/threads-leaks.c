/* A leak sanitizer: it stops its own process as a debugger would, from a child that no tracer is told of. */
/* expect stdout: ok */
/* build: -fsanitize=address */
/* build: -fsanitize=address -static-libasan */
/* armed: work */
/* untraced: it traces itself */
#include "check.h"
__attribute__((noinline)) static void work(void) {
	static volatile unsigned sum;
	for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i;
}
int main(void) {
	for (int i = 0; i < 50; i++) {
		char *p = malloc(100 + i);
		*(volatile char *)p = 1;
		work();
		free(p);
	}
	return OK();
}
