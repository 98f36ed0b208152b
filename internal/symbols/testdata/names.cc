// C++ names: namespaces, overloads, templates, constructors, operators, lambdas.
#include <cstdio>
#include <vector>

namespace ns {
struct Class {
	int v;
	__attribute__((noinline)) Class(int x) : v(x) {}
	__attribute__((noinline)) int method(int x) { return v + x; }
	__attribute__((noinline)) int method(double x) { return v - (int)x; }
	__attribute__((noinline)) Class operator+(const Class &o) const { return Class(v + o.v); }
	__attribute__((noinline)) ~Class() { std::puts("gone"); }
};
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
namespace {
__attribute__((noinline)) int hidden(int x) { return x * 5; }
}
}

int main(int argc, char **)
{
	ns::Class a(argc), b(2);
	std::vector<int> v;
	v.push_back(argc);
	auto f = [&](int x) __attribute__((noinline)) { return x + argc; };
	return (a + b).method(3) + a.method(2.5) + ns::twice(4) + (int)ns::twice(1.5) + ns::hidden(argc) + f(1) + v[0] == 4711;
}
