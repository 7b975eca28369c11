#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"

/* The function of a target's library. */
#define OF(target, name) FUNCTION((target).library, name)

static bool succeeded(fmi2Status status) { return status == fmi2OK || status == fmi2Warning; }

static void get_types_platform(void) {
    reply_string(FUNCTION(next_library(), fmi2GetTypesPlatform)());
    finish_without_status();
}

static void get_version(void) {
    reply_string(FUNCTION(next_library(), fmi2GetVersion)());
    finish_without_status();
}

static void set_debug_logging(void) {
    struct target target = next_target();
    fmi2Boolean on = (fmi2Boolean)next_integer("logging on");
    size_t count;
    fmi2String *categories = next_strings("categories", &count);
    finish(OF(target, fmi2SetDebugLogging)(target.component, on, count, categories));
}

void give_callbacks(struct instance *instance, struct library *library) {
    instance->library = library;
    instance->callbacks = (fmi2CallbackFunctions){
        .logger = record_message,
        .allocateMemory = calloc,
        .freeMemory = free,
        .componentEnvironment = instance,
    };
}

/* Takes away what the command says an instance shall do without; false if that is all. */
static bool keep_callbacks(struct instance *instance) {
    const char *kind = more_words() ? next_word("callbacks") : "full";
    if (strcmp(kind, "no-logger") == 0) {
        instance->callbacks.logger = NULL;
    } else if (strcmp(kind, "no-memory") == 0) {
        instance->callbacks.allocateMemory = NULL;
        instance->callbacks.freeMemory = NULL;
    } else if (strcmp(kind, "full") != 0 && strcmp(kind, "none") != 0) {
        refuse("unknown callbacks %s", kind);
    }
    return strcmp(kind, "none") != 0;
}

struct identity next_identity(void) {
    struct identity identity = {.name = next_string("instance name")};
    identity.type = (fmi2Type)next_integer("type");
    identity.guid = next_string("guid");
    identity.resources = next_string("resources");
    identity.visible = (fmi2Boolean)next_integer("visible");
    identity.logging = (fmi2Boolean)next_integer("logging");
    return identity;
}

fmi2Component create(fmi2InstantiateTYPE *instantiate, const struct identity *identity,
                     const fmi2CallbackFunctions *callbacks) {
    return instantiate(identity->name, identity->type, identity->guid, identity->resources,
                       callbacks, identity->visible, identity->logging);
}

static void instantiate(void) {
    struct library *library = next_library();
    struct instance *instance = next_new_instance();
    struct identity identity = next_identity();
    give_callbacks(instance, library);
    const fmi2CallbackFunctions *callbacks = keep_callbacks(instance) ? &instance->callbacks : NULL;
    instance->component = create(FUNCTION(library, fmi2Instantiate), &identity, callbacks);
    reply_integer(instance->component != NULL);
    finish_without_status();
}

static void free_instance(void) {
    struct target target = next_target();
    OF(target, fmi2FreeInstance)(target.component);
    finish_without_status();
}

static void setup_experiment(void) {
    struct target target = next_target();
    fmi2Boolean tolerance_defined = (fmi2Boolean)next_integer("tolerance defined");
    double tolerance = next_real("tolerance");
    double start = next_real("start time");
    fmi2Boolean stop_defined = (fmi2Boolean)next_integer("stop time defined");
    double stop = next_real("stop time");
    finish(OF(target, fmi2SetupExperiment)(target.component, tolerance_defined, tolerance, start,
                                           stop_defined, stop));
}

/* Calls that take nothing but the instance. */
#define DEFINE_PLAIN_CALL(command, name)            \
    static void command(void) {                     \
        struct target target = next_target();       \
        finish(OF(target, name)(target.component)); \
    }

