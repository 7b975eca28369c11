/* A small co-simulation FMU for FMI 2.0 in plain C: what a compiled peer of the sensors costs to
 * call, and a well-behaved FMU to test masters with.
 *
 * Real inputs 0..12 are a body's position, orientation, velocity and angular velocity. A step sets
 * the Real outputs 13..32: copies of the inputs, the sum of each of the four groups, the sum of
 * all inputs, and running totals over the steps of position x and of that sum. The parameters
 * 33 (Integer), 34 (Boolean) and 35 (String) only hold what they are given.
 *
 * MODEL_GUID is defined by the build. */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

/* FMI's signatures are given, and cover more than this FMU does. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum {
    INPUT_COUNT = 13,
    OUTPUT_COUNT = 20,
    REAL_COUNT = INPUT_COUNT + OUTPUT_COUNT,
    FIRST_SUM = 2 * INPUT_COUNT,
    GROUP_COUNT = 4,
    ALL_SUM = FIRST_SUM + GROUP_COUNT,
    POSITION_TOTAL,
    ALL_TOTAL,
    INTEGER_PARAMETER,
    BOOLEAN_PARAMETER,
    STRING_PARAMETER,
    TEXT_LIMIT = 256,
    INSTANCE_LIMIT = 64,
};

enum phase { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED };

/* All that a step can change and a saved state has to hold. */
struct model {
    double reals[REAL_COUNT];
    double time;
    int integer;
    int boolean;
    int phase;
    char text[TEXT_LIMIT];
};

struct instance {
    struct model model;
    fmi2CallbackFunctions callbacks;
    char name[TEXT_LIMIT];
    bool logging;
};

/* Serialised states begin with this. */
static const char signature[8] = "REFFMU1";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct instance *instances[INSTANCE_LIMIT];

