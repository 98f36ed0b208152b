// Uses its own data in as many ways as instructions have: loads, stores, both at once, locked, vectors, strings, floating point, x87, masks, shifts of
// two words, jumps and calls by tables. It prints what comes of it, the same each time, wherever the program lies.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t words[64];
static uint32_t halves[64];
static unsigned char bytes[256], copy[256];
static _Alignas(16) unsigned char mask[16];
static double real = 1.5;
static float small = 0.25f;
static long double wide;
static _Atomic uint64_t shared;
static _Atomic uint32_t narrow;
static uint64_t state = 88172645463325252u;

static uint64_t twice(uint64_t x) { return 2 * x; }
static uint64_t plus(uint64_t x) { return x + halves[3]; }
static uint64_t times(uint64_t x) { return x * words[1]; }
static uint64_t (*const steps[])(uint64_t) = {twice, plus, times};

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t choose(unsigned n) {
    switch (n) {
    case 0: return words[2];
    case 1: return bytes[7] * 3u;
    case 2: return halves[9] ^ 5u;
    case 3: words[5]++; return 1;
    case 4: return (uint64_t)(real *= 1.01);
    case 5: small += 0.5f; return (uint64_t)small;
    case 6: return __atomic_fetch_add(&shared, n, __ATOMIC_SEQ_CST);
    default: return atomic_fetch_or(&narrow, n);
    }
}

int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < 400; i++) {
        words[i % 64] += next();
        halves[i % 64] -= (uint32_t)words[(i + 1) % 64];
        bytes[i % 256] ^= (unsigned char)halves[i % 64];
        words[1] |= 1;
        halves[3]++;
        sum = steps[i % 3](sum) + choose((unsigned)(next() % 9));
        uint64_t seen = sum - 1;
        atomic_compare_exchange_strong(&shared, &seen, sum);
        sum += atomic_exchange(&narrow, (uint32_t)seen);
        if (i % 50 == 0) {
            memcpy(copy, bytes, sizeof copy);
            sum += (uint64_t)memcmp(copy, bytes, 100) + strlen((char *)copy);
            void *from = bytes, *to = copy;
            long count = 32;
            asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
            asm volatile("lock incl %0; btsq $3, %1; notl %0; xaddl %%eax, %0" : "+m"(halves[0]), "+m"(words[7]) : : "eax", "cc");
            asm volatile("fldpi; fstpt %0; fldl %1; fstps %2; shldq $5, %3, %4" : "=m"(wide) : "m"(real), "m"(small), "r"(sum), "m"(words[11]) : "memory", "cc");
            asm volatile("movss %0, %%xmm1; addss %0, %%xmm1; movhps %%xmm1, %1; pshufb %2, %%xmm1" : : "m"(small), "m"(words[13]), "m"(*(char(*)[16])mask) : "xmm1", "memory");
            asm volatile("movdqu %0, %%xmm1; paddb %1, %%xmm1; movdqu %%xmm1, %0; pushq %2; popq %2" : "+m"(*(char(*)[16])copy) : "m"(*(char(*)[16])words), "m"(words[9]) : "xmm1", "memory");
        }
    }
    for (int i = 0; i < 256; i++)
        sum = sum * 31 + copy[i];
    printf("%016lx %.6f %.3f\n", (unsigned long)(sum + words[9] + halves[0] + shared + narrow), real, small);
    return 0;
}
