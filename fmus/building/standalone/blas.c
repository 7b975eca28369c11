/* What NumPy is given in place of OpenBLAS, by an FMU that multiplies no matrices.

   OpenBLAS has half of the size of such an FMU, and NumPy's libraries cannot be opened without the
   functions that they name. Here each of these is a jump to where a pointer points: at first, to
   plain loops for what products of matrices call, which are right, but slow and of other last bits;
   what takes systems of equations apart is refused before it comes here (_umath_linalg.py). When an
   FMU joins the process that carries OpenBLAS, the pointers are changed to that
   (fmus/binding/fmu_loader.py).

   names.h, made by the build, has NAMED(name, number, function) for each name, and their COUNT. */

#include <complex.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "names.h" /* NAMES, COUNT, INTEGER */

enum { ROWS_FIRST = 101, AS_IT_IS = 111, CONJUGATED = 113, UPPER = 121 };

typedef INTEGER Integer;

static int products; /* how often any of the loops was called */

/* Where the element in a row and a column of a matrix is, which may be meant transposed. */
static Integer at(int order, int form, Integer leading, Integer row, Integer column) {
    int by_rows = (order == ROWS_FIRST) == (form == AS_IT_IS);
    return by_rows ? row * leading + column : column * leading + row;
}

/* Where a vector begins, whose elements may be read backwards. */
static Integer first(Integer count, Integer step) { return step < 0 ? (1 - count) * step : 0; }

static void count(void) { __atomic_add_fetch(&products, 1, __ATOMIC_RELAXED); }

static float same_s(float a) { return a; }
static double same_d(double a) { return a; }
static float _Complex conjugated_c(float _Complex a) { return conjf(a); }
static double _Complex conjugated_z(double _Complex a) { return conj(a); }

/* The functions for one type. Real factors are given as they are (`Factor`), complex ones by where
   they are. What is multiplied by 0 is not read: it may be no number. */
#define DEFINE_FOR(letter, Type, Factor, VALUE, conjugate)                                         \
    static Type element_##letter(const Type *a, int order, int form, Integer leading, Integer row, \
                                 Integer column) {                                                 \
        Type value = a[at(order, form, leading, row, column)];                                     \
        return form == CONJUGATED ? conjugate(value) : value;                                      \
    }                                                                                              \
    static Type scaled_##letter(Type beta, Type value) { return beta == 0 ? 0 : beta * value; }    \
    static Type sum_##letter(Integer n, const Type *x, Integer dx, const Type *y, Integer dy,      \
                             int form) {                                                           \
        Type sum = 0;                                                                              \
        count();                                                                                   \
        x += first(n, dx), y += first(n, dy);                                                      \
        for (Integer k = 0; k < n; k++)                                                            \
            sum += (form == CONJUGATED ? conjugate(x[k * dx]) : x[k * dx]) * y[k * dy];            \
        return sum;                                                                                \
    }                                                                                              \
    static void plain_##letter##axpy(Integer n, Factor alpha, const Type *x, Integer dx, Type *y,  \
                                     Integer dy) {                                                 \
        count();                                                                                   \
        x += first(n, dx), y += first(n, dy);                                                      \
        for (Integer k = 0; k < n; k++) y[k * dy] += VALUE(Type, alpha) * x[k * dx];               \
    }                                                                                              \
    static void plain_##letter##gemm(int order, int form_a, int form_b, Integer m, Integer n,      \
                                     Integer depth, Factor alpha, const Type *a, Integer lda,      \
                                     const Type *b, Integer ldb, Factor beta, Type *c,             \
                                     Integer ldc) {                                                \
        count();                                                                                   \
        for (Integer i = 0; i < m; i++)                                                            \
            for (Integer j = 0; j < n; j++) {                                                      \
                Type sum = 0, *target = &c[at(order, AS_IT_IS, ldc, i, j)];                        \
                for (Integer k = 0; k < depth; k++)                                                \
                    sum += element_##letter(a, order, form_a, lda, i, k) *                         \
                           element_##letter(b, order, form_b, ldb, k, j);                          \
                *target = VALUE(Type, alpha) * sum +                                               \
                          scaled_##letter(VALUE(Type, beta), *target);                             \
            }                                                                                      \
    }                                                                                              \
    static void plain_##letter##gemv(int order, int form, Integer m, Integer n, Factor alpha,      \
                                     const Type *a, Integer lda, const Type *x, Integer dx,        \
                                     Factor beta, Type *y, Integer dy) {                           \
        count();                                                                                   \
        Integer rows = form == AS_IT_IS ? m : n, columns = form == AS_IT_IS ? n : m;               \
        x += first(columns, dx), y += first(rows, dy);                                             \
        for (Integer i = 0; i < rows; i++) {                                                       \
            Type sum = 0, *target = &y[i * dy];                                                    \
            for (Integer k = 0; k < columns; k++)                                                  \
                sum += element_##letter(a, order, form, lda, i, k) * x[k * dx];                    \
            *target = VALUE(Type, alpha) * sum + scaled_##letter(VALUE(Type, beta), *target);      \
        }                                                                                          \
    }                                                                                              \
    static void plain_##letter##syrk(int order, int triangle, int form, Integer n, Integer depth,  \
                                     Factor alpha, const Type *a, Integer lda, Factor beta,        \
                                     Type *c, Integer ldc) {                                       \
        count();                                                                                   \
        for (Integer i = 0; i < n; i++)                                                            \
            for (Integer j = triangle == UPPER ? i : 0; j < (triangle == UPPER ? n : i + 1); j++) {\
                Type sum = 0, *target = &c[at(order, AS_IT_IS, ldc, i, j)];                        \
                for (Integer k = 0; k < depth; k++)                                                \
                    sum += a[at(order, form, lda, i, k)] * a[at(order, form, lda, j, k)];          \
                *target = VALUE(Type, alpha) * sum +                                               \
                          scaled_##letter(VALUE(Type, beta), *target);                             \
            }                                                                                      \
    }

