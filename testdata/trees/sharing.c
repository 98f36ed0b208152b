// Three children write into memory that they share, each at an address of its own: 1000 * (k + 1) times into page k of an anonymous mapping, as
// many times into page 2 * k of a memfd, and once each into page 7 of a file that is named by the argument. The parent reads all of page 0 to 2 of the anonymous one.
//
// Expectation: of the anonymous memory page k has 1000 * (k + 1) writes and 512 reads, of the memfd page 2 * k 1000 * (k + 1) writes; page 7 of the file has 3.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page = 4096, pages = 16 };

static void times(volatile uint64_t *word, int n)
{
    for (int i = 0; i < n; i++)
        *word = i;
}

int main(int argc, char **argv)
{
    int fd = memfd_create("sharing", 0), file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || file < 0 || ftruncate(fd, pages * page) || ftruncate(file, pages * page))
        return 1;
    // Where nothing has lain before: heat maps go by addresses, and the loader reads a file that is gone by now.
    uint64_t *all = mmap((void *)0x200000000000, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (all == MAP_FAILED)
        return 1;
    for (int k = 0; k < 3; k++)
        if (fork() == 0) {
            char *to = (char *)0x100000000000 + k * 0x10000000000;
            char *moved = mremap(all, pages * page, pages * page, MREMAP_MAYMOVE | MREMAP_FIXED, to);
            char *mem = mmap(0, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            char *part = mmap(0, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 7 * page);
            if (moved != to || mem == MAP_FAILED || part == MAP_FAILED)
                _exit(1);
            times((uint64_t *)(moved + k * page), 1000 * (k + 1));
            times((uint64_t *)(mem + 2 * k * page), 1000 * (k + 1));
            times((uint64_t *)part, 1);
            munmap(mem, pages * page);
            _exit(0);
        }
    for (int k = 0; k < 3; k++) {
        int status;
        if (wait(&status) < 0 || status)
            return 1;
    }
    uint64_t sum = 0;
    for (int i = 0; i < 3 * page / 8; i++)
        sum += ((volatile uint64_t *)all)[i];
    return sum != 999 + 1999 + 2999;
}
