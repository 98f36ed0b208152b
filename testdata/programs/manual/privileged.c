/* Prints its effective user; installed set-user-id by a test. */
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d\n", (int)geteuid()); }
