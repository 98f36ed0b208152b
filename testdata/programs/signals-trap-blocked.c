/* An instruction that raises SIGTRAP while the program blocks it ends the program, though there is a handler: the kernel does not keep what an instruction raises. */
/* expect stdout: blocked */
/* expect exit: 133 */
/* build: -mno-red-zone -DHOW=0 */
/* build: -mno-red-zone -DHOW=1 */
/* build: -mno-red-zone -DHOW=2 */
/* build: -mno-red-zone -DHOW=3 */
#include "check.h"
static void trap(int sig) { CHECK(!"the handler is called"); }
int main(void) {
	sigset_t s;
	CHECK(signal(SIGTRAP, trap) != SIG_ERR);
	sigemptyset(&s);
	sigaddset(&s, SIGTRAP);
	CHECK(sigprocmask(SIG_BLOCK, &s, 0) == 0);
	CHECK(write(1, "blocked\n", 8) == 8);
	switch (HOW) {
	case 0: __asm__ volatile("int3" ::: "memory"); break;
	case 1: __asm__ volatile("int $3" ::: "memory"); break;
	case 2: __asm__ volatile(".byte 0xf1" ::: "memory"); break;
	case 3: __asm__ volatile("pushf; orl $0x100, (%%rsp); popf; nop; nop" ::: "cc", "memory");
	}
	return OK();
}
