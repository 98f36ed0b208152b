/* Executes its argument by a descriptor that execve closes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv, char **env)
{
	int f = open(argv[1], O_RDONLY | O_CLOEXEC);
	char *words[] = {"by-descriptor", 0};
	return fexecve(f, words, env) ? 1 : argc;
}
