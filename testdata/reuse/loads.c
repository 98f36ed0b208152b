/* A program that maps code of its own file as dynamic linkers map libraries: as a whole, with the rights of code, and then data over the end. In between it may execute code
 * that it has just made, for which the mappings are read. Arguments: whether it does, how many pages of data there are, a number that is written into the code before
 * the data are there, how many pages are made writable for that (0: nothing is written), and whether a function is called then that goes on where the data will be. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { PAGE = 4096, ROUNDS = 50 };
__asm__(".section loaded, \"ax\"\n.balign 4096\nwritten: lea 1(%rdi), %eax\n ret\n.text\n");
#define F(n) __attribute__((noinline, no_reorder, section("loaded"))) static unsigned f##n(unsigned x) { return x % (n + 3) ? x * (n + 2) : x + n; }
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
F64(1) F64(2) F64(3) F64(4) F64(5) F64(6)
#define P(n) f##n,
#define P8(n) P(n##0) P(n##1) P(n##2) P(n##3) P(n##4) P(n##5) P(n##6) P(n##7)
#define P64(n) P8(n##0) P8(n##1) P8(n##2) P8(n##3) P8(n##4) P8(n##5) P8(n##6) P8(n##7)
static unsigned (*const all[])(unsigned) = {P64(1) P64(2) P64(3) P64(4) P64(5) P64(6)};
__asm__(".section loaded, \"ax\"\n.balign 4096\n.skip 4096-5\nover: mov %edi, %eax\n add $1, %eax\n" /* and on in the next page */
	"end: lea 2(%rax), %eax\n ret\n.balign 4096\n.text\n");
extern char __start_loaded[], written[], over[], end[];
static int file;
static size_t offset, code, data;
/* Where a function lies in what is mapped at an address. */
#define AT(at, f) ((unsigned (*)(unsigned))((at) + ((char *)(f) - __start_loaded)))
/* The tracer reads the mappings for code that is new. */
static void look(void) {
	unsigned char *made = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made, "\x8d\x47\x05\xc3", 4);
	if (mprotect(made, PAGE, PROT_READ | PROT_EXEC) || ((unsigned (*)(unsigned))made)(1) != 6) exit(2);
	munmap(made, PAGE);
}
static char *load(int rights, int reads, int number, int pages, int goes, unsigned *sum) {
	char *at = mmap(0, code + data, rights, MAP_PRIVATE, file, offset);
	if (at == MAP_FAILED) exit(3);
	if (reads) look();
	if (pages) {
		if (mprotect(at, pages * PAGE, PROT_READ | PROT_WRITE)) exit(4);
		at[2] = number;
		if (mprotect(at, pages * PAGE, rights)) exit(5);
	}
	if (goes) *sum += AT(at, over)(*sum);
	char *there = mmap(at + code, data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
	if (there != at + code) exit(6);
	there[0] = there[data > PAGE ? PAGE : 1] = number;
	return at;
}
/* Where the code begins in the file. */
static size_t place(void) {
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t from, to, off, here = (uintptr_t)__start_loaded;
	char line[512];
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) == 3 && from <= here && here < to) {
			fclose(maps);
			return off + here - from;
		}
	exit(7);
}
int main(int argc, char **argv) {
	if (argc < 6) return 1;
	unsigned sum = 5;
	file = open("/proc/self/exe", O_RDONLY);
	offset = place(), code = end - __start_loaded, data = atoi(argv[2]) * PAGE;
	look();
	load(PROT_READ, 0, 0, 0, 0, &sum); /* what loading executes is known to the tracer from now on */
	char *at = load(PROT_READ | PROT_EXEC, atoi(argv[1]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), &sum);
	for (int i = 0; i < ROUNDS; i++)
		for (unsigned k = 0; k < sizeof all / sizeof *all; k++) sum ^= AT(at, all[k])(sum + i);
	printf("%u ", AT(at, written)(sum));
	printf("%u\n", sum);
	return 0;
}
