/* Functions that jump to their own first instruction: loops begin there, of a compiler
   and by hand. The first argument names one, which is called as often as the second says, and
   goes round five times in each call; what comes out is written. In "threads" two threads
   call, in "signals" handlers interrupt, in "pause" and "asleep" the program sleeps for longer than
   a tracer waits for it to become quiet: outside of the function, and within.
   build: -O2 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

struct node {
	struct node *next;
	long v;
};

/* gcc jumps to the first instruction of each. */
__attribute__((noinline)) long follow(struct node *p) {
	while (p->next) p = p->next;
	return p->v;
}
__attribute__((noinline)) unsigned long take(unsigned long *p) {
	unsigned long v;
	do v = __atomic_fetch_sub(p, 1, __ATOMIC_RELAXED);
	while (v & 3);
	return v;
}

long once(long), counted(long), table(long), level(long), last(long), colder(long), calling(long), changing(long), entered(long);
void helper(void);
asm(".text\n"
    ".macro f name\n .p2align 4\n .globl \\name\n .type \\name,@function\n\\name:\n.endm\n"
    ".macro e name\n .size \\name,.-\\name\n.endm\n"
    /* one instruction that jumps to itself */
    "f counted\n loop counted\n lea (%rdi,%rdi),%rax\n ret\n e counted\n"
    "f once\n mov $5,%ecx\n jmp counted\n e once\n"
    /* by a register */
    "f table\n dec %rsi\n lea table(%rip),%rcx\n lea 1f(%rip),%rdx\n cmovle %rdx,%rcx\n jmp *%rcx\n 1: mov %rdi,%rax\n ret\n e table\n"
    /* with the stack as it was, though it begins with a push; and as its last call */
    "f level\n push %rdi\n lea 8(%rsp),%rsp\n dec %rsi\n jle 1f\n lea level(%rip),%rcx\n jmp *%rcx\n 1: lea 4(%rdi),%rax\n ret\n e level\n"
    "f last\n push %rdi\n dec %rsi\n jle 1f\n pop %rdi\n lea last(%rip),%rcx\n jmp *%rcx\n 1: pop %rax\n ret\n e last\n"
    /* by its cold part */
    ".section .text.unlikely\n .type colder.cold,@function\n colder.cold:\n nop\n jmp colder\n .size colder.cold,.-colder.cold\n .text\n"
    "f colder\n dec %rsi\n jg colder.cold\n lea 1(%rdi),%rax\n ret\n e colder\n"
    /* with calls in between */
    "f calling\n sub $8,%rsp\n push %rdi\n push %rsi\n call helper\n pop %rsi\n pop %rdi\n add $8,%rsp\n dec %rsi\n jg calling\n lea 2(%rdi),%rax\n ret\n e calling\n"
    /* a jump from another function is an entry */
    "f entered\n dec %rsi\n jg 2f\n lea 3(%rdi),%rax\n ret\n e entered\n"
    "f beside\n 2: jmp entered\n e beside\n"
    /* changes itself each time round */
    ".section .wtext,\"awx\"\n"
    "f changing\n mov $1,%eax\n add %eax,%edx\n incl changing+1(%rip)\n dec %rsi\n jg changing\n movl $1,changing+1(%rip)\n mov %edx,%eax\n ret\n e changing\n"
    ".text\n");

static struct timespec nap = {1, 500000000};
static int asleep;
__attribute__((noinline)) void helper(void) {
	if (asleep && --asleep == 0) nanosleep(&nap, NULL);
}

static struct node list[5] = {{&list[1], 1}, {&list[2], 2}, {&list[3], 3}, {&list[4], 4}, {NULL, 7}};

static long run(const char *name, long n) {
	long sum = 0;
	/* the third argument of changing is where it adds up */
	long (*changes)(long, long, long) = (long (*)(long, long, long))changing;
	long (*two)(long, long) = !strcmp(name, "table") ? (void *)table : !strcmp(name, "level") ? (void *)level :
		!strcmp(name, "last") ? (void *)last : !strcmp(name, "colder") ? (void *)colder :
		!strcmp(name, "calling") ? (void *)calling : (void *)entered;
	for (long i = 0; i < n; i++) {
		unsigned long left = 4 + 4 * (i & 1) + 1;
		if (!strcmp(name, "follow")) sum += follow(list);
		else if (!strcmp(name, "take")) sum += take(&left);
		else if (!strcmp(name, "counted")) sum += once(i);
		else if (!strcmp(name, "changing")) sum += changes(0, 5, 0);
		else sum += two(i, 5);
	}
	return sum;
}

static const char *function;
static long many;
static void *worker(void *arg) { return (void *)run(function, many); }

static volatile sig_atomic_t handled;
static const struct itimerval soon = {{0, 0}, {0, 200}};
static void handle(int sig) {
	if (++handled < 400) setitimer(ITIMER_REAL, &soon, NULL);
}

int main(int argc, char **argv) {
	many = atol(argv[2]);
	function = argv[1];
	const char *how = argc > 3 ? argv[3] : "";
	long sum = 0;
	if (!strcmp(how, "threads")) {
		pthread_t t;
		void *other;
		many /= 2;
		pthread_create(&t, NULL, worker, NULL);
		sum = run(function, many);
		pthread_join(t, &other);
		sum += (long)other;
	} else if (!strcmp(how, "pause")) {
		sum = run(function, many / 2);
		nanosleep(&nap, NULL);
		sum += run(function, many - many / 2);
	} else {
		if (!strcmp(how, "signals")) {
			signal(SIGALRM, handle);
			setitimer(ITIMER_REAL, &soon, NULL);
		}
		if (!strcmp(how, "asleep")) asleep = 7;
		sum = run(function, many);
		if (!strcmp(how, "signals")) signal(SIGALRM, SIG_IGN);
	}
	printf("%ld\n", sum);
	return 0;
}
