/* The same every 100 µs, less than a handled signal takes a thread that is traced. */
/* armed: work */
/* expect stdout: ok */
#define PERIOD 100000
#include "signals-quick.c"