DEFINE_PLAIN_CALL(enter_initialization_mode, fmi2EnterInitializationMode)
DEFINE_PLAIN_CALL(exit_initialization_mode, fmi2ExitInitializationMode)
DEFINE_PLAIN_CALL(terminate_instance, fmi2Terminate)
DEFINE_PLAIN_CALL(reset, fmi2Reset)
DEFINE_PLAIN_CALL(enter_event_mode, fmi2EnterEventMode)
DEFINE_PLAIN_CALL(enter_continuous_time_mode, fmi2EnterContinuousTimeMode)
DEFINE_PLAIN_CALL(cancel_step, fmi2CancelStep)

/* Whether an optional last word says that the call gets NULL instead of a buffer to fill. */
static bool without_buffer(void) {
    return more_words() && strcmp(next_word("buffer"), "@null") == 0;
}

/* Buffers are filled beforehand with what no getter returns, so that a hole is seen. */
#define DEFINE_GETTER(command, name, type, hole, reply)                                    \
    static void command(void) {                                                            \
        struct target target = next_target();                                              \
        size_t count;                                                                      \
        fmi2ValueReference *references = next_references(&count);                          \
        type *values = without_buffer() ? NULL : scratch(count * sizeof *values);          \
        for (size_t i = 0; values != NULL && i < count; i++) {                             \
            values[i] = hole;                                                              \
        }                                                                                  \
        fmi2Status status = OF(target, name)(target.component, references, count, values); \
        for (size_t i = 0; succeeded(status) && values != NULL && i < count; i++) {        \
            reply(values[i]);                                                              \
        }                                                                                  \
        finish(status);                                                                    \
    }

DEFINE_GETTER(get_real, fmi2GetReal, fmi2Real, NAN, reply_real)
DEFINE_GETTER(get_integer, fmi2GetInteger, fmi2Integer, -1234567, reply_integer)
DEFINE_GETTER(get_boolean, fmi2GetBoolean, fmi2Boolean, -1234567, reply_integer)
DEFINE_GETTER(get_string, fmi2GetString, fmi2String, NULL, reply_string)

/* Refuses values that are fewer or more than what they belong to; NULL may stand for any. */
static void check_counts(const void *values, size_t count, size_t expected) {
    if (values != NULL && count != expected) {
        refuse("%zu values for %zu value references", count, expected);
    }
}

#define DEFINE_SETTER(command, name, type, next_values)                        \
    static void command(void) {                                                \
        struct target target = next_target();                                  \
        size_t count;                                                          \
        size_t value_count;                                                    \
        fmi2ValueReference *references = next_references(&count);              \
        type *values = next_values("values", &value_count);                    \
        check_counts(values, value_count, count);                              \
        finish(OF(target, name)(target.component, references, count, values)); \
    }

DEFINE_SETTER(set_real, fmi2SetReal, fmi2Real, next_reals)
DEFINE_SETTER(set_integer, fmi2SetInteger, fmi2Integer, next_integers)
DEFINE_SETTER(set_boolean, fmi2SetBoolean, fmi2Boolean, next_integers)
DEFINE_SETTER(set_string, fmi2SetString, fmi2String, next_strings)

static void get_state(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state_address();
    finish(OF(target, fmi2GetFMUstate)(target.component, state));
}

static void set_state(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state();
    finish(OF(target, fmi2SetFMUstate)(target.component, *state));
}

static void free_state(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state_address();
    finish(OF(target, fmi2FreeFMUstate)(target.component, state));
}

static void get_state_size(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state();
    size_t size = 0;
    size_t *address = without_buffer() ? NULL : &size;
    fmi2Status status = OF(target, fmi2SerializedFMUstateSize)(target.component, *state, address);
    if (succeeded(status)) {
        reply_integer((long)size);
    }
    finish(status);
}

static void serialize_state(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state();
    size_t size = (size_t)next_integer("size");
    fmi2Byte *bytes = without_buffer() ? NULL : scratch(size);
    fmi2Status status =
        OF(target, fmi2SerializeFMUstate)(target.component, *state, bytes, size);
    if (succeeded(status) && bytes != NULL) {
        reply_bytes(bytes, size);
    }
    finish(status);
}

