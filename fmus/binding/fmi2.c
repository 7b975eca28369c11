/* FMI 2.0 for co-simulation: its names and types. What they do is in core.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "fmi2Functions.h"

_Static_assert((int)RESULT_OK == fmi2OK && (int)RESULT_WARNING == fmi2Warning &&
                   (int)RESULT_DISCARD == fmi2Discard && (int)RESULT_ERROR == fmi2Error,
               "results are statuses");

/* Each function that works on an instance: finds it, or answers with an error. */
#define ON_INSTANCE(handle, phases, call)                                                    \
    const char *function = __func__;                                                         \
    Instance *instance = core_enter(handle, phases, function);                               \
    return instance ? (fmi2Status)(call) : fmi2Error

/* ---- life cycle ------------------------------------------------------------------------------ */

/* The host's function takes a printf format. The text itself is passed as one, with its percent
   signs doubled: hosts that ignore the further arguments then still show it. */
static void send_as_format(const void *callbacks, const char *instance, Result status,
                           const char *category, const char *message) {
    const fmi2CallbackFunctions *host = callbacks;
    if (!host->logger) {
        if (status != RESULT_OK) fprintf(stderr, "%s: %s\n", instance, message);
        return;
    }
    char *format = malloc(2 * strlen(message) + 1), *end = format;
    if (!format) return;
    for (const char *c = message; *c; c++) {
        if (*c == '%') *end++ = '%';
        *end++ = *c;
    }
    *end = 0;
    host->logger(host->componentEnvironment, instance, (fmi2Status)status, category, format);
    free(format);
}

/* Why the arguments of fmi2Instantiate do not do, or NULL. */
static const char *argument_problem(fmi2String name, fmi2Type type, fmi2String guid,
                                    fmi2String resources) {
    if (!name || !name[0]) return "the instance name is missing";
    if (type != fmi2CoSimulation) return "this FMU is for co-simulation only";
    if (!guid) return "the GUID is missing";
    if (!resources) return "the resource location is missing";
    return NULL;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid,
                              fmi2String resources, const fmi2CallbackFunctions *callbacks,
                              fmi2Boolean visible, fmi2Boolean logging_on) {
    if (!callbacks) return NULL;
    Wish wish = {2,          name,           guid,      resources,        visible,
                 logging_on, send_as_format, callbacks, sizeof *callbacks};
    return core_instantiate(&wish, argument_problem(name, type, guid, resources), __func__);
}

void fmi2FreeInstance(fmi2Component handle) { core_free(handle, __func__); }

fmi2Status fmi2Reset(fmi2Component handle) {
    ON_INSTANCE(handle, ANY_PHASE, core_reset(instance, function));
}

fmi2Status fmi2SetupExperiment(fmi2Component handle, fmi2Boolean tolerance_defined,
                               fmi2Real tolerance, fmi2Real start, fmi2Boolean stop_defined,
                               fmi2Real stop) {
    (void)tolerance_defined, (void)tolerance; /* nothing here integrates */
    (void)stop_defined, (void)stop;           /* a sensor measures as long as it is stepped */
    ON_INSTANCE(handle, INSTANTIATED, core_set_start(instance, start, function));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component handle) {
    ON_INSTANCE(handle, INSTANTIATED, core_begin_initialization(instance, function));
}

fmi2Status fmi2ExitInitializationMode(fmi2Component handle) {
    ON_INSTANCE(handle, INITIALIZING, core_end_initialization(instance, function));
}

fmi2Status fmi2Terminate(fmi2Component handle) {
    ON_INSTANCE(handle, STEPPING, core_terminate(instance, function));
}

fmi2Status fmi2DoStep(fmi2Component handle, fmi2Real time, fmi2Real step,
                      fmi2Boolean no_set_state_before) {
    (void)no_set_state_before;
    ON_INSTANCE(handle, STEPPING, core_step(instance, time, step, function));
}

/* ---- values ---------------------------------------------------------------------------------- */

#define SETTER(name, type, core)                                                             \
    fmi2Status name(fmi2Component handle, const fmi2ValueReference references[],             \
                    size_t count, const type values[]) {                                     \
        ON_INSTANCE(handle, SETTABLE, core(instance, references, count, values, function));  \
    }
#define GETTER(name, type, core)                                                             \
    fmi2Status name(fmi2Component handle, const fmi2ValueReference references[],             \
                    size_t count, type values[]) {                                           \
        ON_INSTANCE(handle, ANY_PHASE, core(instance, references, count, values, function)); \
    }

SETTER(fmi2SetReal, fmi2Real, core_set_reals)
SETTER(fmi2SetInteger, fmi2Integer, core_set_integers)
SETTER(fmi2SetBoolean, fmi2Boolean, core_set_booleans)
SETTER(fmi2SetString, fmi2String, core_set_strings)
GETTER(fmi2GetReal, fmi2Real, core_get_reals)
GETTER(fmi2GetInteger, fmi2Integer, core_get_integers)
GETTER(fmi2GetBoolean, fmi2Boolean, core_get_booleans)
GETTER(fmi2GetString, fmi2String, core_get_strings)

/* ---- states ----------------------------------------------------------------------------------- */

