/* Says that it is there and waits to be looked at. */
#include <stdio.h>
int main(void)
{
	puts("ready");
	fflush(stdout);
	return getchar() == 'x';
}
