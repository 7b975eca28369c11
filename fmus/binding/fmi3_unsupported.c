/* The functions of FMI 3.0 that modelDescription.xml says we do not have: types of variables that
   there are none of, other kinds of interfaces, modes and capabilities that are not offered. */
#include "core.h"
#include "fmi3Functions.h"

static fmi3Status unsupported(fmi3Instance handle, const char *function) {
    Instance *instance = core_enter(handle, ANY_PHASE, function);
    if (instance) report_error(instance, "%s is not supported by this FMU.", function);
    return fmi3Error;
}

/* Each of these has its own arguments, none of which matters. */
#define UNSUPPORTED(name, ...)                                                               \
    fmi3Status name(fmi3Instance handle, ##__VA_ARGS__) { return unsupported(handle, #name); }

#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

typedef const fmi3ValueReference *References;

#define NO_TYPE(type)                                                                        \
    UNSUPPORTED(fmi3Get##type, References r, size_t n, fmi3##type *v, size_t m)              \
    UNSUPPORTED(fmi3Set##type, References r, size_t n, const fmi3##type *v, size_t m)

NO_TYPE(Float32)
NO_TYPE(Int8)
NO_TYPE(UInt8)
NO_TYPE(Int16)
NO_TYPE(UInt16)
NO_TYPE(UInt32)
NO_TYPE(UInt64)

/* All clocks are outputs that tick by themselves. */
UNSUPPORTED(fmi3SetClock, References r, size_t n, const fmi3Clock *v)
UNSUPPORTED(fmi3GetIntervalDecimal, References r, size_t n, fmi3Float64 *v,
            fmi3IntervalQualifier *q)
UNSUPPORTED(fmi3GetIntervalFraction, References r, size_t n, fmi3UInt64 *c, fmi3UInt64 *f,
            fmi3IntervalQualifier *q)
UNSUPPORTED(fmi3GetShiftDecimal, References r, size_t n, fmi3Float64 *v)
UNSUPPORTED(fmi3GetShiftFraction, References r, size_t n, fmi3UInt64 *c, fmi3UInt64 *f)
UNSUPPORTED(fmi3SetIntervalDecimal, References r, size_t n, const fmi3Float64 *v)
UNSUPPORTED(fmi3SetIntervalFraction, References r, size_t n, const fmi3UInt64 *c,
            const fmi3UInt64 *f)
UNSUPPORTED(fmi3SetShiftDecimal, References r, size_t n, const fmi3Float64 *v)
UNSUPPORTED(fmi3SetShiftFraction, References r, size_t n, const fmi3UInt64 *c, const fmi3UInt64 *f)
UNSUPPORTED(fmi3ActivateModelPartition, fmi3ValueReference clock, fmi3Float64 time)

UNSUPPORTED(fmi3GetNumberOfVariableDependencies, fmi3ValueReference r, size_t *n)
UNSUPPORTED(fmi3GetVariableDependencies, fmi3ValueReference r, size_t *of, fmi3ValueReference *on,
            size_t *at, fmi3DependencyKind *kinds, size_t n)
UNSUPPORTED(fmi3GetDirectionalDerivative, References z, size_t nz, References v, size_t nv,
            const fmi3Float64 *dv, size_t ndv, fmi3Float64 *dz, size_t ndz)
UNSUPPORTED(fmi3GetAdjointDerivative, References z, size_t nz, References v, size_t nv,
            const fmi3Float64 *dz, size_t ndz, fmi3Float64 *dv, size_t ndv)
UNSUPPORTED(fmi3GetOutputDerivatives, References r, size_t n, const fmi3Int32 *o, fmi3Float64 *v,
            size_t m)

/* No structural parameter: all dimensions are fixed. */
UNSUPPORTED(fmi3EnterConfigurationMode)
UNSUPPORTED(fmi3ExitConfigurationMode)

UNSUPPORTED(fmi3EnterContinuousTimeMode)
UNSUPPORTED(fmi3CompletedIntegratorStep, fmi3Boolean no_set, fmi3Boolean *event,
            fmi3Boolean *terminate)
UNSUPPORTED(fmi3SetTime, fmi3Float64 time)
UNSUPPORTED(fmi3SetContinuousStates, const fmi3Float64 *x, size_t n)
UNSUPPORTED(fmi3GetContinuousStateDerivatives, fmi3Float64 *dx, size_t n)
UNSUPPORTED(fmi3GetEventIndicators, fmi3Float64 *z, size_t n)
UNSUPPORTED(fmi3GetContinuousStates, fmi3Float64 *x, size_t n)
UNSUPPORTED(fmi3GetNominalsOfContinuousStates, fmi3Float64 *x, size_t n)
UNSUPPORTED(fmi3GetNumberOfEventIndicators, size_t *n)
UNSUPPORTED(fmi3GetNumberOfContinuousStates, size_t *n)
