/* FMI 3.0 for co-simulation: its names and types. What they do is in core.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "fmi3Functions.h"

_Static_assert((int)RESULT_OK == fmi3OK && (int)RESULT_WARNING == fmi3Warning &&
                   (int)RESULT_DISCARD == fmi3Discard && (int)RESULT_ERROR == fmi3Error,
               "results are statuses");

/* Modes between initialization and termination; a set of them is their sum. */
typedef enum { STEP_MODE = 1, EVENT_MODE = 2 } Mode;
#define ANY_MODE (STEP_MODE | EVENT_MODE)

/* The instance if the function may be called now, else NULL with a message. */
static Instance *enter(fmi3Instance handle, unsigned phases, unsigned modes, const char *function) {
    Instance *instance = core_enter(handle, phases, function);
    if (!instance || instance->phase != STEPPING) return instance;
    unsigned mode = instance->events.is_on ? EVENT_MODE : STEP_MODE;
    if (modes & mode) return instance;
    report_error(instance, "%s cannot be called in %s mode.", function,
                 instance->events.is_on ? "event" : "step");
    return NULL;
}

/* Each function that works on an instance: finds it, or answers with an error. */
#define ON_INSTANCE(handle, phases, modes, call)                                             \
    const char *function = __func__;                                                         \
    Instance *instance = enter(handle, phases, modes, function);                             \
    return instance ? (fmi3Status)(call) : fmi3Error

/* ---- life cycle ------------------------------------------------------------------------------ */

/* What a host gave for its messages. */
typedef struct {
    fmi3LogMessageCallback log;
    fmi3InstanceEnvironment environment;
} Callbacks;

static void send_text(const void *callbacks, const char *name, Result status, const char *category,
                      const char *message) {
    const Callbacks *host = callbacks;
    if (host->log)
        host->log(host->environment, (fmi3Status)status, category, message);
    else if (status != RESULT_OK)
        fprintf(stderr, "%s: %s\n", name, message);
}

static const char *argument_problem(fmi3String name, fmi3String token, fmi3String resources,
                                    size_t intermediate) {
    if (!name || !name[0]) return "the instance name is missing";
    if (!token) return "the instantiation token is missing";
    if (!resources) return "the resource path is missing";
    if (intermediate) return "intermediate variables are not provided";
    return NULL;
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging_on, fmi3Boolean event_mode_used, fmi3Boolean early_return_allowed,
    const fmi3ValueReference intermediate[], size_t intermediate_count,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3IntermediateUpdateCallback intermediate_update) {
    (void)intermediate, (void)intermediate_update;
    Callbacks callbacks = {log, environment};
    Wish wish = {3,          name,      token,      resources,       visible,
                 logging_on, send_text, &callbacks, sizeof callbacks};
    void *handle = core_instantiate(
        &wish, argument_problem(name, token, resources, intermediate_count), __func__);
    Instance *instance = handle_find(INSTANCE_HANDLE, handle);
    if (!instance) return NULL;
    instance->events.is_used = event_mode_used;
    instance->events.may_return_early = early_return_allowed;
    return handle;
}

/* Says through the host's own function why there is no such instance. */
static fmi3Instance refuse_kind(fmi3String name, fmi3InstanceEnvironment environment,
                                fmi3LogMessageCallback log, const char *function) {
    Callbacks callbacks = {log, environment};
    char text[128];
    snprintf(text, sizeof text, "%s: this FMU is for co-simulation only.", function);
    send_text(&callbacks, name ? name : "", RESULT_ERROR, "logStatusError", text);
    return NULL;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging_on,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log) {
    (void)token, (void)resources, (void)visible, (void)logging_on;
    return refuse_kind(name, environment, log, __func__);
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging_on, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock) {
    (void)token, (void)resources, (void)visible, (void)logging_on;
    (void)update, (void)lock, (void)unlock;
    return refuse_kind(name, environment, log, __func__);
}

void fmi3FreeInstance(fmi3Instance handle) { core_free(handle, __func__); }