fmi2Status fmi2GetFMUstate(fmi2Component handle, fmi2FMUstate *state) {
    ON_INSTANCE(handle, ANY_PHASE, core_get_state(instance, state, function));
}

fmi2Status fmi2SetFMUstate(fmi2Component handle, fmi2FMUstate state) {
    ON_INSTANCE(handle, ANY_PHASE, core_set_state(instance, state, function));
}

fmi2Status fmi2FreeFMUstate(fmi2Component handle, fmi2FMUstate *state) {
    ON_INSTANCE(handle, ANY_PHASE, core_free_state(instance, state, function));
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component handle, fmi2FMUstate state, size_t *size) {
    ON_INSTANCE(handle, ANY_PHASE, core_state_size(instance, state, size, function));
}

fmi2Status fmi2SerializeFMUstate(fmi2Component handle, fmi2FMUstate state, fmi2Byte target[],
                                 size_t size) {
    ON_INSTANCE(handle, ANY_PHASE, core_serialize_state(instance, state, target, size, function));
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component handle, const fmi2Byte source[], size_t size,
                                   fmi2FMUstate *state) {
    ON_INSTANCE(handle, ANY_PHASE, core_deserialize_state(instance, source, size, state, function));
}

/* ---- inquiries --------------------------------------------------------------------------------- */

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

static Result set_logging(Instance *instance, int logging_on, size_t count,
                          const fmi2String categories[], const char *function) {
    Result status = choose_categories(instance, count, categories, function);
    if (status == RESULT_OK) instance->logging_on = logging_on;
    return status;
}

fmi2Status fmi2SetDebugLogging(fmi2Component handle, fmi2Boolean logging_on, size_t count,
                               const fmi2String categories[]) {
    ON_INSTANCE(handle, ANY_PHASE, set_logging(instance, logging_on, count, categories, function));
}

/* The instance if it may be asked for a status and there is a place for the answer. */
static Instance *enter_inquiry(fmi2Component handle, const void *value, const char *function) {
    Instance *instance = core_enter(handle, RUNNING, function);
    if (instance && !value) {
        report_error(instance, "%s: the place for the value is NULL.", function);
        return NULL;
    }
    return instance;
}

/* Steps are never pending, so there is no status to ask for but these two. */
fmi2Status fmi2GetRealStatus(fmi2Component handle, const fmi2StatusKind kind, fmi2Real *value) {
    Instance *instance = enter_inquiry(handle, value, __func__);
    if (!instance) return fmi2Error;
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    return (fmi2Status)core_time(instance, value, __func__);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component handle, const fmi2StatusKind kind,
                                fmi2Boolean *value) {
    if (!enter_inquiry(handle, value, __func__)) return fmi2Error;
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = fmi2False; /* a sensor never ends the simulation */
    return fmi2OK;
}

#define NO_STATUS(name, type)                                                                \
    fmi2Status name(fmi2Component handle, const fmi2StatusKind kind, type *value) {          \
        (void)kind;                                                                          \
        return enter_inquiry(handle, value, __func__) ? fmi2Discard : fmi2Error;             \
    }

NO_STATUS(fmi2GetStatus, fmi2Status)
NO_STATUS(fmi2GetIntegerStatus, fmi2Integer)
NO_STATUS(fmi2GetStringStatus, fmi2String)

/* ---- what modelDescription.xml says we do not do -------------------------------------------- */

static fmi2Status unsupported(fmi2Component handle, const char *function) {
    Instance *instance = core_enter(handle, ANY_PHASE, function);
    if (instance) report_error(instance, "%s is not supported by this FMU.", function);
    return fmi2Error;
}

/* Each of these has its own arguments, none of which matters. */
#define UNSUPPORTED(name, ...)                                                               \
    fmi2Status name(fmi2Component handle, ##__VA_ARGS__) { return unsupported(handle, #name); }

#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

typedef const fmi2ValueReference *References;

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
UNSUPPORTED(fmi2SetRealInputDerivatives, References r, size_t n, const fmi2Integer *o,
            const fmi2Real *v)
UNSUPPORTED(fmi2GetRealOutputDerivatives, References r, size_t n, const fmi2Integer *o,
            fmi2Real *v)
UNSUPPORTED(fmi2GetDirectionalDerivative, References z, size_t nz, References v, size_t nv,
            const fmi2Real *dv, fmi2Real *dz)
UNSUPPORTED(fmi2CancelStep)
UNSUPPORTED(fmi2EnterEventMode)
UNSUPPORTED(fmi2NewDiscreteStates, fmi2EventInfo *info)
UNSUPPORTED(fmi2EnterContinuousTimeMode)
UNSUPPORTED(fmi2CompletedIntegratorStep, fmi2Boolean no_set, fmi2Boolean *event,
            fmi2Boolean *terminate)
UNSUPPORTED(fmi2SetTime, fmi2Real time)
UNSUPPORTED(fmi2SetContinuousStates, const fmi2Real *x, size_t n)
UNSUPPORTED(fmi2GetDerivatives, fmi2Real *dx, size_t n)
UNSUPPORTED(fmi2GetEventIndicators, fmi2Real *z, size_t n)
UNSUPPORTED(fmi2GetContinuousStates, fmi2Real *x, size_t n)
UNSUPPORTED(fmi2GetNominalsOfContinuousStates, fmi2Real *x, size_t n)