/* Exchanges a pointer in the list of living instances; false if `from` is not in it. */
static bool exchange(const void *from, struct instance *to) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < INSTANCE_LIMIT && !found; i++) {
        found = instances[i] == from;
        instances[i] = found ? to : instances[i];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The instance behind a pointer from the master, or NULL if it is none. */
static struct instance *living(fmi2Component component) {
    return component != NULL && exchange(component, component) ? component : NULL;
}

static fmi2Status report(struct instance *instance, fmi2Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static fmi2Status report(struct instance *instance, fmi2Status status, const char *format, ...) {
    char message[2 * TEXT_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    bool wanted = status != fmi2OK || instance->logging;
    if (wanted && instance->callbacks.logger != NULL) {
        const char *category = status == fmi2OK ? "logEvents" : "logStatusError";
        instance->callbacks.logger(instance->callbacks.componentEnvironment, instance->name, status,
                                   category, "%s: %s", instance->name, message);
    }
    return status;
}

static void start(struct model *model) {
    *model = (struct model){.reals = {[3] = 1.0}, .phase = INSTANTIATED};
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[]) {
    struct instance *instance = living(c);
    if (instance == NULL || (nCategories > 0 && categories == NULL)) {
        return fmi2Error;
    }
    instance->logging = loggingOn != fmi2False;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn) {
    struct instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL || functions == NULL || instanceName == NULL) {
        free(instance);
        return NULL;
    }
    instance->callbacks = *functions;
    instance->logging = loggingOn != fmi2False;
    snprintf(instance->name, sizeof instance->name, "%s", instanceName);
    start(&instance->model);
    bool right = fmuGUID != NULL && strcmp(fmuGUID, MODEL_GUID) == 0;
    if (fmuType != fmi2CoSimulation || !right || !exchange(NULL, instance)) {
        report(instance, fmi2Error, "not instantiated: type %d, guid %s", (int)fmuType,
               fmuGUID == NULL ? "null" : fmuGUID);
        free(instance);
        return NULL;
    }
    report(instance, fmi2OK, "instantiated");
    return instance;
}

void fmi2FreeInstance(fmi2Component c) {
    if (c != NULL && exchange(c, NULL)) {
        free(c);
    }
}

/* Goes from one phase to the next, if the instance is in the first. */
static fmi2Status advance(fmi2Component c, enum phase from, enum phase to, const char *what) {
    struct instance *instance = living(c);
    if (instance == NULL) {
        return fmi2Error;
    }
    if (instance->model.phase != (int)from) {
        return report(instance, fmi2Error, "%s is not allowed now", what);
    }
    instance->model.phase = (int)to;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                               fmi2Real startTime, fmi2Boolean stopTimeDefined,
                               fmi2Real stopTime) {
    fmi2Status status = advance(c, INSTANTIATED, INSTANTIATED, "setup");
    if (status == fmi2OK) {
        ((struct instance *)c)->model.time = startTime;
    }
    return status;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    return advance(c, INSTANTIATED, INITIALIZING, "to initialise");
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    return advance(c, INITIALIZING, STEPPING, "to end initialisation");
}

fmi2Status fmi2Terminate(fmi2Component c) {
    return advance(c, STEPPING, TERMINATED, "to terminate");
}

fmi2Status fmi2Reset(fmi2Component c) {
    struct instance *instance = living(c);
    if (instance == NULL) {
        return fmi2Error;
    }
    start(&instance->model);
    return fmi2OK;
}

/* The instance, if all value references lie in first..last and no array is missing. */
static struct instance *accessed(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                 const void *value, int first, int last) {
    struct instance *instance = living(c);
    if (instance == NULL) {
        return NULL;
    }
    if (nvr > 0 && (vr == NULL || value == NULL)) {
        report(instance, fmi2Error, "an array is missing");
        return NULL;
    }
    for (size_t i = 0; i < nvr; i++) {
        if (vr[i] < (fmi2ValueReference)first || vr[i] > (fmi2ValueReference)last) {
            report(instance, fmi2Error, "no variable of this type has the reference %u", vr[i]);
            return NULL;
        }
    }
    return instance;
}

#define DEFINE_GETTER(name, type, first, last, field)                                           \
    fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, type value[]) { \
        struct instance *instance = accessed(c, vr, nvr, value, first, last);                   \
        for (size_t i = 0; instance != NULL && i < nvr; i++) {                                  \
            value[i] = instance->model.field;                                                   \
        }                                                                                       \
        return instance == NULL ? fmi2Error : fmi2OK;                                           \
    }

DEFINE_GETTER(fmi2GetReal, fmi2Real, 0, REAL_COUNT - 1, reals[vr[i]])
DEFINE_GETTER(fmi2GetInteger, fmi2Integer, INTEGER_PARAMETER, INTEGER_PARAMETER, integer)
DEFINE_GETTER(fmi2GetBoolean, fmi2Boolean, BOOLEAN_PARAMETER, BOOLEAN_PARAMETER, boolean)
DEFINE_GETTER(fmi2GetString, fmi2String, STRING_PARAMETER, STRING_PARAMETER, text)

/* Sets the one parameter of a type. */
#define DEFINE_SETTER(name, type, reference, field)                                    \
    fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,        \
                    const type value[]) {                                              \
        struct instance *instance = accessed(c, vr, nvr, value, reference, reference); \
        for (size_t i = 0; instance != NULL && i < nvr; i++) {                         \
            instance->model.field = value[i];                                          \
        }                                                                              \
        return instance == NULL ? fmi2Error : fmi2OK;                                  \
    }

DEFINE_SETTER(fmi2SetInteger, fmi2Integer, INTEGER_PARAMETER, integer)
DEFINE_SETTER(fmi2SetBoolean, fmi2Boolean, BOOLEAN_PARAMETER, boolean)

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       const fmi2Real value[]) {
    struct instance *instance = accessed(c, vr, nvr, value, 0, INPUT_COUNT - 1);
    for (size_t i = 0; instance != NULL && i < nvr; i++) {
        if (!isfinite(value[i])) {
            return report(instance, fmi2Error, "input %u is %g, must be finite", vr[i], value[i]);
        }
    }
    for (size_t i = 0; instance != NULL && i < nvr; i++) {
        instance->model.reals[vr[i]] = value[i];
    }
    return instance == NULL ? fmi2Error : fmi2OK;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                         const fmi2String value[]) {
    struct instance *instance = accessed(c, vr, nvr, value, STRING_PARAMETER, STRING_PARAMETER);
    for (size_t i = 0; instance != NULL && i < nvr; i++) {
        if (value[i] == NULL || strlen(value[i]) >= TEXT_LIMIT) {
            return report(instance, fmi2Error, "a string is missing or too long");
        }
        strcpy(instance->model.text, value[i]);
    }
    return instance == NULL ? fmi2Error : fmi2OK;
}

static double sum(const double *values, int count) {
    double total = 0.0;
    for (int i = 0; i < count; i++) {
        total += values[i];
    }
    return total;
}