static Result reset(Instance *instance, const char *function) {
    Result status = core_reset(instance, function);
    instance->events.is_on = 0;
    events_settle(instance);
    return status;
}

fmi3Status fmi3Reset(fmi3Instance handle) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE, reset(instance, function));
}

static Result begin_initialization(Instance *instance, double start, const char *function) {
    Result status = core_set_start(instance, start, function);
    return status == RESULT_OK ? core_begin_initialization(instance, function) : status;
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance handle, fmi3Boolean tolerance_defined,
                                       fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean stop_defined, fmi3Float64 stop) {
    (void)tolerance_defined, (void)tolerance; /* nothing here integrates */
    (void)stop_defined, (void)stop;           /* a sensor measures as long as it is stepped */
    ON_INSTANCE(handle, INSTANTIATED, ANY_MODE, begin_initialization(instance, start, function));
}

static Result end_initialization(Instance *instance, const char *function) {
    Result status = core_end_initialization(instance, function);
    if (instance->phase != STEPPING) return status;
    instance->events.is_on = instance->events.is_used;
    events_look(instance); /* a sample at the start is an event */
    return status;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance handle) {
    ON_INSTANCE(handle, INITIALIZING, ANY_MODE, end_initialization(instance, function));
}

static Result terminate(Instance *instance, const char *function) {
    instance->events.is_on = 0;
    return core_terminate(instance, function);
}

fmi3Status fmi3Terminate(fmi3Instance handle) {
    ON_INSTANCE(handle, STEPPING, ANY_MODE, terminate(instance, function));
}

/* ---- steps and events ------------------------------------------------------------------------ */

/* Where the answers of a step go; a host may leave out each of them. */
typedef struct {
    fmi3Boolean *event, *terminate, *early;
    fmi3Float64 *time;
} Answers;

static void answer(const Answers *to, int event, int early, double time) {
    if (to->event) *to->event = event;
    if (to->terminate) *to->terminate = fmi3False; /* a sensor never ends the simulation */
    if (to->early) *to->early = early;
    if (to->time) *to->time = time;
}

static Result step(Instance *instance, double time, double size, const Answers *to,
                   const char *function) {
    double wanted = time + size, end = wanted;
    answer(to, 0, 0, time);
    if (instance->events.may_return_early &&
        core_early_end(instance, time, &end, function) != RESULT_OK)
        return RESULT_ERROR;
    Result status = core_step(instance, time, end < wanted ? end - time : size, function);
    if (status != RESULT_OK && status != RESULT_WARNING) return status;
    int event = instance->events.is_used && events_look(instance);
    answer(to, event, end < wanted, end);
    return status;
}

fmi3Status fmi3DoStep(fmi3Instance handle, fmi3Float64 time, fmi3Float64 size,
                      fmi3Boolean no_set_state_before, fmi3Boolean *event, fmi3Boolean *terminates,
                      fmi3Boolean *early, fmi3Float64 *last_time) {
    (void)no_set_state_before;
    Answers to = {event, terminates, early, last_time};
    ON_INSTANCE(handle, STEPPING, STEP_MODE, step(instance, time, size, &to, function));
}

static Result enter_event_mode(Instance *instance, const char *function) {
    if (!instance->events.is_used)
        return report_error(instance, "%s: the instance was made without event mode.", function);
    instance->events.is_on = 1;
    return RESULT_OK;
}

fmi3Status fmi3EnterEventMode(fmi3Instance handle) {
    ON_INSTANCE(handle, STEPPING, STEP_MODE, enter_event_mode(instance, function));
}

static Result enter_step_mode(Instance *instance) {
    instance->events.is_on = 0;
    events_settle(instance);
    return RESULT_OK;
}

fmi3Status fmi3EnterStepMode(fmi3Instance handle) {
    ON_INSTANCE(handle, STEPPING, EVENT_MODE, enter_step_mode(instance));
}

