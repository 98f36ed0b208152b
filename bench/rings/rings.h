#include <stddef.h>
double alleria_bench_ring(int kind, size_t words, size_t chunk, unsigned long long n, int producer, int consumer);
