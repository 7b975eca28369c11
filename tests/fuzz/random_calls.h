/* What random calls have in common, whatever the version of FMI: chance, odd values, a bad end. */
#ifndef SENSOR_FMUS_RANDOM_CALLS_H
#define SENSOR_FMUS_RANDOM_CALLS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 2048 };

static long messages, errors, steps, call_number;
static const char *called = "nothing";

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "call %ld, %s: %s\n", call_number, called, what);
    exit(1);
}

/* What the last call was made with, for a call that hangs. */
static char last[PATH + 64] = "hangs";

static void end_hanging(int signal) {
    (void)signal;
    fail(last);
}

/* ---- chance (splitmix64) ---- */

static uint64_t chance;

static uint64_t draw(void) {
    uint64_t x = chance += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static unsigned below(unsigned limit) { return limit ? (unsigned)(draw() % limit) : 0; }
static int one_in(unsigned n) { return below(n) == 0; }

#define ANY(array) ((array)[below(sizeof(array) / sizeof *(array))])

static double any_real(void) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e18, 4e9, 5e-324, -1.0};
    static const double usual[] = {0.0, 0.0, 1.0, 1.0, 0.5, 0.1, 2.0, 3.25, 0.01, 10.0};
    return one_in(12) ? ANY(odd) : ANY(usual);
}

static int any_integer(void) {
    static const int odd[] = {INT32_MAX, INT32_MIN, -1, 1 << 20};
    return one_in(12) ? ANY(odd) : (int)below(5);
}

static const char *any_string(void) {
    static char longest[70000];
    if (!longest[0]) memset(longest, 'x', sizeof longest - 1);
    const char *strings[] = {"",    "here",     "one/more",      "demo",    "%n%s%d",
                             NULL,  "\xff\xfe", "/proc/nowhere", "a\nb\tc", longest,
                             "yard", "OS0-128"};
    return ANY(strings);
}

static double any_step(void) {
    static const double odd[] = {0.0, -0.1, NAN, INFINITY, 1e-300};
    static const double usual[] = {0.1, 0.1, 0.01, 0.25, 1.0};
    return one_in(15) ? ANY(odd) : ANY(usual);
}

#endif