static Result update(Instance *instance, fmi3Boolean *const no[], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (no[i]) *no[i] = fmi3False;
    events_settle(instance); /* one event is one tick */
    return RESULT_OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance handle, fmi3Boolean *needs_update,
                                    fmi3Boolean *terminates, fmi3Boolean *nominals_changed,
                                    fmi3Boolean *states_changed, fmi3Boolean *next_defined,
                                    fmi3Float64 *next_time) {
    (void)next_time;
    fmi3Boolean *const no[] = {needs_update, terminates, nominals_changed, states_changed,
                               next_defined};
    ON_INSTANCE(handle, STEPPING, EVENT_MODE, update(instance, no, sizeof no / sizeof *no));
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance handle) {
    ON_INSTANCE(handle, STEPPING, EVENT_MODE, instance ? RESULT_OK : RESULT_ERROR);
}

/* Whether the arrays that a function of clocks needs are there. */
static Result check_given(Instance *instance, size_t count, const void *references,
                          const void *values, const char *function) {
    if (count == 0 || (references && values)) return RESULT_OK;
    return report_error(instance, "%s: an array is NULL.", function);
}

static Result get_clocks(Instance *instance, const fmi3ValueReference references[], size_t count,
                         fmi3Clock values[], const char *function) {
    if (check_given(instance, count, references, values, function) != RESULT_OK)
        return RESULT_ERROR;
    for (size_t i = 0; i < count; i++)
        if (!array_of(instance, references[i], CLOCK_ARRAY, CLOCK_ARRAY, function))
            return RESULT_ERROR;
    for (size_t i = 0; i < count; i++) values[i] = instance->events.ticks[references[i]];
    return RESULT_OK;
}

fmi3Status fmi3GetClock(fmi3Instance handle, const fmi3ValueReference references[], size_t count,
                        fmi3Clock values[]) {
    ON_INSTANCE(handle, INITIALIZING | STEPPING, EVENT_MODE,
                get_clocks(instance, references, count, values, function));
}

/* ---- values ---------------------------------------------------------------------------------- */

#define SETTER_ARGUMENTS(type)                                                               \
    fmi3Instance handle, const fmi3ValueReference references[], size_t count,                \
        const type values[], size_t value_count
#define GETTER_ARGUMENTS(type)                                                               \
    fmi3Instance handle, const fmi3ValueReference references[], size_t count, type values[], \
        size_t value_count

/* Values that the core has in the same type. */
#define PLAIN_ACCESS(name, type, qualifier, kind, core)                              \
    static Result name(Instance *instance, const fmi3ValueReference references[],            \
                       size_t count, qualifier type values[], size_t value_count,            \
                       const char *function) {                                               \
        Scalars scalars;                                                                     \
        Result status = RESULT_ERROR;                                                        \
        if (scalars_of(instance, kind, references, count, value_count, values, &scalars,     \
                       function))                                                            \
            status = core(instance, scalars.references, scalars.count, values, function);    \
        scalars_free(&scalars);                                                              \
        return status;                                                                       \
    }

PLAIN_ACCESS(set_reals, fmi3Float64, const, REAL_ARRAY, core_set_reals)
PLAIN_ACCESS(set_integers, fmi3Int32, const, INTEGER_ARRAY, core_set_integers)
PLAIN_ACCESS(set_strings, fmi3String, const, STRING_ARRAY, core_set_strings)
PLAIN_ACCESS(get_many_reals, fmi3Float64, , REAL_ARRAY, core_get_reals)
PLAIN_ACCESS(get_integers, fmi3Int32, , INTEGER_ARRAY, core_get_integers)
PLAIN_ACCESS(get_strings, fmi3String, , STRING_ARRAY, core_get_strings)

/* The time is a variable of its own in FMI 3.0; it may stand between others. */
static Result get_reals(Instance *instance, const fmi3ValueReference references[], size_t count,
                        fmi3Float64 values[], size_t value_count, const char *function) {
    size_t timed = 0;
    for (size_t i = 0; references && i < count; i++)
        timed += references[i] < instance->arrays.count &&
                 instance->arrays.all[references[i]].kind == TIME_ARRAY;
    if (!timed || !values)
        return get_many_reals(instance, references, count, values, value_count, function);
    for (size_t i = 0, at = 0; i < count; i++) {
        const Array *array =
            array_of(instance, references[i], REAL_ARRAY, TIME_ARRAY, function);
        if (!array) return RESULT_ERROR;
        size_t size = array->kind == TIME_ARRAY ? 1 : array->count;
        if (at + size > value_count)
            return report_error(instance, "%s: %zu values are too few.", function, value_count);
        Result status = array->kind == TIME_ARRAY
                            ? core_time(instance, values + at, function)
                            : get_many_reals(instance, references + i, 1, values + at, size,
                                             function);
        if (status != RESULT_OK) return status;
        at += size;
    }
    return RESULT_OK;
}

