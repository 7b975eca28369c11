/* Calls of FMI 3.0 in random order with random arguments, good and bad, on several instances of
 * several FMUs in one process. For Linux.
 *
 *   calls3 <seed> <calls> <file>
 *
 * The file tells of each FMU: library, token, resources, number of variables; then of each variable
 * in the order of references: a letter for its type (T time, R Float64, I Int32, C Enumeration,
 * B Boolean, S String, M message, F frame, K clock), its size, and how many values it is set to from
 * the start, with these. What is wrong ends the process, as in calls.c. Values are in memory of
 * exactly their size, so that the address sanitizer sees what is read or written beside it. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "fmi3FunctionTypes.h"
#include "random_calls.h"

enum { FMU_LIMIT = 32, INSTANCES = 3, STATES = 3, VARIABLES = 1024, SECONDS = 120, FUNCTIONS = 64 };
enum { SOME = 6, TEXT = 64 };

struct variable {
    char kind;
    size_t size, set;
    double *reals;
    char (*texts)[TEXT];
};

struct tally {
    const char *function;
    long good, refused;
};

struct fmu {
    char library[PATH], token[64], resources[PATH];
    struct variable variables[VARIABLES];
    unsigned count;
    void *handle;
    struct tally tallies[FUNCTIONS];
};

struct instance {
    struct fmu *fmu;
    fmi3Instance component; /* kept when it was freed: calls on freed ones are tried, too */
    int alive, events;
    double time;
    fmi3FMUState states[STATES];
};

static struct fmu fmus[FMU_LIMIT];
static unsigned fmu_count;
static struct instance instances[FMU_LIMIT * INSTANCES];

/* ---- what the host gets ---- */

static void take_message(fmi3InstanceEnvironment environment, fmi3Status status,
                         fmi3String category, fmi3String message) {
    if (environment != (void *)&messages) fail("a message to somebody else");
    if (!category || !message || status > fmi3Fatal) fail("a message that is none");
    if (strlen(message) > 1 << 24) fail("a message without end");
    messages++;
}

static void count(struct fmu *fmu, int good) {
    struct tally *tally = fmu->tallies;
    while (tally->function && strcmp(tally->function, called)) tally++;
    tally->function = called;
    *(good ? &tally->good : &tally->refused) += 1;
}

