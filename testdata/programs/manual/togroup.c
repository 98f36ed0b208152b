/* A program that sends its process group signals which it handles: each number from its arguments. It prints how many came. */
#include "../check.h"
static volatile int came;
static void count(int sig) { (void)sig, came++; }
int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		CHECK(signal(atoi(argv[i]), count) != SIG_ERR);
		CHECK(kill(0, atoi(argv[i])) == 0);
	}
	struct timespec t = {0, 100000000}; /* others take them as well */
	while (nanosleep(&t, &t) != 0) {
	}
	printf("%d\n", came);
	return 0;
}