static void deserialize_state(void) {
    struct target target = next_target();
    fmi2FMUstate *state = next_state_address();
    size_t size;
    fmi2Byte *bytes = next_bytes("serialized state", &size);
    finish(OF(target, fmi2DeSerializeFMUstate)(target.component, bytes, size, state));
}

static void get_directional_derivative(void) {
    struct target target = next_target();
    size_t unknown_count;
    size_t known_count;
    size_t seed_count;
    fmi2ValueReference *unknowns = next_references(&unknown_count);
    fmi2ValueReference *knowns = next_references(&known_count);
    fmi2Real *seeds = next_reals("seeds", &seed_count);
    check_counts(seeds, seed_count, known_count);
    fmi2Real *sensitivities = scratch(unknown_count * sizeof *sensitivities);
    finish(OF(target, fmi2GetDirectionalDerivative)(target.component, unknowns, unknown_count,
                                                    knowns, known_count, seeds, sensitivities));
}

static void new_discrete_states(void) {
    struct target target = next_target();
    fmi2EventInfo information = {0};
    finish(OF(target, fmi2NewDiscreteStates)(target.component, &information));
}

static void completed_integrator_step(void) {
    struct target target = next_target();
    fmi2Boolean event = fmi2False;
    fmi2Boolean end = fmi2False;
    finish(OF(target, fmi2CompletedIntegratorStep)(target.component, fmi2True, &event, &end));
}

static void set_time(void) {
    struct target target = next_target();
    finish(OF(target, fmi2SetTime)(target.component, next_real("time")));
}

static void set_continuous_states(void) {
    struct target target = next_target();
    size_t count;
    fmi2Real *states = next_reals("states", &count);
    finish(OF(target, fmi2SetContinuousStates)(target.component, states, count));
}

/* Calls of model exchange that fill an array of reals. */
#define DEFINE_VECTOR_CALL(command, name)                          \
    static void command(void) {                                    \
        struct target target = next_target();                      \
        size_t count = (size_t)next_integer("count");              \
        fmi2Real *values = scratch(count * sizeof *values);        \
        finish(OF(target, name)(target.component, values, count)); \
    }

DEFINE_VECTOR_CALL(get_derivatives, fmi2GetDerivatives)
DEFINE_VECTOR_CALL(get_event_indicators, fmi2GetEventIndicators)
DEFINE_VECTOR_CALL(get_continuous_states, fmi2GetContinuousStates)
DEFINE_VECTOR_CALL(get_nominals, fmi2GetNominalsOfContinuousStates)

static void set_real_input_derivatives(void) {
    struct target target = next_target();
    size_t count;
    size_t order_count;
    size_t value_count;
    fmi2ValueReference *references = next_references(&count);
    fmi2Integer *orders = next_integers("orders", &order_count);
    fmi2Real *values = next_reals("values", &value_count);
    check_counts(orders, order_count, count);
    check_counts(values, value_count, count);
    finish(OF(target, fmi2SetRealInputDerivatives)(target.component, references, count, orders,
                                                   values));
}

static void get_real_output_derivatives(void) {
    struct target target = next_target();
    size_t count;
    size_t order_count;
    fmi2ValueReference *references = next_references(&count);
    fmi2Integer *orders = next_integers("orders", &order_count);
    check_counts(orders, order_count, count);
    fmi2Real *values = scratch(count * sizeof *values);
    finish(OF(target, fmi2GetRealOutputDerivatives)(target.component, references, count, orders,
                                                    values));
}

static void do_step(void) {
    struct target target = next_target();
    double time = next_real("time");
    double step = next_real("step");
    fmi2Boolean no_set_state = more_words() ? (fmi2Boolean)next_integer("no set state") : fmi2True;
    finish(OF(target, fmi2DoStep)(target.component, time, step, no_set_state));
}

