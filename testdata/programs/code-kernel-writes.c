/* Code that the kernel writes while no call is being made, by rings that were set up before there was any code. */
/* expect stdout: ok */
#include "check.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
typedef int fn(void);
static void code(unsigned char *c, int n) {
	c[0] = 0xb8; /* mov eax, n; ret */
	memcpy(c + 1, &n, 4);
	c[5] = 0xc3;
}
/* settle executes a function and nothing else for some milliseconds. */
static void settle(unsigned char *p, int want) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	long end = t.tv_sec * 1000000000 + t.tv_nsec + 6000000;
	do {
		for (int k = 0; k < 20; k++, idle()) CHECK(((fn *)p)() == want);
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec * 1000000000 + t.tv_nsec < end);
}
static unsigned char *page(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}
static void uring(void) {
	struct io_uring_params p = {0};
	int r = (int)syscall(SYS_io_uring_setup, 8, &p), ends[2];
	if (r < 0) return; /* forbidden here */
	char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r, IORING_OFF_SQ_RING);
	char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r, IORING_OFF_CQ_RING);
	struct io_uring_sqe *s = mmap(0, p.sq_entries * sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r, IORING_OFF_SQES);
	CHECK(sq != MAP_FAILED && cq != MAP_FAILED && s != MAP_FAILED && pipe(ends) == 0);
	unsigned *tail = (unsigned *)(sq + p.sq_off.tail), *head = (unsigned *)(cq + p.cq_off.head), *came = (unsigned *)(cq + p.cq_off.tail);
	unsigned char *to = page();
	for (int i = 0; i < 6; i++) {
		unsigned char c[6];
		code(c, i);
		CHECK(write(ends[1], c, 6) == 6);
		memset(s, 0, sizeof *s);
		s->opcode = IORING_OP_READ, s->fd = ends[0], s->addr = (uint64_t)to, s->len = 6, s->off = (uint64_t)-1;
		((unsigned *)(sq + p.sq_off.array))[*tail & (p.sq_entries - 1)] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		CHECK(syscall(SYS_io_uring_enter, r, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1);
		while (*head == __atomic_load_n(came, __ATOMIC_ACQUIRE)) {
		}
		struct io_uring_cqe *done = (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (*head & (p.cq_entries - 1));
		CHECK(done->res == 6);
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
		settle(to, i);
	}
}
static void aio(void) {
	aio_context_t a = 0;
	if (syscall(SYS_io_setup, 8, &a) != 0) return;
	int f = memfd_create("code", 0);
	unsigned char *to = page();
	CHECK(f >= 0);
	for (int i = 0; i < 6; i++) {
		unsigned char c[6];
		code(c, i);
		CHECK(pwrite(f, c, 6, 0) == 6);
		struct iocb k = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)f, .aio_buf = (uint64_t)to, .aio_nbytes = 6}, *all = &k;
		struct io_event e;
		CHECK(syscall(SYS_io_submit, a, 1, &all) == 1 && syscall(SYS_io_getevents, a, 1, 1, &e, 0) == 1 && e.res == 6);
		settle(to, i);
	}
}
int main(void) {
	pid_t p = fork();
	CHECK(p >= 0);
	if (p == 0) return aio(), 0;
	int s;
	CHECK(waitpid(p, &s, 0) == p && s == 0);
	uring();
	return OK();
}
