#include <sys/prctl.h>

#include "slack.h"

long alleria_slack;

/* In front of all others, one of which changes it. */
__attribute__((constructor(101))) static void note(void) { alleria_slack = prctl(PR_GET_TIMERSLACK); }
