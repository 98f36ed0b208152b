/* A child that shares its creator's memory until it ends. */
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
	int s;
	if (!vfork()) _exit(1);
	wait(&s);
	return 0;
}
