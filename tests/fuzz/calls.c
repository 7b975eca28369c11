/* Calls of FMI 2.0 in random order with random arguments, good and bad, on several instances of
 * several FMUs in one process. For Linux.
 *
 *   calls <seed> <calls> <file>
 *
 * The file tells of each FMU: library, GUID, resources; for Reals, Integers, Booleans and Strings
 * the first value reference and how many there are, and then how many of them are set from the
 * start, with value reference and value of each. What is wrong ends the process: an answer that is
 * no status, an error without a word to the host, a text that cannot be read. What reads or writes
 * foreign memory is found by the address sanitizer, with which this and the FMUs' libraries are
 * compiled where the compiler has it.
 *
 * What is set from the start gives the FMU much to remember and makes its frames small: rays are
 * the same code in any number, and frames of the usual size would take all the time. A few
 * instances go without. Random values are set over it.
 *
 * At the end come the sums, and for each FMU and function how often it gave OK and how often not. */
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fmi2FunctionTypes.h"
#include "fmi2TypesPlatform.h"
#include "random_calls.h"

enum { FMU_LIMIT = 32, INSTANCES = 3, STATES = 3, VALUES = 12, SECONDS = 120 };
enum { SETTINGS = 64, FUNCTIONS = 32 };

/* Value references of one type. */
struct range {
    unsigned first;
    unsigned count;
};

enum type { REAL, INTEGER, BOOLEAN, STRING, TYPES };

/* What a function answered. */
struct tally {
    const char *function;
    long good, refused;
};

struct fmu {
    char library[PATH], guid[64], resources[PATH];
    struct range ranges[TYPES];
    struct settings {
        size_t count;
        fmi2ValueReference references[SETTINGS];
        fmi2Real reals[SETTINGS];
        fmi2Integer integers[SETTINGS];
        char texts[SETTINGS][64];
    } settings[TYPES];
    void *handle;
    struct tally tallies[FUNCTIONS];
};

struct instance {
    struct fmu *fmu;
    fmi2Component component; /* kept when it was freed: calls on freed ones are tried, too */
    int alive;
    double time;
    fmi2FMUstate states[STATES];
};

static struct fmu fmus[FMU_LIMIT];
static unsigned fmu_count;
static struct instance instances[FMU_LIMIT * INSTANCES];
/* ---- what the host gets ---- */

static void take_message(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status,
                         fmi2String category, fmi2String format, ...) {
    static char text[1 << 18];
    va_list arguments;
    if (environment != (void *)&messages) fail("a message to somebody else");
    if (!name || !category || !format || status > fmi2Fatal) fail("a message that is none");
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    messages++;
}

static const fmi2CallbackFunctions callbacks = {take_message, calloc, free, NULL, &messages};

static void count(struct fmu *fmu, int good) {
    struct tally *tally = fmu->tallies;
    while (tally->function && strcmp(tally->function, called)) tally++;
    tally->function = called;
    *(good ? &tally->good : &tally->refused) += 1;
}

static void check(const struct instance *instance, fmi2Status status, long told) {
    count(instance->fmu, status == fmi2OK || status == fmi2Warning);
    if (status != fmi2OK && status != fmi2Warning && status != fmi2Discard && status != fmi2Error)
        fail("an answer that is no status");
    if (!instance->alive && status != fmi2Error) fail("a freed instance answers");
    if (instance->alive && status == fmi2Error && messages == told) fail("an error without a word");
    errors += status == fmi2Error;
}

/* ---- calls ---- */

static void *symbol(const struct fmu *fmu, const char *name) {
    void *address = dlsym(fmu->handle, name);
    called = name;
    if (!address) fail("there is no such function");
    return address;
}

#define FUNCTION(instance, name) ((name##TYPE *)symbol((instance)->fmu, #name))
#define CALL(instance, name, ...) FUNCTION(instance, name)((instance)->component, ##__VA_ARGS__)

static void prepare(struct instance *instance) {
    const struct settings *all = instance->fmu->settings;
    if (one_in(1000)) return;
    int good = 1;
#define SET(type, name, values) \
    CALL(instance, name, all[type].references, all[type].count, values) == fmi2OK
    fmi2String texts[SETTINGS];
    for (size_t i = 0; i < all[STRING].count; i++) texts[i] = all[STRING].texts[i];
    good &= SET(REAL, fmi2SetReal, all[REAL].reals);
    good &= SET(INTEGER, fmi2SetInteger, all[INTEGER].integers);
    good &= SET(BOOLEAN, fmi2SetBoolean, all[BOOLEAN].integers);
    good &= SET(STRING, fmi2SetString, texts);
    if (!good) fail("good settings are refused");
}

