// Memory that is there for a moment: 1000 times 64 pages of anonymous memory are mapped, written to, and unmapped; the file that the argument names is mapped,
// read and unmapped, the heap grows by a MiB and is written to; last, work() writes to memory that main has mapped before and unmaps behind it.
//
// Expectation: 64000 writes to anonymous memory at one place, 2048 reads of the file, 256 writes to the heap, and work's 5000 to anonymous memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096 };

__attribute__((noinline)) void work(volatile uint64_t *at)
{
    for (int i = 0; i < 5000; i++)
        *at = i;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 1000; i++) {
        char *p = mmap(0, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return 1;
        for (int k = 0; k < 64; k++)
            *(volatile char *)(p + k * page) = 1;
        munmap(p, 64 * page);
    }
    int fd = open(argv[1], O_RDONLY);
    uint64_t *file = mmap(0, 4 * page, PROT_READ, MAP_PRIVATE, fd, 0), sum = 0;
    if (file == MAP_FAILED)
        return 1;
    for (int i = 0; i < 4 * page / 8; i++)
        sum += ((volatile uint64_t *)file)[i];
    munmap(file, 4 * page);
    char *heap = sbrk(1 << 20);
    for (int k = 0; k < 256; k++)
        *(volatile char *)(heap + k * page) = sum;
    // Far from all others, where nothing is mapped when the program has ended.
    void *far = mmap((void *)0x200000000000, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (far == MAP_FAILED)
        return 1;
    work(far);
    munmap(far, page);
    return 0;
}
