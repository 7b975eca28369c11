/* A master for FMI 3.0: sets arrays, steps with Event Mode and early return, gets arrays. For Linux.
 *
 *   master3 <library> <token> <resources> <event mode> <early return> <steps> <size>
 *           <input> <input size> <output> <output size> <clock> <binary, or -1>
 *
 * Before, it reads what is to be set from the standard input, a variable a line: letter of the type
 * (R I C B S), reference, size, values. In each step it sets the input, as sines of the time, and
 * prints the end of the step, whether it ended early, whether the clock ticks, the output as
 * hexadecimal numbers, and the number of bytes of the binary with their sum. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi3FunctionTypes.h"

static void *library;
static fmi3Instance instance;

static void fail(const char *what) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (!found) fail(name);
    return found;
}

#define CALL(name, ...)                                                                      \
    if (((name##TYPE *)function(#name))(instance, ##__VA_ARGS__) > fmi3Warning) fail(#name)

static void take(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                 fmi3String text) {
    (void)environment, (void)category;
    if (status > fmi3Warning) fprintf(stderr, "%s\n", text);
}

/* Values are in memory of exactly their size, so that a sanitizer sees what is read beside it. */
static void set_from(char kind, fmi3ValueReference reference, size_t size) {
    char word[256];
    fmi3Float64 *reals = malloc(size * sizeof *reals);
    fmi3Int32 *integers = malloc(size * sizeof *integers);
    fmi3Int64 *choices = malloc(size * sizeof *choices);
    fmi3Boolean *truths = malloc(size * sizeof *truths);
    fmi3String *texts = malloc(size * sizeof *texts);
    char(*memory)[256] = malloc(size * sizeof *memory);
    for (size_t i = 0; i < size; i++) {
        if (scanf("%255s", word) != 1) fail("reading a value");
        reals[i] = strtod(word, NULL);
        integers[i] = (fmi3Int32)reals[i];
        choices[i] = (fmi3Int64)reals[i];
        truths[i] = reals[i] != 0.0;
        texts[i] = strcpy(memory[i], word);
    }
    switch (kind) {
    case 'R': CALL(fmi3SetFloat64, &reference, 1, reals, size); break;
    case 'I': CALL(fmi3SetInt32, &reference, 1, integers, size); break;
    case 'C': CALL(fmi3SetInt64, &reference, 1, choices, size); break;
    case 'B': CALL(fmi3SetBoolean, &reference, 1, truths, size); break;
    default: CALL(fmi3SetString, &reference, 1, texts, size); break;
    }
    free(reals), free(integers), free(choices), free(truths), free(texts), free(memory);
}

/* Goes through Event Mode; whether the clock ticks in it. */
static bool handle_event(fmi3ValueReference clock) {
    bool tick, after, no[5];
    double next;
    CALL(fmi3EnterEventMode);
    CALL(fmi3GetClock, &clock, 1, &tick);
    CALL(fmi3UpdateDiscreteStates, &no[0], &no[1], &no[2], &no[3], &no[4], &next);
    CALL(fmi3GetClock, &clock, 1, &after);
    CALL(fmi3EnterStepMode);
    if (after || no[0] || no[1]) fail("the end of an event");
    return tick;
}

static void print_bytes(long binary) {
    if (binary < 0) return;
    fmi3ValueReference reference = (fmi3ValueReference)binary;
    size_t size;
    fmi3Binary bytes;
    unsigned long sum = 0;
    CALL(fmi3GetBinary, &reference, 1, &size, &bytes, 1);
    for (size_t i = 0; i < size; i++) sum += bytes[i];
    printf(" %zu %lu", size, sum);
}

int main(int count, char **arguments) {
    if (count != 14) return 2;
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    bool events = atoi(arguments[4]), early_allowed = atoi(arguments[5]);
    long steps = atol(arguments[6]), binary = atol(arguments[13]);
    double size = atof(arguments[7]), time = 0.0;
    fmi3ValueReference input = (unsigned)atol(arguments[8]), output = (unsigned)atol(arguments[10]);
    fmi3ValueReference clock = (unsigned)atol(arguments[12]);
    size_t in_size = (size_t)atol(arguments[9]), out_size = (size_t)atol(arguments[11]);
    double *in = malloc(in_size * sizeof *in), *out = malloc(out_size * sizeof *out);
    instance = ((fmi3InstantiateCoSimulationTYPE *)function("fmi3InstantiateCoSimulation"))(
        "sensor", arguments[2], arguments[3], false, false, events, early_allowed, NULL, 0, NULL,
        take, NULL);
    if (!instance) fail("making an instance");
    char kind;
    unsigned reference;
    size_t width;
    while (scanf(" %c %u %zu", &kind, &reference, &width) == 3) set_from(kind, reference, width);
    CALL(fmi3EnterInitializationMode, false, 0.0, 0.0, false, 0.0);
    CALL(fmi3ExitInitializationMode);
    if (events) CALL(fmi3EnterStepMode);
    for (long k = 0; k < steps; k++) {
        bool event, terminate, early;
        for (size_t i = 0; i < in_size; i++) in[i] = sin(3.0 * time + (double)i);
        CALL(fmi3SetFloat64, &input, 1, in, in_size);
        CALL(fmi3DoStep, time, size, true, &event, &terminate, &early, &time);
        if (terminate || (event && !events)) fail("an answer of a step");
        bool tick = event && handle_event(clock);
        CALL(fmi3GetFloat64, &output, 1, out, out_size);
        printf("%a %d %d", time, early, tick);
        for (size_t i = 0; i < out_size; i++) printf(" %a", out[i]);
        print_bytes(binary);
        printf("\n");
    }
    CALL(fmi3Terminate);
    ((fmi3FreeInstanceTYPE *)function("fmi3FreeInstance"))(instance);
    free(in);
    free(out);
    return 0;
}
