// Exceptions through many frames, rethrown, from constructors, in terminate.
// expect stdout: 20000 inner outer 3
// expect exit: 134
// expect stderr: terminating
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
static int dtors;
struct D { ~D() { dtors++; } };
static int f(int n) { D d; if (!n) throw std::string("x"); return f(n - 1) + 1; }
struct Base { D d; Base(int n) { if (n == 3) throw n; } };
struct Derived : Base { D e; Derived(int n) : Base(n) {} };
int main() {
	for (int i = 0; i < 200; i++) try { f(99); } catch (const std::string &) {}
	std::printf("%d ", dtors);
	try {
		try { throw std::runtime_error("inner"); }
		catch (std::exception &e) { std::printf("%s ", e.what()); std::throw_with_nested(std::logic_error("outer")); }
	} catch (std::exception &e) { std::printf("%s ", e.what()); }
	try { Derived d(3); } catch (int n) { std::printf("%d\n", n); }
	std::fflush(stdout);
	std::set_terminate([] { std::fputs("terminating\n", stderr); std::abort(); });
	[]() noexcept { throw 1; }();
}