#define DEFINE_STATUS_CALL(command, name, type, hole, reply)                  \
    static void command(void) {                                               \
        struct target target = next_target();                                 \
        fmi2StatusKind kind = (fmi2StatusKind)next_integer("status kind");    \
        type value = hole;                                                    \
        type *place = without_buffer() ? NULL : &value;                       \
        fmi2Status status = OF(target, name)(target.component, kind, place);  \
        if (succeeded(status)) {                                              \
            reply(value);                                                     \
        }                                                                     \
        finish(status);                                                       \
    }

DEFINE_STATUS_CALL(get_status, fmi2GetStatus, fmi2Status, fmi2OK, reply_integer)
DEFINE_STATUS_CALL(get_real_status, fmi2GetRealStatus, fmi2Real, NAN, reply_real)
DEFINE_STATUS_CALL(get_integer_status, fmi2GetIntegerStatus, fmi2Integer, 0, reply_integer)
DEFINE_STATUS_CALL(get_boolean_status, fmi2GetBooleanStatus, fmi2Boolean, 0, reply_integer)
DEFINE_STATUS_CALL(get_string_status, fmi2GetStringStatus, fmi2String, NULL, reply_string)

const struct command call_commands[] = {
    {"fmi2GetTypesPlatform", get_types_platform},
    {"fmi2GetVersion", get_version},
    {"fmi2SetDebugLogging", set_debug_logging},
    {"fmi2Instantiate", instantiate},
    {"fmi2FreeInstance", free_instance},
    {"fmi2SetupExperiment", setup_experiment},
    {"fmi2EnterInitializationMode", enter_initialization_mode},
    {"fmi2ExitInitializationMode", exit_initialization_mode},
    {"fmi2Terminate", terminate_instance},
    {"fmi2Reset", reset},
    {"fmi2GetReal", get_real},
    {"fmi2GetInteger", get_integer},
    {"fmi2GetBoolean", get_boolean},
    {"fmi2GetString", get_string},
    {"fmi2SetReal", set_real},
    {"fmi2SetInteger", set_integer},
    {"fmi2SetBoolean", set_boolean},
    {"fmi2SetString", set_string},
    {"fmi2GetFMUstate", get_state},
    {"fmi2SetFMUstate", set_state},
    {"fmi2FreeFMUstate", free_state},
    {"fmi2SerializedFMUstateSize", get_state_size},
    {"fmi2SerializeFMUstate", serialize_state},
    {"fmi2DeSerializeFMUstate", deserialize_state},
    {"fmi2GetDirectionalDerivative", get_directional_derivative},
    {"fmi2EnterEventMode", enter_event_mode},
    {"fmi2NewDiscreteStates", new_discrete_states},
    {"fmi2EnterContinuousTimeMode", enter_continuous_time_mode},
    {"fmi2CompletedIntegratorStep", completed_integrator_step},
    {"fmi2SetTime", set_time},
    {"fmi2SetContinuousStates", set_continuous_states},
    {"fmi2GetDerivatives", get_derivatives},
    {"fmi2GetEventIndicators", get_event_indicators},
    {"fmi2GetContinuousStates", get_continuous_states},
    {"fmi2GetNominalsOfContinuousStates", get_nominals},
    {"fmi2SetRealInputDerivatives", set_real_input_derivatives},
    {"fmi2GetRealOutputDerivatives", get_real_output_derivatives},
    {"fmi2DoStep", do_step},
    {"fmi2CancelStep", cancel_step},
    {"fmi2GetStatus", get_status},
    {"fmi2GetRealStatus", get_real_status},
    {"fmi2GetIntegerStatus", get_integer_status},
    {"fmi2GetBooleanStatus", get_boolean_status},
    {"fmi2GetStringStatus", get_string_status},
    {NULL, NULL},
};