static void check(const struct instance *instance, fmi3Status status, long told) {
    count(instance->fmu, status == fmi3OK || status == fmi3Warning);
    if (status != fmi3OK && status != fmi3Warning && status != fmi3Discard && status != fmi3Error)
        fail("an answer that is no status");
    if (!instance->alive && status != fmi3Error) fail("a freed instance answers");
    if (instance->alive && status == fmi3Error && messages == told) fail("an error without a word");
    errors += status == fmi3Error;
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

/* Values of one kind for a call, in memory of their own. */
#define FILL(type, value)                                                                    \
    do {                                                                                     \
        type *all = memory;                                                                  \
        for (size_t i = 0; i < count; i++) all[i] = (type)(value);                           \
    } while (0)

static size_t width_of(char kind) {
    switch (kind) {
    case 'T':
    case 'R': return sizeof(fmi3Float64);
    case 'I': return sizeof(fmi3Int32);
    case 'C': return sizeof(fmi3Int64);
    case 'B':
    case 'K': return sizeof(bool);
    default: return sizeof(void *);
    }
}

static void *any_values(char kind, size_t count) {
    void *memory = malloc(count * width_of(kind) + !count);
    switch (kind) {
    case 'T':
    case 'R': FILL(fmi3Float64, any_real()); break;
    case 'I': FILL(fmi3Int32, any_integer()); break;
    case 'C': FILL(fmi3Int64, one_in(40) ? (int64_t)draw() : any_integer()); break;
    case 'B':
    case 'K': FILL(bool, one_in(2)); break;
    default: FILL(const char *, any_string()); break;
    }
    return memory;
}

static fmi3Status set_values(struct instance *instance, char kind, const fmi3ValueReference r[],
                             size_t n, const void *values, size_t count) {
    switch (kind) {
    case 'T':
    case 'R': return CALL(instance, fmi3SetFloat64, r, n, values, count);
    case 'I': return CALL(instance, fmi3SetInt32, r, n, values, count);
    case 'C': return CALL(instance, fmi3SetInt64, r, n, values, count);
    case 'B': return CALL(instance, fmi3SetBoolean, r, n, values, count);
    case 'K': return CALL(instance, fmi3SetClock, r, n, values);
    default: return CALL(instance, fmi3SetString, r, n, values, count);
    }
}

static void prepare(struct instance *instance) {
    struct fmu *fmu = instance->fmu;
    if (one_in(1000)) return;
    for (fmi3ValueReference r = 0; r < fmu->count; r++) {
        struct variable *own = &fmu->variables[r];
        if (!own->set) continue;
        size_t count = own->size;
        void *memory = malloc(count * width_of(own->kind));
        for (size_t i = 0; i < count; i++) {
            if (own->kind == 'R') ((fmi3Float64 *)memory)[i] = own->reals[i];
            if (own->kind == 'I') ((fmi3Int32 *)memory)[i] = (fmi3Int32)own->reals[i];
            if (own->kind == 'C') ((fmi3Int64 *)memory)[i] = (fmi3Int64)own->reals[i];
            if (own->kind == 'B') ((bool *)memory)[i] = own->reals[i] != 0.0;
            if (own->kind == 'S') ((fmi3String *)memory)[i] = own->texts[i];
        }
        if (set_values(instance, own->kind, &r, 1, memory, count) != fmi3OK)
            fail("good settings are refused");
        free(memory);
    }
}

static void create(struct instance *instance) {
    struct fmu *fmu = instance->fmu;
    const char *token = one_in(20) ? "wrong" : fmu->token;
    const char *resources = one_in(20) ? any_string() : fmu->resources;
    const char *name = one_in(20) ? any_string() : "fuzzed";
    int events = one_in(2);
    const fmi3ValueReference needed[] = {1};
    fmi3Instance component =
        one_in(30) ? FUNCTION(instance, fmi3InstantiateModelExchange)(
                         name, token, resources, false, one_in(2), &messages, take_message)
                   : FUNCTION(instance, fmi3InstantiateCoSimulation)(
                         name, token, resources, false, one_in(2), events, one_in(2), needed,
                         one_in(30), &messages, take_message, NULL);
    count(fmu, component != NULL);
    if (!component) return;
    *instance = (struct instance){
        .fmu = fmu, .component = component, .alive = 1, .events = events};
    prepare(instance);
}

static void end(struct instance *instance) {
    CALL(instance, fmi3FreeInstance);
    count(instance->fmu, 1);
    instance->alive = 0;
}

/* References of variables of one kind, now and then of another; returns their number and size. */
static size_t any_references(const struct instance *instance, char kind, fmi3ValueReference r[],
                             size_t *size) {
    const struct fmu *fmu = instance->fmu;
    size_t n = below(SOME);
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        r[i] = below(fmu->count);
        for (unsigned k = 0; k < fmu->count && !one_in(60); k++) {
            if (fmu->variables[r[i]].kind == kind) break;
            r[i] = (r[i] + 1) % fmu->count;
        }
        *size += fmu->variables[r[i]].size;
        if (one_in(200)) r[i] = (fmi3ValueReference)draw();
    }
    if (one_in(60)) *size = below(40);
    return n;
}

static const char KINDS[] = "RRRRICCBBSSMFK";

static fmi3Status set(struct instance *instance) {
    fmi3ValueReference r[SOME];
    char kind = KINDS[below(sizeof KINDS - 1)];
    size_t size, n = any_references(instance, kind, r, &size);
    fmi3Status status;
    if (kind == 'M' || kind == 'F') {
        size_t sizes[SOME];
        fmi3Binary bytes[SOME];
        fmi3Byte *own[SOME];
        for (size_t i = 0; i < SOME; i++) {
            sizes[i] = one_in(4) ? 0 : below(300);
            bytes[i] = own[i] = malloc(sizes[i] + 1);
            for (size_t k = 0; k < sizes[i]; k++) own[i][k] = (fmi3Byte)(one_in(3) ? draw() : 8);
            if (one_in(30)) bytes[i] = NULL;
        }
        status = CALL(instance, fmi3SetBinary, r, n, one_in(50) ? NULL : sizes, bytes, n);
        for (size_t i = 0; i < SOME; i++) free(own[i]);
        return status;
    }
    void *values = any_values(kind, size);
    status = set_values(instance, kind, r, n, one_in(50) ? NULL : values, size);
    free(values);
    return status;
}

