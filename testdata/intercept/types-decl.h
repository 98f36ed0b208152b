/* Declarations that alleria record --header reads. */
#include <stddef.h>

enum where { IN = 1, OUT };
struct place {
	int a : 3, b : 5;
	double at[2];
	struct place *next;
};
int move_to(struct place *p, enum where w, size_t n);
double scale(double x, float y, const char *text);