/* A number as int; one that does not fit becomes one that no choice has. */
static int as_int(int64_t value) {
    return value > INT32_MAX || value < INT32_MIN ? INT32_MIN : (int)value;
}

/* Values that the core has as int. */
#define SET_CONVERTED(name, type, kind, core)                                                \
    static Result name(Instance *instance, const fmi3ValueReference references[],            \
                       size_t count, const type values[], size_t value_count,                \
                       const char *function) {                                               \
        Scalars scalars;                                                                     \
        int *numbers = NULL;                                                                 \
        Result status = RESULT_ERROR;                                                        \
        if (!scalars_of(instance, kind, references, count, value_count, values, &scalars,    \
                        function))                                                           \
            goto done;                                                                       \
        numbers = malloc((value_count + 1) * sizeof *numbers);                               \
        if (!numbers) goto done;                                                             \
        for (size_t i = 0; i < value_count; i++)                                             \
            numbers[i] = as_int((int64_t)values[i]);                                         \
        status = core(instance, scalars.references, value_count, numbers, function);         \
    done:                                                                                    \
        free(numbers);                                                                       \
        scalars_free(&scalars);                                                              \
        return status;                                                                       \
    }

#define GET_CONVERTED(name, type, kind, core)                                                \
    static Result name(Instance *instance, const fmi3ValueReference references[],            \
                       size_t count, type values[], size_t value_count,                      \
                       const char *function) {                                               \
        Scalars scalars;                                                                     \
        int *numbers = NULL;                                                                 \
        Result status = RESULT_ERROR;                                                        \
        if (!scalars_of(instance, kind, references, count, value_count, values, &scalars,    \
                        function))                                                           \
            goto done;                                                                       \
        numbers = malloc((value_count + 1) * sizeof *numbers);                               \
        if (!numbers) goto done;                                                             \
        status = core(instance, scalars.references, value_count, numbers, function);         \
        for (size_t i = 0; status == RESULT_OK && i < value_count; i++)                      \
            values[i] = (type)numbers[i];                                                    \
    done:                                                                                    \
        free(numbers);                                                                       \
        scalars_free(&scalars);                                                              \
        return status;                                                                       \
    }

SET_CONVERTED(set_choices, fmi3Int64, CHOICE_ARRAY, core_set_integers)
SET_CONVERTED(set_booleans, fmi3Boolean, BOOLEAN_ARRAY, core_set_booleans)
GET_CONVERTED(get_choices, fmi3Int64, CHOICE_ARRAY, core_get_integers)
GET_CONVERTED(get_booleans, fmi3Boolean, BOOLEAN_ARRAY, core_get_booleans)

#define SETTER(name, type, work)                                                             \
    fmi3Status name(SETTER_ARGUMENTS(type)) {                                                \
        ON_INSTANCE(handle, SETTABLE, ANY_MODE,                                              \
                    work(instance, references, count, values, value_count, function));       \
    }
#define GETTER(name, type, work)                                                             \
    fmi3Status name(GETTER_ARGUMENTS(type)) {                                                \
        ON_INSTANCE(handle, ANY_PHASE, ANY_MODE,                                             \
                    work(instance, references, count, values, value_count, function));       \
    }

