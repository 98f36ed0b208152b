/* Functions that are given addresses of memory which userfaultfd is to fill, and do not touch it: nobody asks for it, unless a tracer does. A thread of
 * the program fills what is asked for. Exits with 77 where there is no userfaultfd. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8 };
struct two { const char *first, *second; };
static int fd, asked;

static void *filler(void *unused)
{
	static char page[PAGE] = "filled";
	struct uffd_msg m;
	while (read(fd, &m, sizeof m) == sizeof m) {
		__atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
		struct uffdio_copy c = {.dst = m.arg.pagefault.address & -PAGE, .src = (unsigned long)page, .len = PAGE};
		ioctl(fd, UFFDIO_COPY, &c);
	}
	return unused;
}

__attribute__((noinline, noclone, noipa)) int text(const char *s, int n) { __asm__ volatile("" : "+r"(s)); return n; }
__attribute__((noinline, noclone, noipa)) int texts(struct two *t) { __asm__ volatile("" : "+r"(t)); return t != NULL; }

int main(void)
{
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {.range = {(unsigned long)p, PAGES * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))
		return 77;
	pthread_t t;
	pthread_create(&t, NULL, filler, NULL);
	struct two two = {"there", p + 2 * PAGE}, known = {"known", "known"};
	for (int i = 0; i < 3000; i++) { /* often, so that code captures them */
		text("known", 0);
		texts(&known);
	}
	text(p, 1);
	text(p + PAGE, 2);
	texts(&two);
	printf("%d asked for\n", asked);
	return 0;
}
