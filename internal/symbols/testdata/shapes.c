/* One function of each shape that a symbol table can have: static and global,
   an alias, an IFUNC, a part and a copy that GCC splits off, and two statics of
   one name (the other is in shapes_more.c). */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int twin(int x) { return x * 3 + 1; }

__attribute__((noinline)) int global_one(int x) { return twin(x) ^ 0x55; }
extern int alias_one(int) __attribute__((alias("global_one")));
extern int __hidden_alias(int) __attribute__((alias("global_one")));

static int chosen_impl(int x) { return x + 40; }
static int (*resolve_chosen(void))(int) { return chosen_impl; }
int chosen(int) __attribute__((ifunc("resolve_chosen")));

__attribute__((cold, noinline)) static void complain(int x) { fprintf(stderr, "%d\n", x); }

__attribute__((noinline)) int splits(int x)
{
	if (x > 1000) {
		complain(x);
		complain(x + 1);
		complain(x * 2);
		abort();
	}
	return x - 1;
}

int more(int);

int main(int argc, char **argv)
{
	puts("shapes");
	return alias_one(argc) + chosen(argc) + splits(argc) + more(argc) == 12345;
}
