// Signals all the time, whose handler calls what is called outside of it as well. How often that is, is what it prints.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone, noipa))

static volatile long calls;
static long wrong;

API long two(long a, long b)
{
	__asm__ volatile("" : "+r"(a));
	return a + b;
}
API const char *text(const char *s)
{
	__asm__ volatile("" : "+r"(s));
	return s;
}
API long through(long a, const char *s) { return two(a, 1) + (text(s) == s); }

// Each signal comes some time after the handler of the one before: whatever a call takes, what is interrupted gets on.
static void next(long microseconds)
{
	struct itimerval once = {{0, 0}, {0, microseconds}};
	setitimer(ITIMER_REAL, &once, 0);
}

static void handler(int sig)
{
	(void)sig;
	wrong += through(7, "from a handler, a string that takes a while to copy, since it is long: signals shall come") != 9;
	calls++;
	next(300);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	sigaction(SIGALRM, &sa, 0);
	next(300);
	long n = 0;
	while (calls < 100 || n < 5000) {
		wrong += through(n, "from main, a string that takes a while to copy, since it is long: signals shall come here") != n + 2;
		n++;
	}
	next(0);
	sigset_t set; // what is still on its way stays there
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, 0);
	printf("%ld %ld\n", wrong, n + calls);
	return 0;
}
