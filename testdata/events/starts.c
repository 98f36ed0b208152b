/* Tells what the kernel's answer to the registration of restartable sequences was, in the
 * first thread and in another one, and uses a library that the linker maps at the start. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/rseq.h>

static int cpu(void)
{
	return *(volatile int *)((char *)__builtin_thread_pointer() + __rseq_offset + 4) >= 0;
}

static void *other(void *answer)
{
	*(int *)answer = cpu();
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int there = -1;
	pthread_create(&t, 0, other, &there);
	pthread_join(t, 0);
	printf("registered: %d %d, %.0f\n", cpu(), there, cbrt(27.0 * argc * argc * argc));
	return 0;
}
