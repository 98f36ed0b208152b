// The process trees of figure 3 of the paper: P1 creates P2 and P3, P2 creates a process of its own: P4 if it is told to when
// P3 is there, or, with "first", before it. Each runs a function that is named after it. A tracer numbers the processes in the
// order of their creation; where it does not follow P2, P2's child has no number, and P3 is number 3 in both orders.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int work;

__attribute__((noinline)) static void p1(void) { work++; }
__attribute__((noinline)) static void p2(void) { work++; }
__attribute__((noinline)) static void p3(void) { work++; }
__attribute__((noinline)) static void grandchild(void) { work++; }

static void create(void (*run)(void)) {
  if (fork() == 0) {
    run();
    _exit(0);
  }
}

int main(int argc, char **argv) {
  int first = argc > 1 && strcmp(argv[1], "first") == 0, go[2], gone[2];
  char c = 0;
  if (pipe(go) || pipe(gone)) return 1;
  p1();
  if (fork() == 0) {
    p2();
    if (!first && read(go[0], &c, 1) != 1) _exit(1);
    create(grandchild);
    wait(NULL);
    _exit(write(gone[1], &c, 1) != 1);
  }
  if (first && read(gone[0], &c, 1) != 1) return 1;
  create(p3);
  if (write(go[1], &c, 1) != 1) return 1;
  int status = 0, bad = 0;
  while (wait(&status) > 0) bad |= status;
  return bad != 0;
}
