// Templates with parameter packs, in front of and behind other parameters.
template <class... A> __attribute__((noinline)) int before(A... a, int last, double more)
{
	__asm__ volatile("" : : "r"(last));
	return last + int(more);
}

template <class... A> __attribute__((noinline)) int behind(int first, A... a)
{
	__asm__ volatile("" : : "r"(first));
	return first + int(sizeof...(a));
}

int main()
{
	return before<int, double>(1, 2.5, 77, 8.5) + behind(9, 3, 2.5) == 96 ? 0 : 1;
}