static fmi3Status get_binary(struct instance *instance, const fmi3ValueReference r[], size_t n) {
    size_t sizes[SOME];
    fmi3Binary bytes[SOME];
    fmi3Status status = CALL(instance, fmi3GetBinary, r, n, sizes, bytes, one_in(60) ? 1 : n);
    unsigned sum = 0;
    for (size_t i = 0; status == fmi3OK && i < n; i++)
        for (size_t k = 0; k < sizes[i]; k++) sum += bytes[i][k];
    return sum == 1u << 31 ? fmi3Fatal : status;
}

static fmi3Status get(struct instance *instance) {
    fmi3ValueReference r[SOME];
    char kind = one_in(20) ? 'T' : KINDS[below(sizeof KINDS - 1)];
    size_t size, n = any_references(instance, kind, r, &size);
    if (kind == 'M' || kind == 'F') return get_binary(instance, r, n);
    if (one_in(50)) return CALL(instance, fmi3GetFloat64, NULL, n, NULL, size);
    void *values = any_values(kind, kind == 'K' ? n : size);
    fmi3Status status;
    switch (kind) {
    case 'T':
    case 'R': status = CALL(instance, fmi3GetFloat64, r, n, values, size); break;
    case 'I': status = CALL(instance, fmi3GetInt32, r, n, values, size); break;
    case 'C': status = CALL(instance, fmi3GetInt64, r, n, values, size); break;
    case 'B': status = CALL(instance, fmi3GetBoolean, r, n, values, size); break;
    case 'K': status = CALL(instance, fmi3GetClock, r, n, values); break;
    default: status = CALL(instance, fmi3GetString, r, n, values, size); break;
    }
    size_t length = 0;
    for (size_t i = 0; kind == 'S' && status == fmi3OK && i < size; i++)
        length += strlen(((fmi3String *)values)[i]);
    free(values);
    return length > 1u << 30 ? fmi3Fatal : status;
}

static fmi3Status step(struct instance *instance) {
    double time = one_in(15) ? any_real() : instance->time, length = any_step(), last_time = time;
    bool event = false, terminates, early;
    snprintf(last, sizeof last, "hangs: %s, time %g, step %g", instance->fmu->library, time, length);
    int none = one_in(30);
    fmi3Status status = CALL(instance, fmi3DoStep, time, length, true, none ? NULL : &event,
                             none ? NULL : &terminates, none ? NULL : &early, &last_time);
    if (status == fmi3OK || status == fmi3Warning) instance->time = last_time;
    steps += status == fmi3OK;
    return status;
}

/* A state through its bytes, some of which may be changed on the way. */
static fmi3Status carry(struct instance *instance, fmi3FMUState *from, fmi3FMUState *to) {
    size_t size = 0;
    fmi3Status status = CALL(instance, fmi3SerializedFMUStateSize, *from, &size);
    if (status != fmi3OK) return status;
    fmi3Byte *bytes = malloc(size + 1);
    status = CALL(instance, fmi3SerializeFMUState, *from, bytes, one_in(10) ? below((unsigned)size)
                                                                            : size);
    if (status == fmi3OK && one_in(3)) bytes[below((unsigned)size)] ^= (fmi3Byte)(1 + below(255));
    if (status == fmi3OK)
        status = CALL(instance, fmi3DeserializeFMUState, bytes,
                      one_in(10) ? below((unsigned)size) : size, to);
    free(bytes);
    return status;
}

static fmi3Status use_state(struct instance *instance) {
    fmi3FMUState *state = &instance->states[below(STATES)];
    if (one_in(30)) return CALL(instance, fmi3SetFMUState, (fmi3FMUState)(uintptr_t)draw());
    switch (below(9)) {
    case 0:
    case 1:
    case 2: return CALL(instance, fmi3GetFMUState, state);
    case 3:
    case 4: return CALL(instance, fmi3SetFMUState, *state);
    case 5: return CALL(instance, fmi3FreeFMUState, state);
    default: return carry(instance, state, &instance->states[below(STATES)]);
    }
}

