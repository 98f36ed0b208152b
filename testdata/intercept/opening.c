// Functions whose calls open and close the windows in which they are captured: the entry that opens a window is captured, vector
// registers and all, and the return that closes it. In a reopenable window from the nth call of each to its return all these are captured as
//
//	each(a=3, x=1.5) = 4.5
//
// In windows that later stays open, and two threads enter it meanwhile, each of the three calls is captured.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone, noipa))

API long inner(long a) { return a + 1; }
API double each(long a, double x) { return x + inner(a) - 1; }
API long later(long us)
{
	usleep(us);
	return us;
}

static void *thread(void *arg) { return (void *)later(100000 + (long)arg); }

int main(void)
{
	double sum = 0;
	for (long i = 0; i < 200; i++)
		sum += each(i, 1.5);
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		pthread_create(t + i, NULL, thread, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%g\n", sum);
	return 0;
}
