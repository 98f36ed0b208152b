/* Code of a file takes another file's place natively. Each adds another number: code of one that is taken for the other's shows in the sum. Calls of a
 * captured function come in heaps, with which the process goes into the cache, and pauses, with which it leaves it. Natively a third piece of code calls that function,
 * from where nothing was: what is mapped is read for its return. The files have been there for a second, as what was just written is compared with itself. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int code(int n, int (*f)(int));

__attribute__((noinline)) int number(int n)
{
	__asm__ volatile("");
	return n + 1;
}

/* put writes what adds to n, or to what f returns of it, into a file. */
static int put(const char *name, int what, int calls)
{
	unsigned char b[4096], *p = b;
	memset(b, 0x90, sizeof b);
	if (calls) {
		memcpy(p, "\x48\x83\xec\x08\xff\xd6\x48\x83\xc4\x08\xc3", 11); /* sub rsp, 8; call rsi; add rsp, 8; ret */
	} else {
		memcpy(p, "\x8d\x87", 2); /* lea eax, [rdi+what] */
		memcpy(p + 2, &what, 4);
		p[6] = 0xc3;
	}
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, b, sizeof b) != sizeof b || close(fd))
		return -1;
	return open(name, O_RDONLY);
}

int main(void)
{
	int files[] = {put("one", 1, 0), put("two", 1000, 0), put("three", 0, 1)}, sum = 0;
	char *at = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (files[0] < 0 || files[1] < 0 || files[2] < 0 || at == MAP_FAILED)
		return 2;
	sleep(1);
	code *piece = (code *)at;
	for (int i = 0; i < 4; i++) {
		/* natively, behind a pause */
		if (mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, files[i % 2], 0) != at)
			return 3;
		char *other = at + (i + 1) * 16384;
		if (mmap(other, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, files[2], 0) != other)
			return 3;
		sum = ((code *)other)(sum, number);
		sum = piece(sum, number);
		for (int k = 0; k < 3000; k++)
			sum = number(sum);
		for (int k = 0; k < 1000; k++)
			sum = piece(sum, number);
		if (i == 2) { /* in the cache */
			if (munmap(at, 4096))
				return 3;
			continue;
		}
		usleep(i < 2 ? 1300000 : 0);
	}
	printf("%d\n", sum);
	return 0;
}