SETTER(fmi3SetFloat64, fmi3Float64, set_reals)
SETTER(fmi3SetInt32, fmi3Int32, set_integers)
SETTER(fmi3SetInt64, fmi3Int64, set_choices)
SETTER(fmi3SetBoolean, fmi3Boolean, set_booleans)
SETTER(fmi3SetString, fmi3String, set_strings)
GETTER(fmi3GetFloat64, fmi3Float64, get_reals)
GETTER(fmi3GetInt32, fmi3Int32, get_integers)
GETTER(fmi3GetInt64, fmi3Int64, get_choices)
GETTER(fmi3GetBoolean, fmi3Boolean, get_booleans)
GETTER(fmi3GetString, fmi3String, get_strings)

static Result set_bytes(Instance *instance, const fmi3ValueReference references[], size_t count,
                        const size_t sizes[], const fmi3Binary values[], size_t value_count,
                        const char *function) {
    if (count && (!references || !sizes || !values))
        return report_error(instance, "%s: an array is NULL.", function);
    if (count != value_count)
        return report_error(instance, "%s: %zu variables have %zu values.", function, count,
                            value_count);
    for (size_t i = 0; i < count; i++) {
        Result status = core_set_bytes(instance, references[i], values[i], sizes[i], function);
        if (status != RESULT_OK) return status;
    }
    return RESULT_OK;
}

fmi3Status fmi3SetBinary(fmi3Instance handle, const fmi3ValueReference references[], size_t count,
                         const size_t sizes[], const fmi3Binary values[], size_t value_count) {
    ON_INSTANCE(handle, SETTABLE, ANY_MODE,
                set_bytes(instance, references, count, sizes, values, value_count, function));
}

static Result get_bytes(Instance *instance, const fmi3ValueReference references[], size_t count,
                        size_t sizes[], fmi3Binary values[], size_t value_count,
                        const char *function) {
    if (count && (!references || !sizes || !values))
        return report_error(instance, "%s: an array is NULL.", function);
    if (count != value_count)
        return report_error(instance, "%s: %zu variables have %zu values.", function, count,
                            value_count);
    for (size_t i = 0; i < count; i++) {
        const Array *array =
            array_of(instance, references[i], MESSAGE_ARRAY, FRAME_ARRAY, function);
        if (!array) return RESULT_ERROR;
        Result status = core_get_bytes(instance, array, &values[i], &sizes[i], function);
        if (status != RESULT_OK) return status;
    }
    return RESULT_OK;
}

fmi3Status fmi3GetBinary(fmi3Instance handle, const fmi3ValueReference references[], size_t count,
                         size_t sizes[], fmi3Binary values[], size_t value_count) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE,
                get_bytes(instance, references, count, sizes, values, value_count, function));
}

/* ---- states ----------------------------------------------------------------------------------- */

fmi3Status fmi3GetFMUState(fmi3Instance handle, fmi3FMUState *state) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE, core_get_state(instance, state, function));
}

fmi3Status fmi3SetFMUState(fmi3Instance handle, fmi3FMUState state) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE, core_set_state(instance, state, function));
}

fmi3Status fmi3FreeFMUState(fmi3Instance handle, fmi3FMUState *state) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE, core_free_state(instance, state, function));
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance handle, fmi3FMUState state, size_t *size) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE, core_state_size(instance, state, size, function));
}

fmi3Status fmi3SerializeFMUState(fmi3Instance handle, fmi3FMUState state, fmi3Byte target[],
                                 size_t size) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE,
                core_serialize_state(instance, state, (char *)target, size, function));
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance handle, const fmi3Byte source[], size_t size,
                                   fmi3FMUState *state) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE,
                core_deserialize_state(instance, (const char *)source, size, state, function));
}

/* ---- inquiries --------------------------------------------------------------------------------- */

const char *fmi3GetVersion(void) { return fmi3Version; }

static Result set_logging(Instance *instance, int logging_on, size_t count,
                          const fmi3String categories[], const char *function) {
    Result status = choose_categories(instance, count, categories, function);
    if (status == RESULT_OK) instance->logging_on = logging_on;
    return status;
}

fmi3Status fmi3SetDebugLogging(fmi3Instance handle, fmi3Boolean logging_on, size_t count,
                               const fmi3String categories[]) {
    ON_INSTANCE(handle, ANY_PHASE, ANY_MODE,
                set_logging(instance, logging_on, count, categories, function));
}
