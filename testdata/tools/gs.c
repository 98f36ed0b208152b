/* Loads and stores by gs, which the tracer executes. */
static unsigned long area[4] = {1, 2, 0x1122334455667788};

void _start(void)
{
	unsigned long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(158l), "D"(0x1001l), "S"(area) : "rcx", "r11", "memory"); /* arch_prctl(ARCH_SET_GS) */
	__asm__ volatile("mov $0x5a5a, %%edi\n\tmov %%gs:16, %%rax\n\tmov %%rax, %%gs:24" : : : "rax", "rdi", "memory");
	__asm__ volatile("syscall" : : "a"(231l), "D"(0l) : "rcx", "r11");
}
