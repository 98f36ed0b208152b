#include <sys/resource.h>

/* What the launcher stage needs. It lies in C's memory, and stays until the target has been
 * executed or the stage has ended. */
struct alleria_stage {
	char *path, *dir;       /* dir: 0 for the tracer's */
	char **argv, **envp;
	int wait, release;      /* the stage waits for a byte in wait; release is its other end, not the stage's business */
	int report;             /* where an errno goes */
	int fixed;              /* no address space randomisation */
	long slack;             /* the timer slack that the tracer was started with */
	int copied;             /* the stage gets a copy of the tracer's memory, as by fork */
	char stack[16384] __attribute__((aligned(16)));
};

int alleria_launch(struct alleria_stage *s);
