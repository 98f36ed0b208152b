/* A program that makes single pages of its own code writable and writes numbers there, as .NET does in its library: functions of the pages in front go on in such pages, by
 * falling into them, by an instruction that lies in both, by jumps, by calls and by returns; and one of such a page goes on in the page behind. Arguments: what the pages
 * are once they are written ("rwx", "rx", or "no", where nothing is written), the number, whether it is written anew in each round, and whether more functions are
 * called, so that there is more to keep. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGE = 4096, ROUNDS = 200 };
__asm__(".text\n.globl jumps, calls, tests, seldom, falls, first, inside, reads, goes, part, leads, second, late, picks, returns, third\n.balign 4096\n"
	"jumps: mov %edi, %eax\n test $1, %edi\n jnz taken\n jmp inside\n"
	"calls: mov %edi, %eax\n call inside\n add $1, %eax\n ret\n"
	"tests: mov %edi, %eax\n cmp $-1, %edi\n jmp maybe\n"
	"seldom: lea 5(%rdi), %eax\n ret\n"
	".skip 4096-6-(.-jumps), 0x90\n"
	"falls: mov %edi, %eax\n add $1, %eax\n nop\n" /* and on in the next page */
	".balign 4096\n"
	"first: nop\n"
	"inside: add $1, %eax\n ret\n" /* the number is written */
	"taken: sub $1, %eax\n jmp inside\n"
	"maybe: je seldom\n add $2, %eax\n ret\n" /* begins with a branch that is not taken at first */
	"reads: mov number(%rip), %eax\n ret\n"   /* and this with an operand that lies elsewhere in each run */
	".skip 4096-5-(.-first), 0x90\n"
	"goes: mov %edi, %eax\n add $1, %eax\n" /* the number is written; and on in the page behind */
	".balign 4096\n"
	"behind: add $7, %eax\n ret\n"
	"leads: mov %edi, %eax\n jmp part\n"
	".skip 4096-27-(.-behind), 0x90\n"
	"part: mov %edi, %eax\n cmp $0, %eax\n movabs $1, %rcx\n movabs $2, %rcx\n"
	".byte 0x05, 1\n" /* add eax, 1, whose upper bytes lie in the next page */
	".balign 4096\n"
	"second: .byte 0, 0, 0\n ret\n" /* the first is written */
	".balign 4096\n"
	"picks: mov %edi, %eax\n test %edi, %edi\n jnz other\n ret\n"
	".skip 4096-7-(.-picks), 0x90\n"
	"returns: mov %edi, %eax\n call inside\n" /* back into the next page */
	".balign 4096\n"
	"third: add $1, %eax\n ret\n" /* the number is written */
	"late: lea 1(%rdi), %eax\n ret\n" /* here, too */
	"other: add $1, %eax\n ret\n"     /* and here */
	".balign 4096\n");
extern int jumps(int), calls(int), tests(int), seldom(int), falls(int), inside(int), reads(int), goes(int), leads(int), part(int), late(int), picks(int), returns(int);
extern unsigned char first[], second[], third[];
int number = 3;
#define F(n) __attribute__((noinline)) static unsigned f##n(unsigned x) { return x % (n + 3) ? x * (n + 2) : x + n; }
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
F64(1) F64(2) F64(3) F64(4) F64(5)
#define C(n) sum ^= f##n(sum);
#define C8(n) C(n##0) C(n##1) C(n##2) C(n##3) C(n##4) C(n##5) C(n##6) C(n##7)
#define C64(n) C8(n##0) C8(n##1) C8(n##2) C8(n##3) C8(n##4) C8(n##5) C8(n##6) C8(n##7)
static unsigned sum = 5, rounds;
static const char *rights;
static void patch(int n) {
	if (!strcmp(rights, "no")) return;
	unsigned char *pages[] = {first, second, third};
	for (int i = 0; i < 3; i++)
		if (mprotect(pages[i], PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)) exit(2);
	first[3] = first[PAGE - 1] = third[2] = third[6] = third[10] = n & 0x3f, second[0] = n;
	for (int i = 0; i < 3 && !strcmp(rights, "rx"); i++)
		if (mprotect(pages[i], PAGE, PROT_READ | PROT_EXEC)) exit(3);
}
static void round_of(int n) {
	int (*volatile by)(int) = reads;
	int r[] = {jumps(n), jumps(n + 1), calls(n), tests(n), falls(n), reads(n), goes(n), leads(n), part(n), by(n)};
	for (unsigned i = 0; i < sizeof r / sizeof *r; i++) rounds = 31 * rounds + r[i];
}
int main(int argc, char **argv) {
	if (argc < 5) return 1;
	rights = argv[1];
	int n = atoi(argv[2]), anew = atoi(argv[3]);
	int (*volatile by)(int) = seldom;
	C64(1) C64(2) C64(3) C64(4)
	if (atoi(argv[4])) {
		C64(5)
		rounds = by(n);
	}
	for (int i = 0; i < 3; i++) round_of(i); /* as the file has it */
	patch(n);
	for (int i = 0; i < ROUNDS; i++) {
		round_of(i);
		by = late;
		rounds += returns(i) + 3 * by(i) + 5 * picks(i); /* of which nothing was executed before */
		if (anew) patch(n + i);
	}
	C64(4) C64(3) C64(2) C64(1)
	printf("%u %u\n", sum, rounds);
	return 0;
}
