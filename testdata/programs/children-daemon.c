/* A daemon: the program ends at once, what it left behind works on. */
/* expect stdout: ok */
#include "check.h"
int main(void) {
	int p[2];
	CHECK(pipe(p) == 0);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			usleep(50000);
			CHECK(write(p[1], "d", 1) == 1);
			_exit(0);
		}
		_exit(0);
	}
	char c;
	CHECK(read(p[0], &c, 1) == 1 && c == 'd');
	return OK();
}
