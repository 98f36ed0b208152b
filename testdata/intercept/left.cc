// Calls that are left by an exception or longjmp, where the program goes on at the very address behind the call, with the same stack pointer: a
// catch block ends by a jump there, and so does what setjmp's second return leads to. Each is captured as one of
//
//	parse(n=-1) <left without returning>
//	thrower(d=0) <left without returning>
//
// and those that return as what they return. The window that closes when unsure returns closes behind its second call, which does. What stays
// ambiguous: where nothing is called between setjmp's second return and that address, thrower's result is made up natively.
#include <csetjmp>
#include <cstdio>

#define API extern "C" __attribute__((noinline, noclone))

static std::jmp_buf back;
API long mark(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}
API long parse(long n)
{
	if (n < 0)
		throw n;
	return mark(n) + 1;
}
API long unsure(long n)
{
	if (n < 0)
		throw n;
	return mark(n) + 1;
}
API void thrower(int d)
{
	if (d == 0)
		std::longjmp(back, 3);
	thrower(d - 1);
	__asm__ volatile("");
}

int main()
{
	long sum = 0;
	for (long n = -1; n < 200; n++) {
		long r = 0;
		try {
			r = parse(n % 3 == 2 ? -1 : n);
		} catch (long) {
			r = 7;
		}
		sum += r;
	}
	for (long n = -1; n < 1; n++) {
		long r = 0;
		try {
			r = unsure(n);
		} catch (long) {
			r = 7;
		}
		sum += r;
	}
	for (int i = 0; i < 50; i++) {
		if (!setjmp(back))
			thrower(i & 1);
		else
			mark(-3);
		sum += mark(i);
	}
	std::printf("%ld\n", sum);
	return 0;
}
