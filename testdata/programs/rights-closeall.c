/* A program that closes every descriptor it did not open. */
/* expect stdout: ok */
#include "check.h"
int main(void) {
	for (int fd = 3; fd < 1024; fd++) close(fd);
	syscall(SYS_close_range, 3, ~0u, 0);
	pthread_t t;
	CHECK(pthread_create(&t, 0, (void *(*)(void *))puts, "ok") == 0 && pthread_join(t, 0) == 0);
	return 0;
}