static void create(struct instance *instance) {
    struct fmu *fmu = instance->fmu;
    const char *guid = one_in(20) ? "wrong" : fmu->guid;
    const char *resources = one_in(20) ? any_string() : fmu->resources;
    const char *name = one_in(20) ? any_string() : "fuzzed";
    fmi2Component component = FUNCTION(instance, fmi2Instantiate)(
        name, one_in(30) ? fmi2ModelExchange : fmi2CoSimulation, guid, resources, &callbacks,
        fmi2False, one_in(2));
    count(fmu, component != NULL);
    if (!component) return;
    *instance = (struct instance){.fmu = fmu, .component = component, .alive = 1};
    prepare(instance);
}

static void end(struct instance *instance) {
    CALL(instance, fmi2FreeInstance);
    count(instance->fmu, 1);
    instance->alive = 0;
}

static size_t any_references(const struct instance *instance, enum type type,
                             fmi2ValueReference references[]) {
    size_t count = below(VALUES);
    for (size_t i = 0; i < count; i++) {
        struct range range = instance->fmu->ranges[one_in(60) ? below(TYPES) : type];
        references[i] = one_in(200) ? (fmi2ValueReference)draw() : range.first + below(range.count);
    }
    return count;
}

static fmi2Status set(struct instance *instance) {
    fmi2ValueReference references[VALUES];
    enum type type = below(TYPES);
    size_t count = any_references(instance, type, references);
    fmi2Real reals[VALUES];
    fmi2Integer integers[VALUES];
    fmi2String strings[VALUES];
    for (size_t i = 0; i < VALUES; i++) {
        reals[i] = any_real();
        integers[i] = any_integer();
        strings[i] = any_string();
    }
    int none = one_in(50);
    switch (type) {
    case REAL: return CALL(instance, fmi2SetReal, references, count, none ? NULL : reals);
    case INTEGER: return CALL(instance, fmi2SetInteger, references, count, none ? NULL : integers);
    case BOOLEAN: return CALL(instance, fmi2SetBoolean, references, count, none ? NULL : integers);
    default: return CALL(instance, fmi2SetString, references, count, none ? NULL : strings);
    }
}

static fmi2Status get(struct instance *instance) {
    fmi2ValueReference references[VALUES];
    enum type type = below(TYPES);
    size_t count = any_references(instance, type, references);
    fmi2Real reals[VALUES];
    fmi2Integer integers[VALUES];
    fmi2String strings[VALUES];
    if (one_in(50)) return CALL(instance, fmi2GetReal, NULL, count, reals);
    switch (type) {
    case REAL: return CALL(instance, fmi2GetReal, references, count, reals);
    case INTEGER: return CALL(instance, fmi2GetInteger, references, count, integers);
    case BOOLEAN: return CALL(instance, fmi2GetBoolean, references, count, integers);
    default: break;
    }
    fmi2Status status = CALL(instance, fmi2GetString, references, count, strings);
    size_t length = 0;
    for (size_t i = 0; status == fmi2OK && i < count; i++) length += strlen(strings[i]);
    return length > (1u << 30) ? fmi2Fatal : status;
}

static fmi2Status step(struct instance *instance) {
    double time = one_in(15) ? any_real() : instance->time, length = any_step();
    snprintf(last, sizeof last, "hangs: %s, time %g, step %g", instance->fmu->library, time, length);
    fmi2Status status = CALL(instance, fmi2DoStep, time, length, fmi2True);
    if (status == fmi2OK) instance->time = time + length;
    steps += status == fmi2OK;
    return status;
}

/* A state through its bytes, some of which may be changed on the way. */
static fmi2Status carry(struct instance *instance, fmi2FMUstate *from, fmi2FMUstate *to) {
    size_t size = 0;
    fmi2Status status = CALL(instance, fmi2SerializedFMUstateSize, *from, &size);
    if (status != fmi2OK) return status;
    fmi2Byte *bytes = malloc(size + 1);
    status = CALL(instance, fmi2SerializeFMUstate, *from, bytes, one_in(10) ? below(size) : size);
    if (status == fmi2OK && one_in(3)) bytes[below((unsigned)size)] ^= (char)(1 + below(255));
    if (status == fmi2OK)
        status = CALL(instance, fmi2DeSerializeFMUstate, bytes,
                      one_in(10) ? below((unsigned)size) : size, to);
    free(bytes);
    return status;
}

static fmi2Status use_state(struct instance *instance) {
    fmi2FMUstate *state = &instance->states[below(STATES)];
    fmi2FMUstate foreign = (fmi2FMUstate)(uintptr_t)draw();
    if (one_in(30)) return CALL(instance, fmi2SetFMUstate, foreign);
    switch (below(9)) {
    case 0:
    case 1:
    case 2: return CALL(instance, fmi2GetFMUstate, state);
    case 3:
    case 4: return CALL(instance, fmi2SetFMUstate, *state);
    case 5: return CALL(instance, fmi2FreeFMUstate, state);
    default: return carry(instance, state, &instance->states[below(STATES)]);
    }
}

