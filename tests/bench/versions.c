/* What a round costs in FMI 2.0 and in FMI 3.0: set inputs, step, get outputs. For Linux.
 *
 *   versions <rounds> <library 2> <guid> <resources> <library 3> <token> <resources>
 *            <sets> <gets> then for each of them: <size> <reference 3> <references 2 ...>
 *
 * Prints nanoseconds of processor time a round, the best of fifty turns: FMI 2.0 with all Reals in
 * one call, FMI 3.0 with all arrays in one call, FMI 2.0 with a call for each group of Reals,
 * FMI 3.0 with a call for each array. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fmi2FunctionTypes.h"
#include "fmi3FunctionTypes.h"

enum { GROUPS = 16, REALS = 128, TURNS = 50 };
#define STEP 1e-3

struct group {
    size_t size, first; /* `first` among all values */
    unsigned array;
};

struct side {
    size_t groups, reals;
    struct group group[GROUPS];
    unsigned arrays[GROUPS], scalars[REALS];
    double values[REALS];
};

static struct side in, out;
static char **word;

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) exit((fprintf(stderr, "no %s\n", name), 1));
    return found;
}

static void ignore(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c,
                   fmi2String t, ...) {
    (void)e, (void)n, (void)c;
    if (s > fmi2Warning) fprintf(stderr, "%s\n", t);
}

static void ignore3(fmi3InstanceEnvironment e, fmi3Status s, fmi3String c, fmi3String t) {
    (void)e, (void)c;
    if (s > fmi3Warning) fprintf(stderr, "%s\n", t);
}

static void read_side(struct side *side) {
    for (size_t g = 0; g < side->groups; g++) {
        struct group *group = &side->group[g];
        group->size = strtoul(*word++, NULL, 10);
        group->array = side->arrays[g] = (unsigned)strtoul(*word++, NULL, 10);
        group->first = side->reals;
        for (size_t i = 0; i < group->size; i++)
            side->scalars[side->reals++] = (unsigned)strtoul(*word++, NULL, 10);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

#define MUST(call) \
    if ((int)(call) > 1) exit((fprintf(stderr, "%s failed\n", #call), 1))

int main(int count, char **arguments) {
    if (count < 10) return 2;
    long rounds = strtol(arguments[1], NULL, 10);
    void *two = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    void *three = dlopen(arguments[5], RTLD_NOW | RTLD_LOCAL);
    if (!two || !three) exit((fprintf(stderr, "%s\n", dlerror()), 1));
    in.groups = strtoul(arguments[8], NULL, 10);
    out.groups = strtoul(arguments[9], NULL, 10);
    word = arguments + 10;
    read_side(&in);
    read_side(&out);
    const fmi2CallbackFunctions callbacks = {ignore, calloc, free, NULL, NULL};
    fmi2Component a = ((fmi2InstantiateTYPE *)find(two, "fmi2Instantiate"))(
        "bench", fmi2CoSimulation, arguments[3], arguments[4], &callbacks, 0, 0);
    fmi3Instance b =
        ((fmi3InstantiateCoSimulationTYPE *)find(three, "fmi3InstantiateCoSimulation"))(
            "bench", arguments[6], arguments[7], 0, 0, 0, 0, NULL, 0, NULL, ignore3, NULL);
    if (!a || !b) return 1;
    MUST(((fmi2SetupExperimentTYPE *)find(two, "fmi2SetupExperiment"))(a, 0, 0, 0, 0, 0));
    MUST(((fmi2EnterInitializationModeTYPE *)find(two, "fmi2EnterInitializationMode"))(a));
    MUST(((fmi2ExitInitializationModeTYPE *)find(two, "fmi2ExitInitializationMode"))(a));
    MUST(((fmi3EnterInitializationModeTYPE *)find(three, "fmi3EnterInitializationMode"))(
        b, 0, 0, 0, 0, 0));
    MUST(((fmi3ExitInitializationModeTYPE *)find(three, "fmi3ExitInitializationMode"))(b));
    fmi2SetRealTYPE *set2 = find(two, "fmi2SetReal");
    fmi2GetRealTYPE *get2 = find(two, "fmi2GetReal");
    fmi2DoStepTYPE *step2 = find(two, "fmi2DoStep");
    fmi3SetFloat64TYPE *set3 = find(three, "fmi3SetFloat64");
    fmi3GetFloat64TYPE *get3 = find(three, "fmi3GetFloat64");
    fmi3DoStepTYPE *step3 = find(three, "fmi3DoStep");
    MUST(get2(a, in.scalars, in.reals, in.values)); /* what they start with is what is set */
    double best[4] = {1e300, 1e300, 1e300, 1e300}, time2 = 0.0, time3 = 0.0;
    for (int turn = 0; turn < TURNS * 4; turn++) {
        double begin = now();
        for (long k = 0; k < rounds; k++) {
            bool event, terminate, early;
            double last;
            if (turn % 4 == 0) {
                MUST(set2(a, in.scalars, in.reals, in.values));
            } else if (turn % 4 == 1) {
                MUST(set3(b, in.arrays, in.groups, in.values, in.reals));
            } else {
                for (size_t g = 0; g < in.groups; g++) {
                    struct group *of = &in.group[g];
                    if (turn % 4 == 2) {
                        MUST(set2(a, in.scalars + of->first, of->size, in.values + of->first));
                    } else {
                        MUST(set3(b, &of->array, 1, in.values + of->first, of->size));
                    }
                }
            }
            if (turn % 2 == 0) {
                MUST(step2(a, time2, STEP, 1));
                time2 += STEP;
            } else {
                MUST(step3(b, time3, STEP, true, &event, &terminate, &early, &last));
                time3 += STEP;
            }
            if (turn % 4 == 0) {
                MUST(get2(a, out.scalars, out.reals, out.values));
            } else if (turn % 4 == 1) {
                MUST(get3(b, out.arrays, out.groups, out.values, out.reals));
            } else {
                for (size_t g = 0; g < out.groups; g++) {
                    struct group *of = &out.group[g];
                    if (turn % 4 == 2) {
                        MUST(get2(a, out.scalars + of->first, of->size, out.values + of->first));
                    } else {
                        MUST(get3(b, &of->array, 1, out.values + of->first, of->size));
                    }
                }
            }
        }
        double cost = (now() - begin) / (double)rounds;
        if (cost < best[turn % 4]) best[turn % 4] = cost;
    }
    printf("%.1f %.1f %.1f %.1f\n", best[0], best[1], best[2], best[3]);
    return 0;
}
