// images: a process executes code of images that are each process's own, and so do its child, another child behind it, a child of that, and one that loads a library for itself: the
// kernel's (vDSO and vsyscall), a library that was deleted before it was called, and one that was deleted behind it. With a fourth argument it also executes code of a library in memory
// without a name, and code in no image: then no translations are inherited. The last child is of vfork. Arguments: two copies of a library, which are removed, a third, anything.
// Expectation: the answers "7 7 7" of each process, and 7 of the library that is loaded late.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int (*answers[3])(void);
static void (*made)(void);

static void *copied(const char *from) {
    static char bytes[1 << 20];
    char path[64];
    FILE *f = fopen(from, "r");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    int fd = memfd_create("answer", 0);
    if (n == 0 || write(fd, bytes, n) != (ssize_t)n)
        return NULL;
    fclose(f);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return dlopen(path, RTLD_NOW);
}

static void execute(const char *who) {
    struct timespec t;
    char line[64];
    clock_gettime(CLOCK_MONOTONIC, &t);
#ifdef VSYSCALL
    ((long (*)(long *))0xffffffffff600400)(NULL); // time
#endif
    if (made)
        made();
    int n = snprintf(line, sizeof line, "%s %d %d %d\n", who, answers[0](), answers[1](), answers[2]());
    if (write(1, line, n) != n)
        _exit(9);
}

static void child(const char *who, const char *its, const char *lib) {
    int status;
    if (fork() == 0) {
        execute(who);
        if (its)
            child(its, NULL, NULL);
        if (lib) {
            void *l = dlopen(lib, RTLD_NOW);
            printf("late %d\n", l ? ((int (*)(void))dlsym(l, "answer"))() : 0);
            fflush(stdout);
            execute(who);
            child("its child", NULL, NULL);
        }
        _exit(0);
    }
    wait(&status);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    void *libs[3] = {argc > 4 ? copied(argv[3]) : dlopen(argv[1], RTLD_NOW), dlopen(argv[1], RTLD_NOW), dlopen(argv[2], RTLD_NOW)};
    for (int i = 0; i < 3; i++) {
        if (!libs[i])
            return 3;
        answers[i] = (int (*)(void))dlsym(libs[i], "answer");
    }
    if (argc > 4) {
        made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy((void *)made, "\xc3", 1);
        mprotect((void *)made, 4096, PROT_READ | PROT_EXEC);
    }
    unlink(argv[1]);
    execute("creator");
    unlink(argv[2]);
    child("child", NULL, NULL);
    child("second", "grandchild", NULL);
    child("third", NULL, argv[3]);
    int status;
    if (vfork() == 0) {
        execute("vfork");
        _exit(0);
    }
    wait(&status);
    return 0;
}