#define AS_GIVEN(Type, factor) (factor)
#define THERE(Type, factor) (*(const Type *)(factor))
DEFINE_FOR(s, float, float, AS_GIVEN, same_s)
DEFINE_FOR(d, double, double, AS_GIVEN, same_d)
DEFINE_FOR(c, float _Complex, const void *, THERE, conjugated_c)
DEFINE_FOR(z, double _Complex, const void *, THERE, conjugated_z)

#define DEFINE_DOT(name, letter, Type)                                                             \
    static Type plain_##name(Integer n, const Type *x, Integer dx, const Type *y, Integer dy) {    \
        return sum_##letter(n, x, dx, y, dy, AS_IT_IS);                                            \
    }
#define DEFINE_COMPLEX_DOT(name, letter, Type, form)                                               \
    static void plain_##name(Integer n, const Type *x, Integer dx, const Type *y, Integer dy,      \
                             Type *sum) {                                                          \
        *sum = sum_##letter(n, x, dx, y, dy, form);                                                \
    }
DEFINE_DOT(sdot, s, float)
DEFINE_DOT(ddot, d, double)
DEFINE_COMPLEX_DOT(cdotu_sub, c, float _Complex, AS_IT_IS)
DEFINE_COMPLEX_DOT(zdotu_sub, z, double _Complex, AS_IT_IS)
DEFINE_COMPLEX_DOT(cdotc_sub, c, float _Complex, CONJUGATED)
DEFINE_COMPLEX_DOT(zdotc_sub, z, double _Complex, CONJUGATED)

/* Nothing calls it: NumPy's library that could is opened only after an FMU has brought OpenBLAS. */
static void plain_missing(void) {
    fputs("sensor-fmus: a function of LAPACK is called, and this FMU carries none\n", stderr);
    abort();
}

#define ADDRESS(name, number, function) (void *)plain_##function,
__attribute__((used, visibility("hidden"))) void *sensor_fmus_blas[COUNT] = {NAMES(ADDRESS)};

#define JUMP(name, number, function)                                                               \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            "jmpq *sensor_fmus_blas+8*" #number "(%rip)\n");
#define EACH_JUMP NAMES(JUMP)
EACH_JUMP

#define TEXT(name, number, function) #name,
static const char *const names[COUNT] = {NAMES(TEXT)};

/* For the build, which makes sure that nothing here is called. */
__attribute__((visibility("default"))) int sensor_fmus_products(void) { return products; }

/* Has the functions of an open library called from now on; how many it has of those that are. */
__attribute__((visibility("default"))) int sensor_fmus_lend(void *library) {
    int found = 0;
    for (int k = 0; k < COUNT; k++) {
        void *function = dlsym(library, names[k]);
        if (function) __atomic_store_n(&sensor_fmus_blas[k], function, __ATOMIC_RELEASE);
        found += function != NULL;
    }
    return found;
}
