/* A library that comes and goes, as nested.c does nothing. */
void plugged(void) {}
