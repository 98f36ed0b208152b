/* A program that behaves radically differently over time: twelve threads begin one after the other. The first eight access a
 * place in memory each, again and again; the other four write to a file each.
 *
 * twelve [MILLISECONDS [ACCESSES [BYTES]]]: between two beginnings (5000), of a thread (10000000), to a file (51200),
 * which the working directory gets and loses again. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long pause_ms = 5000, accesses = 10000000, bytes = 51200;
static struct { volatile long place; char away[120]; } places[8];

__attribute__((noinline)) void touch(volatile long *place)
{
	for (long i = 0; i < accesses; i++)
		*place += i;
}

__attribute__((noinline)) void store(int number)
{
	char name[32], buf[512];
	for (int i = 0; i < (int)sizeof buf; i++)
		buf[i] = 'a' + i % 26;
	snprintf(name, sizeof name, "twelve-%d.out", number);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		return;
	for (long left = bytes; left > 0; left -= (long)sizeof buf)
		if (write(fd, buf, left < (long)sizeof buf ? left : sizeof buf) < 0)
			break;
	fsync(fd);
	close(fd);
	unlink(name);
}

static void *work(void *arg)
{
	long number = (long)arg;
	if (number < 8)
		touch(&places[number].place);
	else
		store((int)number);
	return NULL;
}

int main(int argc, char **argv)
{
	long *from[] = { &pause_ms, &accesses, &bytes };
	for (int i = 1; i < argc && i <= 3; i++)
		*from[i - 1] = atol(argv[i]);
	pthread_t threads[12];
	for (long n = 0; n < 12; n++) {
		if (pthread_create(&threads[n], NULL, work, (void *)n))
			return 1;
		struct timespec t = { pause_ms / 1000, pause_ms % 1000 * 1000000 };
		if (n < 11)
			nanosleep(&t, NULL);
	}
	long sum = 0;
	for (int n = 0; n < 12; n++)
		pthread_join(threads[n], NULL);
	for (int n = 0; n < 8; n++)
		sum += places[n].place;
	printf("%ld\n", sum);
	return 0;
}
