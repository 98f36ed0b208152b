/* A jump to memory that is none of the program's faults there, also where a tracer has mapped something of its own: the handler reads where, and goes on. Natively
 * there is nothing of that name, and a place is taken where nothing is. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile uintptr_t target, faulted, at;
static volatile int codes;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	faulted = (uintptr_t)i->si_addr;
	at = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
	codes += i->si_code == SEGV_MAPERR;
	siglongjmp(back, 1);
}
int main(void) {
	uintptr_t places[8] = { 0x7000 };
	volatile int n = 1;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof line, maps) && n < 8) {
		unsigned long start, end;
		char rights[5];
		if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && rights[2] == 'x' && strstr(line, "memfd:alleria"))
			places[n++] = end - 0x1fff; /* where nothing was translated to */
	}
	fclose(maps);
	on(SIGSEGV, h, SA_NODEFER);
	for (volatile int round = 0; round < 2; round++)
		for (volatile int i = 0; i < n; i++) {
			target = places[i];
			faulted = at = 1;
			if (!sigsetjmp(back, 1)) ((void (*)(void))target)();
			CHECK(faulted == target && at == target);
		}
	CHECK(codes == 2 * n);
	return OK();
}