static fmi3Status ask(struct instance *instance) {
    fmi3ValueReference r[2] = {below(instance->fmu->count), (fmi3ValueReference)draw()};
    fmi3Float64 reals[2];
    fmi3Float32 floats[2];
    fmi3UInt64 large[2];
    size_t number;
    fmi3String category = any_string();
    switch (below(8)) {
    case 0: return CALL(instance, fmi3SetDebugLogging, one_in(2), one_in(2), &category);
    case 1: return CALL(instance, fmi3GetFloat32, r, 2, floats, 2);
    case 2: return CALL(instance, fmi3GetUInt64, r, 2, large, 2);
    case 3: return CALL(instance, fmi3GetNumberOfVariableDependencies, r[0], &number);
    case 4: return CALL(instance, fmi3GetShiftDecimal, r, 1, reals);
    case 5: return CALL(instance, fmi3EnterConfigurationMode);
    case 6: return CALL(instance, fmi3GetNumberOfContinuousStates, &number);
    default: return CALL(instance, fmi3GetOutputDerivatives, r, 1, NULL, reals, 1);
    }
}

static fmi3Status start_anew(struct instance *instance) {
    if (CALL(instance, fmi3Reset) == fmi3OK) prepare(instance);
    instance->time = 0.0;
    CALL(instance, fmi3EnterInitializationMode, false, 0.0, 0.0, false, 0.0);
    fmi3Status status = CALL(instance, fmi3ExitInitializationMode);
    if (status == fmi3OK && instance->events) return CALL(instance, fmi3EnterStepMode);
    return status;
}

static fmi3Status update(struct instance *instance) {
    bool truths[5];
    double next;
    if (one_in(10))
        return CALL(instance, fmi3UpdateDiscreteStates, NULL, NULL, NULL, NULL, NULL, NULL);
    return CALL(instance, fmi3UpdateDiscreteStates, &truths[0], &truths[1], &truths[2], &truths[3],
                &truths[4], &next);
}

/* Toward stepping, mostly: or few walks would come far. */
static fmi3Status live_on(struct instance *instance) {
    if (one_in(4)) return start_anew(instance);
    switch (below(11)) {
    case 0:
    case 1:
        instance->time = one_in(10) ? any_real() : 0.0;
        return CALL(instance, fmi3EnterInitializationMode, false, 0.0, instance->time, false, 0.0);
    case 2:
    case 3:
    case 4: return CALL(instance, fmi3ExitInitializationMode);
    case 5:
    case 6:
    case 7: return CALL(instance, fmi3EnterStepMode);
    case 8: return CALL(instance, fmi3EnterEventMode);
    case 9: return update(instance);
    default: return one_in(3) ? CALL(instance, fmi3Terminate) : CALL(instance, fmi3Reset);
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
    fmi3Status status = kind < 3   ? step(instance)
                        : kind < 5 ? set(instance)
                        : kind < 6 ? get(instance)
                        : kind < 7 ? use_state(instance)
                        : kind < 8 ? ask(instance)
                                   : live_on(instance);
    check(instance, status, told);
}

static void read_variable(FILE *file, struct variable *own) {
    int good = fscanf(file, " %c %zu %zu", &own->kind, &own->size, &own->set) == 3;
    if (good && own->set) {
        own->reals = calloc(own->size, sizeof *own->reals);
        own->texts = calloc(own->size, sizeof *own->texts);
    }
    for (size_t i = 0; good && i < own->set; i++)
        good = own->kind == 'S' ? fscanf(file, "%63s", own->texts[i]) == 1
                                : fscanf(file, "%lf", &own->reals[i]) == 1;
    /* A text that is empty stands as a sign. */
    for (size_t i = 0; good && own->kind == 'S' && i < own->set; i++)
        if (!strcmp(own->texts[i], "@")) own->texts[i][0] = 0;
    if (!good) fail("the list of FMUs is broken");
}

static void read_fmus(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("there is no list of FMUs");
    for (struct fmu *fmu = fmus; fmu_count < FMU_LIMIT; fmu++, fmu_count++) {
        if (fscanf(file, "%2047s %63s %2047s %u", fmu->library, fmu->token, fmu->resources,
                   &fmu->count) != 4)
            break;
        if (fmu->count > VARIABLES) fail("too many variables");
        for (unsigned i = 0; i < fmu->count; i++) read_variable(file, &fmu->variables[i]);
        fmu->handle = dlopen(fmu->library, RTLD_NOW | RTLD_LOCAL);
        if (!fmu->handle) fail(dlerror());
        for (int i = 0; i < INSTANCES; i++) instances[fmu_count * INSTANCES + i].fmu = fmu;
    }
    fclose(file);
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: calls3 <seed> <calls> <file>");
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
