/* Somebody else's dynamics: a pendulum as an FMU of FMI 2.0 for co-simulation, with the variables
 * and units of a Modelica tool. Small swings, in closed form: phi = phi0 cos(w t), w^2 = g / length.
 *
 * MODEL_GUID is defined by the build. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

/* FMI's signatures are given, and cover more than this FMU does. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Value references: two parameters, then the outputs. */
enum { LENGTH, PHI0, PHI, W, PHI_DEG, R, V = R + 3, RATE = V + 3, TURN = RATE + 3 };
enum { COUNT = TURN + 3 };

struct pendulum {
    double values[COUNT];
};

static void compute(struct pendulum *pendulum, double time) {
    double *value = pendulum->values;
    double omega = sqrt(9.80665 / value[LENGTH]);
    value[PHI] = value[PHI0] * cos(omega * time);
    value[W] = -value[PHI0] * omega * sin(omega * time);
    value[PHI_DEG] = value[PHI] * 57.29577951308232;
    double sine = sin(value[PHI]), cosine = cos(value[PHI]);
    value[R] = value[LENGTH] * sine;
    value[R + 2] = -value[LENGTH] * cosine;
    value[V] = value[LENGTH] * cosine * value[W];
    value[V + 2] = value[LENGTH] * sine * value[W];
    value[RATE + 1] = -value[W]; /* about y, from z to x */
    value[TURN + 1] = -value[PHI];
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                              fmi2Boolean logging) {
    if (type != fmi2CoSimulation || guid == NULL || strcmp(guid, MODEL_GUID) != 0) {
        return NULL;
    }
    struct pendulum *pendulum = calloc(1, sizeof *pendulum);
    if (pendulum != NULL) {
        pendulum->values[LENGTH] = 1.0;
        pendulum->values[PHI0] = 0.1;
    }
    return pendulum;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                               fmi2Real start, fmi2Boolean has_stop, fmi2Real stop) {
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    compute(c, 0.0);
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }

fmi2Status fmi2Reset(fmi2Component c) { return fmi2OK; }

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= COUNT) {
            return fmi2Error;
        }
        value[i] = ((struct pendulum *)c)->values[vr[i]];
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                       const fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] > PHI0) {
            return fmi2Error;
        }
        ((struct pendulum *)c)->values[vr[i]] = value[i];
    }
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_set_state) {
    compute(c, time + step);
    return fmi2OK;
}

/* What this FMU has no variables for, or does not do. */
#define NOT_SUPPORTED(name, ...) \
    fmi2Status name(fmi2Component c, __VA_ARGS__) { return fmi2Error; }

#define NO_VARIABLES(type)                                                                  \
    fmi2Status fmi2Get##type(fmi2Component c, const fmi2ValueReference vr[], size_t n,      \
                             fmi2##type value[]) {                                          \
        return n == 0 ? fmi2OK : fmi2Error;                                                 \
    }                                                                                       \
    fmi2Status fmi2Set##type(fmi2Component c, const fmi2ValueReference vr[], size_t n,      \
                             const fmi2##type value[]) {                                    \
        return n == 0 ? fmi2OK : fmi2Error;                                                 \
    }

NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n,
                               const fmi2String categories[]) {
    return fmi2OK;
}

NOT_SUPPORTED(fmi2GetFMUstate, fmi2FMUstate *state)
NOT_SUPPORTED(fmi2SetFMUstate, fmi2FMUstate state)
NOT_SUPPORTED(fmi2FreeFMUstate, fmi2FMUstate *state)
NOT_SUPPORTED(fmi2SerializedFMUstateSize, fmi2FMUstate state, size_t *size)
NOT_SUPPORTED(fmi2SerializeFMUstate, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
NOT_SUPPORTED(fmi2DeSerializeFMUstate, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
NOT_SUPPORTED(fmi2GetDirectionalDerivative, const fmi2ValueReference unknown[], size_t n_unknown,
              const fmi2ValueReference known[], size_t n_known, const fmi2Real d_known[],
              fmi2Real d_unknown[])
NOT_SUPPORTED(fmi2SetRealInputDerivatives, const fmi2ValueReference vr[], size_t n,
              const fmi2Integer order[], const fmi2Real value[])
NOT_SUPPORTED(fmi2GetRealOutputDerivatives, const fmi2ValueReference vr[], size_t n,
              const fmi2Integer order[], fmi2Real value[])
NOT_SUPPORTED(fmi2GetStatus, const fmi2StatusKind kind, fmi2Status *value)
NOT_SUPPORTED(fmi2GetRealStatus, const fmi2StatusKind kind, fmi2Real *value)
NOT_SUPPORTED(fmi2GetIntegerStatus, const fmi2StatusKind kind, fmi2Integer *value)
NOT_SUPPORTED(fmi2GetBooleanStatus, const fmi2StatusKind kind, fmi2Boolean *value)
NOT_SUPPORTED(fmi2GetStringStatus, const fmi2StatusKind kind, fmi2String *value)

fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2Error; }
