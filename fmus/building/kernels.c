/* What a library of kernels has besides its kernels; nothing here comes from a C library.

   Kernels call functions of the C library and of Embree by their names. Each name is a jump to where
   a pointer points, which the loader fills in (sensor_models/kernels/carried.py). functions.h, made
   by the build, has FUNCTION(name, number) for each, and their COUNT. */

#include "functions.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#define USED __attribute__((used))
#define HIDDEN(name) ""
int _fltused;
int DllMainCRTStartup(void *library, unsigned reason, void *reserved)
{
    (void)library, (void)reason, (void)reserved;
    return 1;
}

/* What compilers for Windows call before a large frame, its size in rax: each page of the stack must
   be touched in turn. All registers stay as they are. */
__asm__(".text\n.globl ___chkstk_ms\n___chkstk_ms:\n"
        " pushq %rcx\n pushq %rax\n leaq 24(%rsp), %rcx\n"
        "1:\n cmpq $4096, %rax\n jb 2f\n"
        " subq $4096, %rcx\n orq $0, (%rcx)\n subq $4096, %rax\n jmp 1b\n"
        "2:\n subq %rax, %rcx\n orq $0, (%rcx)\n popq %rax\n popq %rcx\n ret\n");
#else
#define EXPORT __attribute__((visibility("default")))
#define USED __attribute__((used, visibility("hidden")))
#define HIDDEN(name) ".hidden " name "\n"
#endif

USED void *sensor_fmus_pointers[COUNT];

#ifdef __aarch64__
/* x16 is free to be changed between a call and the function that is called. */
#define JUMP(number)                                                                                \
    "adrp x16, sensor_fmus_pointers+8*" #number "\n"                                               \
    "ldr x16, [x16, :lo12:sensor_fmus_pointers+8*" #number "]\nbr x16\n"
#else
#define JUMP(number) "jmpq *sensor_fmus_pointers+8*" #number "(%rip)\n"
#endif

#define FUNCTION(name, number)                                                                      \
    __asm__(".text\n.globl " #name "\n" HIDDEN(#name) #name ":\n" JUMP(number));
FUNCTIONS

EXPORT void *sensor_fmus_functions(void)
{
    return sensor_fmus_pointers;
}

#ifdef __aarch64__
/* There is one level, which every 64-bit processor has. */
EXPORT int sensor_fmus_levels(void)
{
    return 1;
}
#else
typedef struct { unsigned a, b, c, d; } Registers;

static Registers ask(unsigned leaf)
{
    Registers r;
    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(0));
    return r;
}

/* The vector registers that the system saves. */
static unsigned saved(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

#define BIT(n) (1u << (n))
static int has(unsigned present, unsigned wanted)
{
    return (present & wanted) == wanted;
}

/* How many of the levels v2, v3, v4 of x86-64 this processor has: Intel SDM volume 2, CPUID. */
EXPORT int sensor_fmus_levels(void)
{
    const unsigned sse3 = BIT(0), ssse3 = BIT(9), cx16 = BIT(13), sse4 = BIT(19) | BIT(20);
    const unsigned popcnt = BIT(23), fma = BIT(12), movbe = BIT(22), xsave = BIT(27);
    const unsigned avx = BIT(28), f16c = BIT(29), lahf = BIT(0), lzcnt = BIT(5);
    const unsigned bmi1 = BIT(3), avx2 = BIT(5), bmi2 = BIT(8);
    const unsigned avx512 = BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31); /* F DQ CD BW VL */
    unsigned most = ask(0).a, one = ask(1).c, more = ask(0x80000001u).c;
    if (!has(one, sse3 | ssse3 | cx16 | sse4 | popcnt) || !has(more, lahf)) return 0;
    if (!has(one, fma | movbe | xsave | avx | f16c) || !has(more, lzcnt) || most < 7) return 1;
    unsigned seven = ask(7).b, vectors = saved();
    if (!has(seven, bmi1 | avx2 | bmi2) || !has(vectors, BIT(1) | BIT(2))) return 1;
    return has(seven, avx512) && has(vectors, BIT(1) | BIT(2) | BIT(5) | BIT(6) | BIT(7)) ? 3 : 2;
}
#endif