static void compute(double *reals) {
    static const int sizes[GROUP_COUNT] = {3, 4, 3, 3};
    const double *group = reals;
    memcpy(reals + INPUT_COUNT, reals, INPUT_COUNT * sizeof *reals);
    for (int i = 0; i < GROUP_COUNT; i++) {
        reals[FIRST_SUM + i] = sum(group, sizes[i]);
        group += sizes[i];
    }
    reals[ALL_SUM] = sum(reals, INPUT_COUNT);
    reals[POSITION_TOTAL] += reals[0];
    reals[ALL_TOTAL] += reals[ALL_SUM];
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint,
                      fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
    struct instance *instance = living(c);
    if (instance == NULL) {
        return fmi2Error;
    }
    if (instance->model.phase != STEPPING || !(communicationStepSize > 0.0)) {
        return report(instance, fmi2Error, "no step of %g is possible", communicationStepSize);
    }
    compute(instance->model.reals);
    instance->model.time = currentCommunicationPoint + communicationStepSize;
    return fmi2OK;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    struct instance *instance = living(c);
    if (instance == NULL || FMUstate == NULL) {
        return fmi2Error;
    }
    if (*FMUstate == NULL) {
        *FMUstate = malloc(sizeof instance->model);
    }
    if (*FMUstate == NULL) {
        return fmi2Error;
    }
    memcpy(*FMUstate, &instance->model, sizeof instance->model);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate) {
    struct instance *instance = living(c);
    if (instance == NULL || FMUstate == NULL) {
        return fmi2Error;
    }
    memcpy(&instance->model, FMUstate, sizeof instance->model);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    if (living(c) == NULL || FMUstate == NULL) {
        return fmi2Error;
    }
    free(*FMUstate);
    *FMUstate = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size) {
    if (living(c) == NULL || FMUstate == NULL || size == NULL) {
        return fmi2Error;
    }
    *size = sizeof signature + sizeof(struct model);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte bytes[],
                                 size_t size) {
    bool fits = bytes != NULL && size >= sizeof signature + sizeof(struct model);
    if (living(c) == NULL || FMUstate == NULL || !fits) {
        return fmi2Error;
    }
    memcpy(bytes, signature, sizeof signature);
    memcpy(bytes + sizeof signature, FMUstate, sizeof(struct model));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                   fmi2FMUstate *FMUstate) {
    struct instance *instance = living(c);
    if (instance == NULL || FMUstate == NULL) {
        return fmi2Error;
    }
    bool fits = bytes != NULL && size == sizeof signature + sizeof(struct model);
    if (!fits || memcmp(bytes, signature, sizeof signature) != 0) {
        return report(instance, fmi2Error, "the serialised state is damaged or foreign");
    }
    *FMUstate = malloc(sizeof(struct model));
    if (*FMUstate == NULL) {
        return fmi2Error;
    }
    memcpy(*FMUstate, bytes + sizeof signature, sizeof(struct model));
    return fmi2OK;
}

static fmi2Status not_supported(fmi2Component c) {
    struct instance *instance = living(c);
    return instance == NULL ? fmi2Error : report(instance, fmi2Error, "not supported");
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[],
                                        size_t nUnknown, const fmi2ValueReference vKnown_ref[],
                                        size_t nKnown, const fmi2Real dvKnown[],
                                        fmi2Real dvUnknown[]) {
    return not_supported(c);
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
    return not_supported(c);
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
    return not_supported(c);
}

fmi2Status fmi2CancelStep(fmi2Component c) { return not_supported(c); }

fmi2Status fmi2EnterEventMode(fmi2Component c) { return not_supported(c); }

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return not_supported(c); }

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *fmi2eventInfo) {
    return not_supported(c);
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c,
                                       fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode,
                                       fmi2Boolean *terminateSimulation) {
    return not_supported(c);
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) { return not_supported(c); }

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
    return not_supported(c);
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx) {
    return not_supported(c);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni) {
    return not_supported(c);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
    return not_supported(c);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx) {
    return not_supported(c);
}

/* The time reached is all that there is to tell about the last step. */
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value) {
    struct instance *instance = living(c);
    if (instance == NULL || value == NULL || s != fmi2LastSuccessfulTime) {
        return fmi2Discard;
    }
    *value = instance->model.time;
    return fmi2OK;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value) {
    return fmi2Discard;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value) {
    return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value) {
    return fmi2Discard;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value) {
    return fmi2Discard;
}
