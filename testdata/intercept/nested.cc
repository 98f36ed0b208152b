/* expect stdout: 42
   Functions that lie in others in debug information: GCC's lambdas, and methods of classes that a function has to itself. */
#include <cstdio>

#define NOINLINE __attribute__((noinline, noclone, noipa))

int main(int argc, char **)
{
	struct local {
		int n;
		NOINLINE int method(int x, double y) { return n + x + int(y); }
	};
	auto lambda = [&](int y, const char *s) NOINLINE { return y + argc + s[0]; };
	local l = {1};
	int sum = l.method(2, 3.5);
	{
		auto inner = [&](double z) NOINLINE { return z * 2 * argc; };
		sum += int(inner(4.5));
	}
	sum += lambda(4, "hey");
	puts(sum == 1 + 2 + 3 + 9 + 4 + 1 + 'h' ? "42" : "wrong");
}
