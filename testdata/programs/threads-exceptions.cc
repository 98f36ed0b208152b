// std::thread, with exceptions that cross many frames and threads.
// expect stdout: 4000 4 deep
#include <cstdio>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Count { std::atomic<int> &n; ~Count() { n++; } };
static int deep(int n, std::atomic<int> &c) {
	Count guard{c};
	if (n == 0) throw std::runtime_error("deep");
	return deep(n - 1, c) + 1;
}
int main() {
	std::atomic<int> c{0}, caught{0};
	std::vector<std::thread> ts;
	for (int t = 0; t < 4; t++)
		ts.emplace_back([&] {
			for (int i = 0; i < 10; i++) try { deep(99, c); } catch (const std::exception &) { if (i == 9) caught++; }
		});
	for (auto &t : ts) t.join();
	std::string what;
	std::atomic<int> d{0};
	auto f = std::async(std::launch::async, [&] { return deep(50, d); });
	try { f.get(); } catch (const std::runtime_error &e) { what = e.what(); }
	std::printf("%d %d %s\n", c.load(), caught.load(), what.c_str());
}