static fmi2Status ask(struct instance *instance) {
    fmi2StatusKind kind = below(6);
    fmi2Real time;
    fmi2Boolean truth;
    fmi2Integer number;
    fmi2String text;
    fmi2String category = any_string();
    int none = one_in(10);
    switch (below(5)) {
    case 0: return CALL(instance, fmi2GetRealStatus, kind, none ? NULL : &time);
    case 1: return CALL(instance, fmi2GetBooleanStatus, kind, none ? NULL : &truth);
    case 2: return CALL(instance, fmi2GetIntegerStatus, kind, none ? NULL : &number);
    case 3: return CALL(instance, fmi2GetStringStatus, kind, none ? NULL : &text);
    default: return CALL(instance, fmi2SetDebugLogging, one_in(2), one_in(2), &category);
    }
}

/* Without what was set: bad parameters are refused when the run begins. */
static fmi2Status start_anew(struct instance *instance) {
    if (CALL(instance, fmi2Reset) == fmi2OK) prepare(instance);
    instance->time = 0.0;
    CALL(instance, fmi2SetupExperiment, 0, 0.0, 0.0, 0, 0.0);
    CALL(instance, fmi2EnterInitializationMode);
    return CALL(instance, fmi2ExitInitializationMode);
}

/* Toward stepping, mostly: or few walks would come far. */
static fmi2Status live_on(struct instance *instance) {
    if (one_in(4)) return start_anew(instance);
    switch (below(9)) {
    case 0:
    case 1:
        instance->time = one_in(10) ? any_real() : 0.0;
        return CALL(instance, fmi2SetupExperiment, 0, 0.0, instance->time, 0, 0.0);
    case 2:
    case 3: return CALL(instance, fmi2EnterInitializationMode);
    case 4:
    case 5:
    case 6: return CALL(instance, fmi2ExitInitializationMode);
    case 7: return one_in(3) ? CALL(instance, fmi2Reset) : CALL(instance, fmi2CancelStep);
    default: return one_in(3) ? CALL(instance, fmi2Terminate) : CALL(instance, fmi2EnterEventMode);
    }
}

static void call_something(void) {
    struct instance *instance = &instances[below(fmu_count * INSTANCES)];
    snprintf(last, sizeof last, "hangs: %s", instance->fmu->library);
    if (!instance->alive && one_in(3)) {
        create(instance);
        return;
    }
    if (one_in(100)) {
        end(instance);
        return;
    }
    long told = messages;
    unsigned kind = below(10);
    fmi2Status status = kind < 3   ? step(instance)
                        : kind < 5 ? set(instance)
                        : kind < 6 ? get(instance)
                        : kind < 7 ? use_state(instance)
                        : kind < 8 ? ask(instance)
                                   : live_on(instance);
    check(instance, status, told);
}

static int read_type(FILE *file, enum type type, struct range *range, struct settings *set) {
    if (fscanf(file, "%u %u %zu", &range->first, &range->count, &set->count) != 3) return 0;
    int good = set->count <= SETTINGS;
    for (size_t i = 0; good && i < set->count; i++) {
        good = fscanf(file, "%u", &set->references[i]) == 1;
        if (type == REAL) good = good && fscanf(file, "%lf", &set->reals[i]) == 1;
        else if (type == STRING) good = good && fscanf(file, "%63s", set->texts[i]) == 1;
        else good = good && fscanf(file, "%d", &set->integers[i]) == 1;
    }
    return good;
}

static void read_fmus(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("there is no list of FMUs");
    for (struct fmu *fmu = fmus; fmu_count < FMU_LIMIT; fmu++, fmu_count++) {
        if (fscanf(file, "%2047s %63s %2047s", fmu->library, fmu->guid, fmu->resources) != 3) break;
        for (enum type type = 0; type < TYPES; type++)
            if (!read_type(file, type, &fmu->ranges[type], &fmu->settings[type]))
                fail("the list of FMUs is broken");
        fmu->handle = dlopen(fmu->library, RTLD_NOW | RTLD_LOCAL);
        if (!fmu->handle) fail(dlerror());
        for (int i = 0; i < INSTANCES; i++) instances[fmu_count * INSTANCES + i].fmu = fmu;
    }
    fclose(file);
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: calls <seed> <calls> <file>");
    chance = strtoull(arguments[1], NULL, 10);
    long calls = strtol(arguments[2], NULL, 10);
    read_fmus(arguments[3]);
    signal(SIGALRM, end_hanging);
    for (call_number = 0; call_number < calls; call_number++) {
        alarm(SECONDS); /* a call that hangs ends the process */
        call_something();
    }
    for (unsigned i = 0; i < fmu_count * INSTANCES; i++)
        if (instances[i].alive) end(&instances[i]);
    printf("%ld calls, %ld errors, %ld messages, %ld steps\n", calls, errors, messages, steps);
    for (unsigned i = 0; i < fmu_count; i++)
        for (const struct tally *t = fmus[i].tallies; t->function; t++)
            printf("%u %s %ld %ld\n", i, t->function, t->good, t->refused);
    return 0;
}
